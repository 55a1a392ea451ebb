"""A skill as one file: zip and ``.skill`` archives, which are zips with one folder at the top.

Nothing here trusts an archive: its names are checked before anything is read, its bytes are counted as they come,
and all of it stays in memory until ``write`` is asked to lay it out.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jupyter_skills.errors import InvalidArchive, SkillNotFound
from jupyter_skills.skills.archive.names import MOST_NAMES, TakenNames, parts_of, shown, too_many
from jupyter_skills.skills.files import (
    MOST_BYTES,
    MOST_FILES,
    PLAIN_MODE,
    FileEntry,
    MemoryFiles,
    SkillFiles,
    in_memory,
    is_junk,
)
from jupyter_skills.skills.manifest import MANIFEST

_CHUNK = 1 << 16
_MOST_RATIO, _RATIO_MATTERS_FROM = 200, 1 << 20

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can tell
_UNIX, _MACOS = 3, 19  # who made an entry; only these two write permission bits
_UTF8 = 0x800
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_CENTRAL_ENTRY = b"PK\x01\x02"

# An archive in an archive hides from whoever reads or scans the skill. A single compressed file (``.csv.gz``) is data.
_ARCHIVE = re.compile(
    r"\.(?:zipx?|skill|tar(?:\.(?:gz|bz2|xz|zst|lz|z))?|t[bglx]z|tbz2|tzst|7z|rar|cab|iso|dmg|cpio|arj|lzh"
    r"|whl|egg|pyz|conda|jar|war|ear|apk|ipa|xpi|crx|nupkg|vsix|mcpb|dxt|deb|rpm)\Z",
    re.IGNORECASE,
)
_ARCHIVE_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
# Documents and data whose format is a zip: templates that skills do bring along, and a program of their own shows
# what is in them. The name decides, since whoever can make a zip can give it the inner marks of a document as well.
_ZIP_DOCUMENT = re.compile(
    r"\.(?:do[ct][xm]|xl[st][xm]|xlsb|p[op][ts][xm]|thmx|vsdx|od[tspgf]|ot[tspg]|epub|pages|numbers|key|idml|xmind|sketch"
    r"|3mf|kmz|usdz|npz)\Z",
    re.IGNORECASE,
)

_SHRINK = "Keep data of that size outside of the skill"
_ZIP_FOLDER = "Zip the folder of one skill, with its SKILL.md right inside"

# What zipfile is known to raise for bytes that are no zip, or no longer one.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, OverflowError, RuntimeError)


@dataclass(frozen=True)
class Archive:
    """What an archive held.

    Args:
        folder: The name of the one folder that all of it lay in; empty if the SKILL.md lay at the top.
        files: The skill's files, by their paths inside of that folder.
    """

    folder: str
    files: MemoryFiles


def unpack(archive: bytes | Path) -> Archive:
    """Reads an archive into memory; nothing is written. What tools leave behind in archives is left out.

    Raises:
        SkillNotFound: There is no such file.
        InvalidArchive: It is damaged, hostile or too large, or there is not exactly one skill in it.
    """
    if isinstance(archive, bytes):
        return _unpacked(archive)
    data = _bytes_of(archive)
    try:
        return _unpacked(data)
    except InvalidArchive as error:
        raise InvalidArchive(f"No usable skill in '{archive}': {error.message}", error.next_step) from None


def pack(files: SkillFiles, folder: str) -> bytes:
    """A zip of a skill: the same bytes for the same files, whatever their dates (as long as zlib is the same).

    What ``unpack`` would leave out is left out.

    Args:
        files: The skill's files.
        folder: The name of the folder to put them in.

    Raises:
        InvalidSkill: A file can't be read, or they are too large for a skill.
        InvalidArchive: ``unpack`` would not take them back.
    """
    if len(parts_of(folder)) != 1:
        raise InvalidArchive(f"{shown(folder)} can't be the name of one folder", "Give a name without '/'")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, entry in sorted(in_memory(files).entries.items()):
            parts = parts_of(f"{folder}/{path}")
            if is_junk(parts, is_folder=False):
                continue
            info = zipfile.ZipInfo("/".join(parts), _EPOCH)
            info.create_system = _UNIX
            info.external_attr = (stat.S_IFREG | (entry.mode & 0o777 or PLAIN_MODE)) << 16
            info.compress_type = _method(entry.content)
            archive.writestr(info, entry.content)
    _unpacked(buffer.getvalue())
    return buffer.getvalue()


def _bytes_of(path: Path) -> bytes:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise InvalidArchive(f"'{path}' is not a file", "Give a zip or .skill archive")
        if facts.st_size > MOST_BYTES:
            raise _too_large(f"'{path}'")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise SkillNotFound(f"There is no file '{path}'", "Check the path") from None
    except (OSError, ValueError) as error:  # the latter for a path with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise InvalidArchive(f"'{path}' can't be read: {reason}", "Check its permissions") from None


def _unpacked(data: bytes) -> Archive:
    if len(data) > MOST_BYTES:
        raise _too_large("The archive")
    # Counted before zipfile makes an object of each of them.
    if data.count(_CENTRAL_ENTRY) > MOST_NAMES:
        raise too_many(MOST_NAMES)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = _listed(archive.infolist())
            folder = _skill_folder(listed)
            contents = _contents(archive, listed, len(data))
    except _DAMAGE:
        raise InvalidArchive("This is not a zip, or a damaged one", "Fetch or make the archive again") from None
    start = len(folder) + 1 if folder else 0
    entries = {path[start:]: FileEntry(content, _mode(listed[path])) for path, content in contents.items()}
    return Archive(folder, MemoryFiles(entries))


def _listed(infos: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files of an archive that are worth reading, by their paths in it."""
    names = TakenNames()
    files: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = _name(info)
        path, is_folder = name.removesuffix("/"), name.endswith("/")
        parts = parts_of(path)
        if is_junk(parts, is_folder=is_folder):
            continue
        names.take(parts, is_folder)
        _check_kind(path, info, is_folder)
        if not is_folder:
            files[path] = info
    if len(files) > MOST_FILES:
        raise too_many(MOST_FILES)
    return files


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it was written; ``filename`` is what zipfile made of it, which ends at a NUL."""
    if info.flag_bits & _UTF8:
        return info.orig_filename
    try:
        # Info-ZIP and the Finder write UTF-8 without saying so.
        return info.orig_filename.encode("cp437").decode()
    except UnicodeError:
        return info.orig_filename


def _check_kind(path: str, info: zipfile.ZipInfo, is_folder: bool) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise InvalidArchive(f"The file {shown(path)} is encrypted", "Zip the skill without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidArchive(f"The file {shown(path)} is compressed in an unusual way", "Zip the skill with deflate")
    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system in (_UNIX, _MACOS) else 0
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        raise InvalidArchive(
            f"{shown(path)} is a link, or something else that is neither file nor folder",
            "Put the file itself in its place, and zip the skill again",
        )


def _skill_folder(paths: Iterable[str]) -> str:
    """The folder that the skill lies in; empty if it lies at the top."""
    manifests = sorted(path for path in paths if path.split("/")[-1].lower() == MANIFEST.lower())
    if any("/" not in path for path in manifests):
        return ""
    folders = [path.split("/")[0] for path in manifests if path.count("/") == 1]
    if len(folders) > 1:
        some = ", ".join(shown(folder) for folder in folders[:5]) + (", …" if len(folders) > 5 else "")
        raise InvalidArchive(f"The archive holds {len(folders)} skills: {some}", _ZIP_FOLDER)
    if not folders:
        deeper = f", only one deeper, {shown(manifests[0])}" if manifests else ""
        raise InvalidArchive(f"There is no SKILL.md in the archive{deeper}", _ZIP_FOLDER)
    stray = next((path for path in paths if not path.startswith(f"{folders[0]}/")), None)
    if stray is not None:
        raise InvalidArchive(f"{shown(stray)} lies outside of the skill's folder {shown(folders[0])}", _ZIP_FOLDER)
    return folders[0]


def _contents(archive: zipfile.ZipFile, listed: dict[str, zipfile.ZipInfo], size: int) -> dict[str, bytes]:
    """What the files hold, counted while it is read: sizes that an archive states are not believed."""
    contents: dict[str, bytes] = {}
    total = 0
    for path, info in listed.items():
        chunks: list[bytes] = []
        length = 0
        with archive.open(info) as file:
            while chunk := file.read(_CHUNK):
                chunks.append(chunk)
                length += len(chunk)
                total += len(chunk)
                if total > MOST_BYTES:
                    raise _too_large("What the archive holds")
                if _is_bomb(length, min(info.compress_size, size)) or _is_bomb(total, size):
                    raise InvalidArchive(
                        f"The archive grows more than {_MOST_RATIO}-fold at {shown(path)}, as a zip bomb does", _SHRINK
                    )
        contents[path] = b"".join(chunks)
        _check_plain(path, contents[path])
    return contents


def _check_plain(path: str, content: bytes) -> None:
    magic = content.startswith(_ARCHIVE_MAGIC) or content[257:262] == b"ustar"
    if _ARCHIVE.search(path) or (magic and not _ZIP_DOCUMENT.search(path)):
        raise InvalidArchive(
            f"The file {shown(path)} is an archive itself", "Put what is in it into the skill's folder instead"
        )


def _is_bomb(length: int, compressed: int) -> bool:
    return length > _RATIO_MATTERS_FROM and length > _MOST_RATIO * compressed


def _mode(info: zipfile.ZipInfo) -> int:
    return (info.external_attr >> 16 & 0o777 if info.create_system in (_UNIX, _MACOS) else 0) or PLAIN_MODE


def _method(content: bytes) -> int:
    # What shrinks as a bomb does would be refused on its way back.
    shrunk = len(zlib.compress(content, wbits=-zlib.MAX_WBITS))
    return zipfile.ZIP_STORED if len(content) > _MOST_RATIO * shrunk else zipfile.ZIP_DEFLATED


def _too_large(what: str) -> InvalidArchive:
    return InvalidArchive(f"{what} has more than {MOST_BYTES >> 20} MiB", _SHRINK)
