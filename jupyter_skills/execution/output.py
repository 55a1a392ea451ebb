"""What may come out of the sandbox: text without control codes, and pictures that are pictures.

Everything a kernel sends is the work of code that nobody has vouched for. HTML, SVG, JavaScript, widgets,
LaTeX and Markdown would run in, or reach out from, the page that shows them; they stay behind.
"""

from __future__ import annotations

import base64
import binascii
import io
import mimetypes
import re
import warnings
from collections.abc import Mapping
from typing import Any

from jupyter_skills.execution.result import GeneratedFile, Image

IMAGE_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_LARGEST_SIDE = 8192
_MOST_PIXELS = 40_000_000
_MOST_FRAMES = 500
_MOST_SCANS = 100
_MOST_CHARACTERS = 1_000_000
_SCAN = b"\xff\xda"

# Escape sequences (ECMA-48), then every control character but tab and newline.
_ESCAPES = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]?|[@-_]?)")
_COLOURS = re.compile(r"(\x1b\[[0-9;]{0,40}m)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROLS_BUT_RETURNS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def clean_text(text: str) -> str:
    """Text as a terminal would leave it, without colours and without anything that acts on one."""
    return _CONTROLS.sub("", overwritten(clean_piece(text)))


def clean_piece(text: str) -> str:
    """Likewise, of text that comes in pieces: carriage returns stay, for they act on what came before."""
    return _CONTROLS_BUT_RETURNS.sub("", _ESCAPES.sub("", text).encode(errors="replace").decode())


def clean_coloured(text: str) -> str:
    """Likewise, with the escape sequences for colours."""
    parts = _COLOURS.split(text)  # every other one is a colour
    return "".join(part if number % 2 else clean_text(part) for number, part in enumerate(parts))


def overwritten(text: str) -> str:
    """Text without what carriage returns have overwritten, such as earlier states of a progress bar."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def bounded(text: str, limit: int, cut: int = 0) -> str:
    """At most ``limit`` characters of a text: its beginning and its end, with the gap marked.

    Args:
        text: The text.
        limit: In characters.
        cut: How many characters have been taken out of its middle before.
    """
    if len(text) + cut <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    gap = len(text) + cut - head - tail
    return f"{text[:head]}\n… {gap:,} characters left out …\n{text[len(text) - tail :]}"


class PictureBudget:
    """How much may be spent on finding out which bytes are pictures: decoding goes on after any deadline.

    Args:
        pictures: How many may be tried.
        pixels: How many may be decoded.
    """

    def __init__(self, pictures: int = 50, pixels: int = 400_000_000) -> None:
        self._pictures = pictures
        self._pixels = pixels

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._pictures <= 0 or self._pixels <= 0

    def take(self, pixels: int) -> bool:
        """Takes what one picture needs; false if there is not enough left."""
        self._pictures -= 1
        self._pixels -= pixels
        return self._pictures >= 0 and self._pixels >= 0


def checked_image(data: bytes, budget: PictureBudget | None = None) -> Image | None:
    """The picture in these bytes, or None if there is none that is safe to show.

    Args:
        data: The bytes.
        budget: What may be spent on it and others; without one there is no limit but that on each.
    """
    import PIL.Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)  # the limits below are tighter
            with PIL.Image.open(io.BytesIO(data), formats=list(IMAGE_TYPES)) as image:
                width, height = image.size
                if max(width, height) > _LARGEST_SIDE or width * height > _MOST_PIXELS:
                    return None
                kind = IMAGE_TYPES[image.format or ""]
                frames = getattr(image, "n_frames", 1)
                if frames > _MOST_FRAMES or frames * width * height > 10 * _MOST_PIXELS:
                    return None  # a page would decode them all
                scans = data.count(_SCAN) if image.format == "JPEG" else 1
                if scans > _MOST_SCANS:
                    return None  # each takes a few bytes, and goes over all pixels once more
                if budget is not None and not budget.take(width * height * max(frames, scans // 8)):
                    return None
                image.load()
    except Exception:  # noqa: BLE001 -- decoders raise all sorts for bytes that were made to hurt them
        return None
    return Image(data, kind, width, height)


def decoded_image(content: object, budget: PictureBudget | None = None) -> Image | None:
    """The picture in a MIME bundle's entry, which holds bytes or their base64; None if there is none."""
    if isinstance(content, str):
        try:
            content = base64.b64decode(content)
        except (binascii.Error, ValueError):
            return None
    return checked_image(content, budget) if isinstance(content, bytes) else None


def generated_file(path: str, content: bytes, budget: PictureBudget | None = None, saved_as: str = "") -> GeneratedFile:
    """A file that code made, with its type found out; beyond the budget by its name alone."""
    image = checked_image(content, budget)
    return GeneratedFile(path, content, image.mime_type if image else guessed_type(path), image, saved_as)


def guessed_type(path: str) -> str:
    """The MIME type that a file's name suggests."""
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def from_mime_bundle(bundle: Mapping[str, Any], budget: PictureBudget | None = None) -> tuple[Image | None, str]:
    """What may be taken from the data of a ``display_data`` or ``execute_result`` message.

    Returns:
        A picture, if the bundle has one; and its plain text.
    """
    for kind in IMAGE_TYPES.values():
        image = decoded_image(bundle.get(kind), budget)
        if image is not None and image.mime_type == kind:
            return image, ""
    plain = bundle.get("text/plain", "")
    return None, clean_text(_cut(plain)) if isinstance(plain, str) else ""


def compact_error(name: object, value: object, traceback: object) -> str:
    """An exception in the few lines a model needs: the traceback without colours, then what was raised.

    Args:
        name: The exception's class.
        value: Its text.
        traceback: The formatted traceback, a list of strings, as kernels send it.
    """
    lines = [part for part in traceback if isinstance(part, str)] if isinstance(traceback, list) else []
    text = clean_text(_cut("\n".join(lines))).strip()
    last = clean_text(_cut(f"{name}: {value}"))
    return text if text.endswith(last) else f"{text}\n{last}".strip()


def _cut(text: str) -> str:
    """Text that is far beyond what anyone keeps of it, made shorter before more is done with it."""
    return text if len(text) <= _MOST_CHARACTERS else bounded(text, _MOST_CHARACTERS)
