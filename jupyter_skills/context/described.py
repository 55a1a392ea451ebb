"""A value of the notebook as a model sees it."""

from __future__ import annotations

import datetime
import pathlib
import uuid
from typing import Any

from jupyter_skills.context import arrays, containers, drawn, sources, tables
from jupyter_skills.context.kinds import TEXT_LIMIT, Redact, brief, own_method, scalar, shortened, size
from jupyter_skills.context.parts import Document, Part, Picture
from jupyter_skills.context.pictures import shrunk
from jupyter_skills.context.secrets import holds_secret
from jupyter_skills.execution.output import IMAGE_TYPES, decoded_image
from jupyter_skills.execution.result import Image

_HOOK = "_repr_llm_"
_TEXT_TYPES = ("text/markdown", "text/plain")
_BEGINNINGS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "compressed by gzip",
    b"PAR1": "a Parquet file",
    b"SQLite format 3\0": "an SQLite database",
}


def describe(name: str, value: object, redact: Redact = str) -> list[Part]:
    """A value as a model can use it: text whole, tables as schema and sample, figures as pictures, functions as source.

    An object says by a method ``_repr_llm_`` how it wants to be put before a model: it gives text, a part, a list of
    them, or a MIME bundle. Nothing is ever raised for a value, however it behaves.

    Args:
        name: The expression whose value it is.
        value: The value; it is not changed.
        redact: Takes secrets out of a text. Each text goes through it whole, so that none is cut within a secret; what
            is drawn in pictures does not.
    """
    note = ""
    try:
        hook = own_method(value, _HOOK)
        if hook is not None:
            parts = _parts(name, hook())
            if parts is not None:
                return [redact(str.__str__(part)) if isinstance(part, str) else part for part in parts]
            note = f"\n(The {_HOOK} of {name} gave neither text nor a picture.)"
    except Exception as error:  # noqa: BLE001 -- an object's own code may raise anything
        note = f"\n(The {_HOOK} of {name} raised {_told(error, redact)}.)"
    usual = _usual(name, value, redact)
    return [*usual, note.lstrip("\n") if isinstance(usual[-1], Picture) else note] if note else usual


def _usual(name: str, value: Any, redact: Redact) -> list[Part]:
    if issubclass(type(value), str):  # isinstance would ask the value
        text = str.__str__(value)
        return [f"[redacted: {name}]" if holds_secret(name, text) else redact(text)]
    try:
        picture = drawn.picture(name, value)
        if picture is not None:
            return [picture]
        trouble = ""
    except Exception as error:  # noqa: BLE001 -- likewise
        trouble = f"\n(It can't be drawn: {_told(error, redact)}.)"
    try:
        return [_text(name, value, redact) + trouble]
    except Exception as error:  # noqa: BLE001 -- likewise
        return [f"({type(value).__name__} {name} can't be described: {_told(error, redact)}.)"]


def _text(name: str, value: Any, redact: Redact) -> str:
    told = scalar(value, redact) or sources.module(name, value, redact) or sources.exception(value, redact)
    if told is None:
        code = sources.code(name, value, redact)
        if code is not None:
            return code
        told = tables.table(name, value, redact) or arrays.array(name, value, redact)
        told = told or containers.container(value, redact)
    if told is None and isinstance(value, bytes | bytearray | memoryview):
        told = _bytes(name, value)
    if told is None:
        as_words = isinstance(value, datetime.date | datetime.time | datetime.timedelta | pathlib.PurePath | uuid.UUID)
        told = str(value) if as_words else repr(value)
    return shortened(told, TEXT_LIMIT, redact)


def _bytes(name: str, value: bytes | bytearray | memoryview) -> str:
    view = memoryview(value)
    start = bytes(view[:16]) if view.contiguous and view.format == "B" else b""
    kind = next((kind for beginning, kind in _BEGINNINGS.items() if start.startswith(beginning)), "")
    return f"{type(value).__name__} {name}: {size(view.nbytes)}{f', {kind}' if kind else ''}"


def _parts(name: str, given: object) -> list[Part] | None:
    """What a ``_repr_llm_`` gave, as parts; None if that makes no sense."""
    if isinstance(given, str | Picture | Document):
        return [given]
    if isinstance(given, Image):
        return [Picture(shrunk(given), f"image {name}")]
    if isinstance(given, dict):
        for kind in IMAGE_TYPES.values():
            image = decoded_image(given.get(kind))
            if image is not None:
                return [Picture(shrunk(image), f"image {name}")]
        return next(([given[kind]] for kind in _TEXT_TYPES if isinstance(given.get(kind), str)), None)
    if isinstance(given, list | tuple) and given and all(isinstance(part, str | Picture | Document) for part in given):
        return list(given)
    return None


def _told(error: Exception, redact: Redact) -> str:
    text = _said(error, redact)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _said(error: Exception, redact: Redact) -> str:
    try:
        return brief(str(error), 300, redact)
    except Exception:  # noqa: BLE001 -- even this may raise
        return ""
