"""What is in an upload: a form with files, or one zip."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from jupyter_skills.errors import UsageProblem
from jupyter_skills.skills.files import MOST_FILES

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FORM = "multipart/form-data"
ZIPS = ("application/zip", "application/x-zip-compressed")

# What these hold is a file even if the client gives it no name.
_FILE_FIELDS = ("files", "files[]", "file")

# Fields come on top of the files of a skill.
_MOST_PARTS = MOST_FILES + 100
_MOST_HEADERS, _MOST_HEADER_BYTES = 16, 8192
_CHUNK = 1 << 18

_RESEND = "Send it again as 'multipart/form-data', with one part for each file and field"


@dataclass(frozen=True)
class UploadedFile:
    """One file of an upload.

    Args:
        field: The name of the form's field; ``files`` for a body that is the file itself.
        filename: What the client calls the file; empty if it doesn't say. It may be a path with ``/``, and is not to be
            trusted.
        content_type: What the client takes it for; empty if it doesn't say.
        content: Its bytes.
    """

    field: str
    filename: str
    content_type: str
    content: bytes = dataclasses.field(repr=False)


@dataclass(frozen=True)
class Upload:
    """What was sent.

    Args:
        fields: The form's fields by their names; for a body that is the file itself, what the URL says after ``?``.
        files: The files, in the order they came.
    """

    fields: Mapping[str, str]
    files: tuple[UploadedFile, ...]


def kind_of(content_type: str) -> tuple[str, bytes]:
    """What a body is, ``multipart/form-data`` or a zip, and the boundary between the parts of the former.

    Raises:
        UsageProblem: It is neither.
    """
    kind, options = parse_options_header(content_type.encode("latin-1", "replace"))
    name = kind.decode("latin-1")
    boundary = options.get(b"boundary", b"")
    if name in ZIPS:
        return name, b""
    if name != FORM:
        said = f"is sent as {name!r}" if name else "comes without a 'Content-Type'"
        raise UsageProblem(f"The upload {said}", f"Send it as '{FORM}' or '{ZIPS[0]}'")
    if not 0 < len(boundary) <= 256:
        raise UsageProblem("The form doesn't say how its parts are told apart", "Let an HTTP library make the form")
    return name, boundary


def form_in(body: IO[bytes], boundary: bytes) -> Upload:
    """Takes a form apart.

    Raises:
        UsageProblem: It is damaged, incomplete, or has too many parts.
    """
    form = _Form()
    try:
        parser = MultipartParser(
            boundary,
            form.callbacks(),
            max_header_count=_MOST_HEADERS,
            max_header_size=_MOST_HEADER_BYTES,
        )
        while chunk := body.read(_CHUNK):
            parser.write(chunk)
    except FormParserError as error:
        raise UsageProblem(f"The form can't be read: {error}", _RESEND) from None
    if not form.complete:
        raise UsageProblem("The form ends in the middle", _RESEND)
    return Upload(form.fields, tuple(form.files))


class _Form:
    """Puts together what the parser finds, piece by piece."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self.files: list[UploadedFile] = []
        self.complete = False
        self._parts = 0
        self._header = bytearray(), bytearray()
        self._headers: dict[bytes, bytes] = {}
        self._content: list[bytes] = []

    def callbacks(self) -> MultipartCallbacks:
        """What the parser is to call."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self._take_header,
            "on_part_data": lambda data, start, end: self._content.append(data[start:end]),
            "on_part_end": self._take_part,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise UsageProblem(f"The form has more than {_MOST_PARTS:,} parts", "Send fewer files, or a zip of them")
        self._headers, self._content = {}, []

    def _take_header(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        self._header = bytearray(), bytearray()

    def _take_part(self) -> None:
        said, options = parse_options_header(self._headers.get(b"content-disposition"))
        if said != b"form-data" or b"name" not in options:
            raise UsageProblem("A part of the form has no name", _RESEND)
        name = _text(options[b"name"], "The name of a part")
        content = b"".join(self._content)
        self._content = []
        filename = options.get(b"filename")
        if filename is None and name not in _FILE_FIELDS:
            self.fields[name] = _text(content, f"The field '{name}'")
        elif content or filename:  # browsers send an empty part for "no file chosen"
            kind = self._headers.get(b"content-type", b"").decode("latin-1")
            self.files.append(UploadedFile(name, _text(filename or b"", "The name of a file"), kind, content))

    def _end(self) -> None:
        self.complete = True


def _text(data: bytes, what: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageProblem(f"{what} is not in UTF-8", _RESEND) from None
    if "\0" in text:
        raise UsageProblem(f"{what} has a NUL character in it", "Leave it out")
    return text
