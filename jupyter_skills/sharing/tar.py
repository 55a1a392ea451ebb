"""Skills in tar archives: read into memory, and passed on to the checks that every zip passes.

The tars are read here, not by ``tarfile``, which some of what a stranger can write keeps busy for hours.
"""

from __future__ import annotations

import gzip
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from jupyter_skills.errors import InvalidArchive
from jupyter_skills.skills.archive import Archive, unpack
from jupyter_skills.skills.archive.names import MOST_NAMES, TakenNames, parts_of, shown
from jupyter_skills.skills.files import MOST_BYTES

_BLOCK = 512
_CHUNK = 1 << 16
_MOST_RATIO, _RATIO_MATTERS_FROM = 200, 1 << 20
_UNIX = 3
_MOST_RECORDS = 1 << 16  # bytes of what precedes an entry: a long name, some times
_SHRINK = "Keep data of that size outside of the skill"
_DAMAGED = ("This is not a gzipped tar, or a damaged one", "Fetch or make the archive again")

_FILE, _FOLDER, _LONG_NAME, _RECORDS, _GLOBAL_RECORDS = (b"0", b"\0"), b"5", b"L", b"x", b"g"


def is_gzip(data: bytes) -> bool:
    """Whether bytes begin as a gzip file does."""
    return data.startswith(b"\x1f\x8b")


def unpack_tar(data: bytes) -> Archive:
    """Reads a gzipped tar into memory, by the same rules as a zip.

    Raises:
        InvalidArchive: It is damaged, hostile or too large, or there is not exactly one skill in it.
    """
    buffer = io.BytesIO()
    names = TakenNames()
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry in _entries(_expanded(data)):
            parts = parts_of(entry.path)
            names.take(parts, entry.is_folder)
            name = "/".join(parts)
            info = zipfile.ZipInfo(name + "/" * entry.is_folder)
            info.create_system = _UNIX
            info.external_attr = ((stat.S_IFDIR if entry.is_folder else stat.S_IFREG) | entry.mode) << 16
            archive.writestr(info, entry.content)
    return unpack(buffer.getvalue())


@dataclass(frozen=True)
class _Entry:
    path: str
    is_folder: bool
    mode: int
    content: bytes


def _expanded(data: bytes) -> bytes:
    """The tar in a gzip file, counted while it grows."""
    most = MOST_BYTES + MOST_NAMES * 3 * _BLOCK
    chunks: list[bytes] = []
    length = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while chunk := file.read(_CHUNK):
                chunks.append(chunk)
                length += len(chunk)
                if length > most:
                    raise InvalidArchive(f"What the archive holds has more than {MOST_BYTES >> 20} MiB", _SHRINK)
                if length > _RATIO_MATTERS_FROM and length > _MOST_RATIO * len(data):
                    raise InvalidArchive(f"The archive grows more than {_MOST_RATIO}-fold, as a bomb does", _SHRINK)
    except (OSError, EOFError, zlib.error):
        raise InvalidArchive(*_DAMAGED) from None
    return b"".join(chunks)


def _entries(tar: bytes) -> Iterator[_Entry]:
    """The files and folders of a tar, in order; anything else is refused."""
    position = 0
    long_name: str | None = None
    while position + _BLOCK <= len(tar):
        header = tar[position : position + _BLOCK]
        if not header.strip(b"\0"):
            return
        kind, size = header[156:157], _number(header[124:136])
        if _number(header[148:156]) != sum(header[:148]) + 8 * 32 + sum(header[156:]):
            raise InvalidArchive(*_DAMAGED)
        start = position + _BLOCK
        content = tar[start : start + size]
        if len(content) < size:
            raise InvalidArchive(*_DAMAGED)
        position = start + -(-size // _BLOCK) * _BLOCK
        if kind in (_LONG_NAME, _RECORDS, _GLOBAL_RECORDS):
            if size > _MOST_RECORDS:
                raise InvalidArchive("A name in the archive is too long", "Rename the file")
            if kind == _LONG_NAME:
                long_name = _text(content.split(b"\0")[0])
            else:
                long_name = _path_record(content) if kind == _RECORDS else long_name
            continue
        path, long_name = long_name or _name(header), None
        if kind not in (*_FILE, _FOLDER):
            raise InvalidArchive(
                f"{shown(path)} is a link, or something else that is neither file nor folder",
                "Put the file itself in its place, and make the archive again",
            )
        is_folder = kind == _FOLDER or path.endswith("/")
        path = path.removesuffix("/")
        while path.startswith("./"):
            path = path[2:]
        if path not in ("", "."):
            yield _Entry(path, is_folder, _number(header[100:108]) & 0o777, b"" if is_folder else content)
    # A tar ends in empty blocks, but some programs leave them out.
    if position < len(tar):
        raise InvalidArchive(*_DAMAGED)


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    # GNU tar keeps times where the standard has the beginning of a long path.
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _path_record(records: bytes) -> str | None:
    """The path in a pax header, the one record of meaning here; one that would change the contents is refused."""
    path: str | None = None
    while records.strip(b"\0"):
        digits, blank, _ = records.partition(b" ")
        length = int(digits) if blank and digits.isdigit() and len(digits) < 8 else 0
        record = records[len(digits) + 1 : length]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or length > len(records) or not record.endswith(b"\n"):
            raise InvalidArchive(*_DAMAGED)
        if key == b"path":
            path = _text(value)
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise InvalidArchive(
                "A file in the archive is kept in an unusual way", "Make the archive with plain 'tar czf'"
            )
        records = records[length:]
    return path


def _number(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not digits:
        return 0
    if not digits.isdigit() or any(digit > ord("7") for digit in digits):
        raise InvalidArchive(*_DAMAGED)
    return int(digits, 8)


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise InvalidArchive("A name in the archive is not UTF-8", "Rename the file") from None
