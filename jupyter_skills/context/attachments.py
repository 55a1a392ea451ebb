"""Files put into a prompt by ``-a``."""

from __future__ import annotations

import codecs
import glob
import html
import os
import stat
from itertools import islice
from pathlib import Path

from jupyter_skills.context.parts import Document, Part, Picture
from jupyter_skills.context.patterns import MOST_ENTRIES, TooMuchToLookAt, matches
from jupyter_skills.context.pictures import shrunk
from jupyter_skills.context.saved_notebook import notebook_text
from jupyter_skills.errors import UsageProblem
from jupyter_skills.execution.output import checked_image

_MOST_TEXT = 400_000
_MOST_BYTES = 20_000_000
_MOST_FILES = 20
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
# A mark of UTF-32 begins like one of UTF-16, so it comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def attached(path: str | Path) -> list[Part]:
    """A file, or all files that a pattern such as ``data/*.csv`` finds, as parts of a prompt.

    Text comes as it is between ``<attachment name="…">`` and ``</attachment>``, notebooks as the text of their cells,
    PNG, JPEG, GIF and WebP images as pictures, PDF as a document.

    Args:
        path: The file's path, in which ``~`` is the home folder; it wins over what it would find as a pattern.

    Raises:
        UsageProblem: There is none, it can't be read, it is too large, no model can read such a file, or a
            pattern leads through too many folders.
    """
    given = str(path)
    place = os.path.expanduser(given)
    if not os.path.lexists(place) and glob.has_magic(place):
        return [part for found in _matches(given, place) for part in _file(found, _shown(given, found))]
    return _file(place, _shown(given, place))


def _matches(given: str, pattern: str) -> list[str]:
    try:
        found = list(islice(matches(pattern), _MOST_FILES + 1))
    except TooMuchToLookAt:
        raise UsageProblem(
            f"'{given}' leads through more than {MOST_ENTRIES:,} files and folders",
            "Name a narrower pattern, such as 'data/*.csv'",
        ) from None
    if not found:
        raise UsageProblem(f"No file fits '{given}'", "Check the pattern; a relative one starts at the working folder")
    if len(found) > _MOST_FILES:
        raise UsageProblem(
            f"More than {_MOST_FILES} files fit '{given}'",
            "Name fewer, or copy the folder into the sandbox with '--send'",
        )
    return sorted(found)


def _shown(given: str, place: str) -> str:
    """What the model is told a file is called: nothing of where the user's home is."""
    return os.path.basename(place) if os.path.isabs(place) or given.startswith("~") else Path(place).as_posix()


def _file(place: str, name: str) -> list[Part]:
    data = _read(place, name)
    image = data.startswith(_IMAGES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")
    if len(data) > _MOST_BYTES:
        raise _too_large(name, f"{_MOST_BYTES // 1_000_000} MB", "a smaller one" if image else "a part of it")
    if image:
        picture = checked_image(data)
        if picture is None:
            raise UsageProblem(
                f"The image '{name}' is damaged, or larger than 40 million pixels", "Save it again, or make it smaller"
            )
        return [Picture(shrunk(picture), name)]
    if b"%PDF-" in data[:1024]:
        return [Document(data, "application/pdf", name)]
    text = _decoded(data)
    if text is None:
        raise UsageProblem(
            f"'{name}' is neither text in UTF-8 nor an image or PDF, so no model can read it",
            f"Copy it into the sandbox with '--send {place}', where code can, or save it in such a form",
        )
    if place.endswith(".ipynb"):
        text = notebook_text(text) or text
    if len(text) > _MOST_TEXT:
        raise _too_large(name, f"{_MOST_TEXT // 1_000} kB of text", "a part of it")
    return [_between_tags(name, text)]


def _between_tags(name: str, text: str) -> str:
    tag = "attachment"
    while f"</{tag}>" in text:  # what a file says must not end it
        tag += "-"
    shown = html.escape("".join(each if each.isprintable() else "?" for each in name))
    return f'<{tag} name="{shown}">\n{text}\n</{tag}>\n'


def _read(place: str, name: str) -> bytes:
    """The content of a file, and of one that is too large a byte more than is allowed.

    Raises:
        UsageProblem: There is none, or it is something else than a file.
    """
    try:
        # Opening a device may do something, and opening a pipe may wait for ever; it may be one by the time it is open.
        if _is_file(os.stat(place), place, name):
            opened = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with open(opened, "rb") as file:
                _is_file(os.fstat(opened), place, name)
                return file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        why = getattr(error, "strerror", None) or str(error)
        raise UsageProblem(f"'{name}' can't be read: {why}", "Check its path and its permissions") from None
    raise UsageProblem(f"There is no file '{name}'", "Check its path; a relative one starts at the working folder")


def _is_file(status: os.stat_result, place: str, name: str) -> bool:
    if stat.S_ISDIR(status.st_mode):
        raise UsageProblem(
            f"'{name}' is a folder",
            f"Name its files, as in '{os.path.join(place, '*')}', or copy it into the sandbox with '--send {place}'",
        )
    if not stat.S_ISREG(status.st_mode):
        raise UsageProblem(f"'{name}' is a device or a pipe, not a file", "Write what it gives into a file first")
    return True


def _decoded(data: bytes) -> str | None:
    """Bytes as text, which holds no NUL; None if they are none."""
    coding = next((coding for mark, coding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(coding)
    except UnicodeError:
        return None
    return None if "\0" in text else text


def _too_large(name: str, most: str, instead: str) -> UsageProblem:
    return UsageProblem(
        f"'{name}' is too large to attach: {most} is the most",
        f"Attach {instead}, or copy it into the sandbox with '--send', where code can read it",
    )
