"""Zip and ``.skill`` archives, in and out."""

from __future__ import annotations

import io
import os
import stat
import struct
import tracemalloc
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_skills import Skill
from jupyter_skills.errors import InvalidArchive, InvalidSkill, SkillNotFound, UsageProblem
from jupyter_skills.skills.archive import Archive, pack, unpack
from jupyter_skills.skills.files import MOST_BYTES, MOST_FILES, FileEntry, FolderFiles, MemoryFiles
from jupyter_skills.skills.layout import lay_out

MANIFEST = b"---\nname: x\ndescription: Does a thing.\n---\nDo it.\n"
MIB = 1 << 20
bounded = settings(max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.filter_too_much])


def entry(name: str, mode: int | None = None, system: int = 3, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """A zip entry with exactly that name: the constructor of ``ZipInfo`` would mend it."""
    plain = stat.S_IFDIR | 0o755 if name.endswith("/") else stat.S_IFREG | 0o644
    info = zipfile.ZipInfo("x")
    info.filename = name
    info.external_attr = (plain if mode is None else mode) << 16
    info.create_system = system
    info.compress_type = method
    return info


def zipped(*names: str | zipfile.ZipInfo, manifest: str | None = "x/SKILL.md", content: bytes = b"?") -> bytes:
    """An archive of a skill, with more entries of some content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is there twice
        if manifest:
            archive.writestr(entry(manifest), MANIFEST)
        for name in names:
            info = entry(name) if isinstance(name, str) else name
            archive.writestr(info, b"" if info.filename.endswith("/") else content)
    return buffer.getvalue()


def patched(data: bytes, offset: int, value: bytes) -> bytes:
    """An archive with other bytes in the last header of its central directory."""
    start = data.rindex(b"PK\x01\x02") + offset
    return data[:start] + value + data[start + len(value) :]


def repeated(data: bytes, times: int) -> bytes:
    """An archive in whose central directory the last header is there many times."""
    start, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    header = data[start:end]
    (size,) = struct.unpack_from("<L", data, end + 12)
    size = struct.pack("<L", size + len(header) * (times - 1))
    return data[:start] + header * times + data[end : end + 12] + size + data[end + 16 :]


def local_header(name: str, content: bytes) -> bytes:
    fields = (b"PK\x03\x04", 20, 0, 0, 0, 33, zlib.crc32(content), len(content), len(content), len(name), 0)
    return struct.pack("<4s5HL2L2H", *fields) + name.encode()


def overlapping(names: list[str], kernel: bytes) -> bytes:
    """An archive in which each file holds all the files after it, so that its bytes count many times over."""
    blobs = {}
    for name in reversed(names):
        blobs[name] = b"." + kernel  # so that it does not look like an archive
        kernel = local_header(name, blobs[name]) + blobs[name]
    directory = b""
    for name in names:
        content = blobs[name]
        offset = len(kernel) - len(content) - len(local_header(name, content))
        fields = (b"PK\x01\x02", 20, 20, 0, 0, 0, 33, zlib.crc32(content), len(content), len(content), len(name))
        directory += struct.pack("<4s6H3L5H2L", *fields, 0, 0, 0, 0, 0, offset) + name.encode()
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(names), len(names), len(directory), len(kernel), 0)
    return kernel + directory + end


def held(archive: Archive) -> dict[str, tuple[bytes, int]]:
    return {path: (entry.content, entry.mode) for path, entry in archive.files.entries.items()}


def files(**modes_and_bytes: bytes) -> MemoryFiles:
    return MemoryFiles({"SKILL.md": FileEntry(MANIFEST)} | {k: FileEntry(v) for k, v in modes_and_bytes.items()})


def is_refused(data: bytes, says: str) -> None:
    with pytest.raises(InvalidArchive, match=says) as caught:
        unpack(data)
    assert str(caught.value).isprintable()
    assert caught.value.next_step
    assert caught.value.__cause__ is None


# What is taken


@pytest.mark.parametrize("folder", ["x", "another-name", "Ünïcode 1.0"])
def test_a_wrapping_folder_is_taken_off_whatever_its_name(folder: str) -> None:
    archive = unpack(zipped(f"{folder}/scripts/a/b.py", manifest=f"{folder}/SKILL.md"))
    assert archive.folder == folder
    assert held(archive) == {"SKILL.md": (MANIFEST, 0o644), "scripts/a/b.py": (b"?", 0o644)}


def test_a_flat_archive_keeps_its_folders() -> None:
    archive = unpack(zipped("scripts/a/b.py", "references/c.md", manifest="SKILL.md"))
    assert archive.folder == ""
    assert archive.files.paths() == ["SKILL.md", "references/c.md", "scripts/a/b.py"]


@pytest.mark.parametrize("manifest", ["skill.md", "Skill.md", "x/skill.MD", "x/SKILL.md"])
def test_the_manifest_may_be_spelled_in_any_case(manifest: str) -> None:
    data = zipped(manifest=manifest)
    assert unpack(data).files.paths() == [manifest.removeprefix("x/")]
    assert Skill.from_zip(data).name == "x"


def test_folders_that_are_told_of_explicitly_are_no_files() -> None:
    folders = [entry("x/", stat.S_IFDIR | 0o755), entry("x/empty/", 0, 0), entry("x/a/", 0)]
    assert unpack(zipped(*folders, "x/a/b")).files.paths() == ["SKILL.md", "a/b"]


@pytest.mark.parametrize(
    "junk",
    [
        "__MACOSX/x/._SKILL.md",
        "__MACOSX/",
        "._x",
        "x/._SKILL.md",
        ".DS_Store",
        "x/a/.DS_Store",
        "x/Thumbs.db",
        "x/desktop.ini",
        "Desktop.ini",
        "x/__pycache__/a.cpython-311.pyc",
        "x/.git/config",
        "x/node_modules/b/SKILL.md",
        "node_modules/SKILL.md",
        entry("x/node_modules/.bin/tool", stat.S_IFLNK | 0o777),
        entry("x/.venv/bin/python", stat.S_IFLNK | 0o777),
        "x/node_modules/b.zip",
    ],
    ids=str,
)
def test_what_tools_leave_behind_is_left_out(junk: str | zipfile.ZipInfo) -> None:
    archive = unpack(zipped(junk, junk, "x/kept"))
    assert (archive.folder, archive.files.paths()) == ("x", ["SKILL.md", "kept"])


@pytest.mark.parametrize("top", ["x/", ""])
def test_a_manifest_further_down_is_a_file_like_any_other(top: str) -> None:
    data = zipped(f"{top}vendor/SKILL.md", f"{top}a/y/SKILL.md", manifest=f"{top}SKILL.md")
    archive = unpack(data)
    assert archive.files.paths() == ["SKILL.md", "a/y/SKILL.md", "vendor/SKILL.md"]
    assert archive.files.entry("SKILL.md").content == MANIFEST


@pytest.mark.parametrize("system", [3, 19], ids=["Unix", "macOS"])
@pytest.mark.parametrize(
    ("written", "read"),
    [(0o100755, 0o755), (0o100600, 0o600), (0o755, 0o755), (0o104755, 0o755), (0o103777, 0o777), (0o100000, 0o644)],
)
def test_permission_bits_are_kept_and_no_others(system: int, written: int, read: int) -> None:
    assert unpack(zipped(entry("x/a", written, system))).files.entry("a").mode == read


def test_permission_bits_of_other_systems_mean_nothing() -> None:
    assert unpack(zipped(entry("x/a", 0o120755, system=0))).files.entry("a").mode == 0o644


def test_unicode_names_are_kept_in_the_form_they_have() -> None:
    composed, decomposed = (unicodedata.normalize(form, f"é{form}.txt") for form in ("NFC", "NFD"))
    assert unpack(zipped(f"x/{composed}", f"x/{decomposed}")).files.paths() == sorted(
        ["SKILL.md", composed, decomposed]
    )


@pytest.mark.parametrize(
    ("raw", "name"),
    [("naïve-日本.txt".encode(), "naïve-日本.txt"), (b"na\x8bve.txt", "naïve.txt")],
    ids=["UTF-8, as macOS and Info-ZIP write it", "code page 437, as the format has it"],
)
def test_names_that_do_not_say_how_they_are_encoded_are_understood(raw: bytes, name: str) -> None:
    data = zipped("x/" + "n" * len(raw)).replace(b"n" * len(raw), raw)
    assert unpack(data).files.paths() == ["SKILL.md", name]


@pytest.mark.parametrize("name", ["a.docx", "b.XLSX", "c.pptx", "d.odt", "e.epub", "f.potm", "g.npz", "h.dotx"])
def test_documents_whose_format_is_a_zip_are_files_like_any_other(name: str) -> None:
    document = zipped("[Content_Types].xml")
    assert unpack(zipped(f"x/assets/{name}", content=document)).files.entry(f"assets/{name}").content == document


@pytest.mark.parametrize("name", ["a.csv.gz", "zip", "unzip.py", "notes.tar.md", "CON", "nul.txt", "12:30.txt", "a ."])
def test_unusual_but_harmless_names_are_taken(name: str) -> None:
    assert unpack(zipped(f"x/{name}")).files.paths() == sorted(["SKILL.md", name])


def test_an_archive_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.skill").write_bytes(zipped("x/a"))
    assert unpack(tmp_path / "x.skill") == unpack(zipped("x/a"))


# What is refused


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "x/../../evil",
        "x/..",
        "x/../",
        "/etc/passwd",
        "//host/share",
        "/",
        "",
        "x//a",
        "x/a//",
        "./a",
        "x/./a",
        "x/.",
        "C:/evil",
        "c:evil",
        "x/C:evil",
        "..\\evil",
        "x\\SKILL.md",
        "x/a\\..\\b",
        "x/a\0b",
        "x/SKILL.md\0.txt",
        "x/a\nb",
        "x/a\x1b[2Jb",
        "x/a\x7f",
        "x/a\x85",
        "x/a\u202etxt.exe",
        "x/a\u2028b",
        "x/" + "a" * 256,
        "x/" + "é" * 128,
        "x/" + "/".join(["a" * 200] * 6),
        "x/" * 65 + "a",
        "__MACOSX/../../evil",
        "x/__pycache__/../../../evil",
    ],
    ids=ascii,
)
def test_a_name_that_leads_elsewhere_or_deceives_is_refused(name: str) -> None:
    is_refused(
        zipped(name), "The name .* (could lead elsewhere|that of a file inside|backslash|can't be shown|too long)"
    )


def test_a_name_may_be_as_long_as_file_systems_allow() -> None:
    assert unpack(zipped("x/" + "é" * 127, "x/" + "/".join(["a" * 200] * 5))).files.paths()


@pytest.mark.parametrize("raw", [b"\xff\xfe\xfd", b"\xed\xa0\x80", b"\xc0\xae\xc0\xae\xc0\xaf"], ids=repr)
def test_a_name_that_says_it_is_utf8_and_is_not_is_refused(raw: bytes) -> None:
    is_refused(zipped("x/" + "é" * 10).replace("é".encode() * 10, raw.ljust(20, b"_")), "damaged")


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR, 0o170000], ids=oct
)
@pytest.mark.parametrize("system", [3, 19], ids=["Unix", "macOS"])
def test_only_plain_files_are_taken(kind: int, system: int) -> None:
    is_refused(zipped(entry("x/a", kind | 0o777, system), content=b"/etc/passwd"), "link, or something else")


def test_a_link_that_poses_as_a_folder_is_refused() -> None:
    is_refused(zipped(entry("x/a/", stat.S_IFLNK | 0o777)), "link, or something else")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["x/a", "x/a"], "more than one 'x/a'"),
        (["x/SKILL.md"], "more than one 'x/SKILL.md'"),
        (["x/skill.md"], "'x/skill.md' beside 'SKILL.md', one and the same"),
        (["x/a", "x/A"], "'x/A' beside 'a'"),
        (["x/a/b", "x/A/c"], "'x/A' beside 'a'"),
        (["x/straße", "x/STRASSE"], "beside"),
        (["x/\u00e9", "x/e\u0301"], "beside"),
        (["x/\u00c9", "x/e\u0301"], "beside"),
        (["x/\u212b", "x/\u00e5"], "beside"),
        (["x/a", "x/a/b"], "more than one 'x/a'"),
        (["x/a/b", "x/a"], "more than one 'x/a'"),
        (["x/a", "x/a/"], "more than one 'x/a'"),
        (["x/a/", "x/a"], "more than one 'x/a'"),
        (["x/a", "x/A/b"], "beside"),
        (["x/a/", "x/A/"], "beside"),
        (["X/b"], "'X' beside 'x'"),
    ],
    ids=ascii,
)
def test_names_that_not_every_file_system_tells_apart_are_refused(names: list[str], says: str) -> None:
    is_refused(zipped(*names), says)


@pytest.mark.parametrize(
    "name",
    [f"a.{kind}" for kind in ("zip", "ZIP", "skill", "tar", "tgz", "tar.gz", "tar.xz", "tbz2", "txz", "7z", "rar")]
    + [f"a.{kind}" for kind in ("whl", "egg", "jar", "war", "pyz", "deb", "rpm", "iso")],
)
def test_an_archive_in_an_archive_is_refused_by_its_name(name: str) -> None:
    is_refused(zipped(f"x/assets/{name}"), f"'x/assets/{name}' is an archive itself")


@pytest.mark.parametrize(
    "content",
    [
        zipped(),
        zipped(manifest=None),
        b"PK\x07\x08" + zipped(),
        b"7z\xbc\xaf\x27\x1c?",
        b"Rar!\x1a\x07\0",
        Skill.to_tar,
    ],
    ids=["zip", "empty zip", "split zip", "7z", "rar", "tar"],
)
@pytest.mark.parametrize("name", ["data.bin", "SKILL", "a.docx.txt"])
def test_an_archive_in_an_archive_is_refused_by_its_content(name: str, content: object) -> None:
    inner = content if isinstance(content, bytes) else Skill.from_zip(zipped()).to_tar()
    is_refused(zipped(f"x/{name}", content=inner), "is an archive itself")


@pytest.mark.parametrize("flag", [0x1, 0x41, 0x2000])
def test_an_encrypted_file_is_refused(flag: int) -> None:
    is_refused(patched(zipped("x/a"), 8, struct.pack("<H", flag)), "'x/a' is encrypted")


@pytest.mark.parametrize("method", [1, 9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93, 95, 99])
def test_other_compression_than_every_tool_knows_is_refused(method: int) -> None:
    is_refused(patched(zipped("x/a"), 10, struct.pack("<H", method)), "compressed in an unusual way")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"hello",
        b"PK\x03\x04" + bytes(100),
        zipped("x/a")[:-1],
        zipped("x/a")[:-30],
        zipped("x/a")[: len(zipped("x/a")) // 2],
        zipped("x/a")[20:],
        patched(zipped("x/a"), 16, bytes(4)),
        patched(zipped("x/a"), 42, struct.pack("<L", 2**32 - 2)),
        patched(zipped("x/a"), 6, struct.pack("<H", 99)),
        patched(zipped("x/a", content=b"?" * 100), 24, struct.pack("<L", 3)),
        zipped("x/abc").replace(b"x/abc", b"x/abd", 1),
        zipped(entry("x/a", method=zipfile.ZIP_STORED), content=b"inside").replace(b"inside", b"insido"),
    ],
    ids=[
        "nothing",
        "two bytes",
        "text",
        "zeros",
        "without its last byte",
        "without its end",
        "half of it",
        "without its beginning",
        "wrong checksum",
        "file outside of the archive",
        "of a future version",
        "size too small",
        "two names for a file",
        "a changed byte",
    ],
)
def test_what_is_no_zip_or_a_damaged_one_is_refused(data: bytes) -> None:
    is_refused(data, "not a zip, or a damaged one")


def test_an_offset_too_large_for_the_machine_is_refused() -> None:
    data = zipped("x/a")
    field = struct.pack("<HHQ", 1, 8, 2**64 - 1)
    data = patched(patched(data, 42, b"\xff" * 4), 30, struct.pack("<H", len(field)))
    end = data.rindex(b"PK\x05\x06")
    data = data[:end] + field + data[end:]
    (size,) = struct.unpack_from("<L", data, end + len(field) + 12)
    is_refused(data[:-10] + struct.pack("<L", size + len(field)) + data[-6:], "damaged")


@pytest.mark.parametrize("missing", ["a.zip", "no/folder/a.zip"])
def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, missing: str) -> None:
    with pytest.raises(SkillNotFound, match="There is no file"):
        unpack(tmp_path / missing)


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for place in (tmp_path, tmp_path / "fifo", tmp_path / "loop", tmp_path / "a\0b", tmp_path / ("a" * 300)):
        with pytest.raises(InvalidArchive, match=r"not a file|can't be read"):
            unpack(place)


def test_a_refusal_names_the_file_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped("../evil"))
    with pytest.raises(InvalidArchive, match=r"No usable skill in '.*a\.zip': The name '\.\./evil'"):
        unpack(tmp_path / "a.zip")


def test_a_refused_archive_leaves_nothing_behind(workdir: Path) -> None:
    (workdir / "a.zip").write_bytes(zipped("x/good", "../evil", entry("x/l", stat.S_IFLNK | 0o777)))
    with pytest.raises(InvalidArchive):
        unpack(workdir / "a.zip")
    assert [path.name for path in workdir.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (zipped(manifest=None), "There is no SKILL.md in the archive"),
        (zipped("x/README.md", manifest=None), "There is no SKILL.md in the archive"),
        (zipped("x/skill.md/", "x/a", manifest=None), "There is no SKILL.md in the archive"),
        (zipped("repo/skills/a/SKILL.md", manifest=None), "only one deeper, 'repo/skills/a/SKILL.md'"),
        (zipped("x/a", manifest="__MACOSX/SKILL.md"), "There is no SKILL.md in the archive"),
        (zipped("b/skill.md", "a/SKILL.md"), "holds 3 skills: 'a', 'b', 'x'"),
        (zipped(*(f"{n}/SKILL.md" for n in range(20))), "holds 21 skills: '0', '1', '10', '11', '12', …"),
        (zipped("README.md"), r"'README\.md' lies outside of the skill's folder 'x'"),
        (zipped("y/vendor/SKILL.md"), "'y/vendor/SKILL.md' lies outside"),
    ],
)
def test_an_archive_without_exactly_one_skill_is_refused(data: bytes, says: str) -> None:
    is_refused(data, says)


# How much is taken


def test_more_files_than_a_skill_may_have_are_refused() -> None:
    is_refused(zipped(*(f"x/{n}" for n in range(MOST_FILES))), "more than 10,000 files")


@pytest.mark.parametrize("name", ["x/a/", "x/__pycache__/a"])
def test_entries_are_counted_even_if_none_of_them_is_kept(name: str) -> None:
    assert unpack(repeated(zipped(name), 4 * MOST_FILES - 1)).files.paths() == ["SKILL.md"]
    is_refused(repeated(zipped(name), 4 * MOST_FILES), "more than 40,000 files and folders")


def test_folders_that_are_only_parts_of_names_count_as_well() -> None:
    deep = [f"x/{n}/" + "a/" * 60 for n in range(1000)]
    is_refused(zipped(*deep), "more than 40,000 files and folders")


def test_a_large_archive_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.zip").open("wb") as file:
        file.truncate(100 * MOST_BYTES)
    with pytest.raises(InvalidArchive, match="has more than 64 MiB"):
        unpack(tmp_path / "a.zip")


def test_large_data_is_refused() -> None:
    is_refused(bytes(MOST_BYTES + 1), "The archive has more than 64 MiB")


def zeros(*names: str, mib: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/SKILL.md", MANIFEST)
        for name in names:
            with archive.open(name, "w") as file:
                for _ in range(mib):
                    file.write(bytes(MIB))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (zeros("x/a", mib=200), "200-fold at 'x/a'|more than 64 MiB"),
        (zeros("x/a", "x/b", mib=2), "200-fold at 'x/a'"),
        (zeros(*(f"x/{n}" for n in range(4)), mib=1), "grows more than 200-fold"),
        (overlapping(["x/SKILL.md", *(f"x/{n}" for n in range(99))], os.urandom(MIB)), "more than 64 MiB|damaged"),
        (overlapping(["x/SKILL.md", *(f"x/{n}" for n in range(999))], os.urandom(MIB // 20)), "200-fold|damaged"),
    ],
    ids=["one large file", "two files", "many small files", "shared bytes", "many files with shared bytes"],
)
def test_a_bomb_is_refused_within_bounded_memory(data: bytes, says: str) -> None:
    tracemalloc.start()
    try:
        is_refused(data, says)
        assert tracemalloc.get_traced_memory()[1] < 2 * MOST_BYTES + 8 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("stated", [0, 1000, 2**32 - 2], ids=["nothing", "little", "much"])
def test_a_size_that_an_archive_states_is_not_believed(stated: int) -> None:
    is_refused(patched(zeros("x/a", mib=200), 24, struct.pack("<L", stated)), "damaged|200-fold|64 MiB")


def test_bytes_are_bounded_whatever_their_ratio() -> None:
    content = os.urandom(MIB // 100) + bytes(MIB)
    squeezed = zipped(*(f"x/{n}" for n in range(64)), content=content)
    assert len(squeezed) < MIB
    is_refused(squeezed, "What the archive holds has more than 64 MiB")


def test_a_small_file_may_shrink_as_much_as_it_likes() -> None:
    assert len(unpack(zipped("x/a", content=bytes(MIB // 2))).files.entry("a").content) == MIB // 2


# Out again


def test_a_folder_keeps_every_byte_mode_and_name_on_its_way_through_an_archive(tmp_path: Path) -> None:
    folder = tmp_path / "original"
    (folder / "scripts/deep/er").mkdir(parents=True)
    contents = {
        "SKILL.md": (MANIFEST, 0o644),
        "scripts/run.sh": (b"#!/bin/sh\n", 0o755),
        "scripts/deep/er/private": (b"", 0o600),
        "all bytes": (bytes(range(256)) * 100, 0o444),
        unicodedata.normalize("NFC", "über.txt"): (b"1", 0o640),
        unicodedata.normalize("NFD", "ñandú.txt"): (b"2", 0o664),
        "日本語 🎉.md": ("日本".encode(), 0o777),
        "blank.bmp": (bytes(3 * MIB), 0o644),
    }
    for path, (content, mode) in contents.items():
        (folder / path).write_bytes(content)
        (folder / path).chmod(mode)
    archive = unpack(pack(FolderFiles(folder), "a-name"))
    assert archive.folder == "a-name"
    assert held(archive) == contents
    lay_out(archive.files, tmp_path / "copy")
    copy = FolderFiles(tmp_path / "copy")
    assert copy.paths() == sorted(contents)
    assert {path: (copy.entry(path).content, copy.entry(path).mode) for path in copy.paths()} == {
        path: (content, mode | 0o600) for path, (content, mode) in contents.items()
    }


def test_the_same_files_make_the_same_bytes_whatever_their_order_and_dates(tmp_path: Path) -> None:
    packed = set()
    for side, names in enumerate(["abc", "cba"]):
        folder = tmp_path / str(side)
        folder.mkdir()
        for name in ["SKILL.md", *names] if side else [*names, "SKILL.md"]:
            (folder / name).write_text(name)
            (folder / name).chmod(0o644)
            os.utime(folder / name, (side * 10**9, side * 10**9))
        packed.add(pack(FolderFiles(folder), "x"))
    assert len(packed) == 1


def test_an_archive_tells_nothing_but_the_files() -> None:
    with zipfile.ZipFile(io.BytesIO(pack(files(b=b"1", a=b"2"), "x"))) as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == ["x/SKILL.md", "x/a", "x/b"]
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.create_system for info in infos} == {3}
    assert {info.external_attr >> 16 for info in infos} == {stat.S_IFREG | 0o644}


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "x", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "SKILL.md").write_bytes(MANIFEST)
    (outside / "secret").write_text("secret")
    (folder / "file").symlink_to(outside / "secret")
    (folder / "folder").symlink_to(outside)
    data = pack(FolderFiles(folder), "x")
    assert unpack(data).files.paths() == ["SKILL.md"]
    assert b"secret" not in data


def test_what_would_be_left_out_on_the_way_back_is_not_packed() -> None:
    packed = pack(MemoryFiles(dict.fromkeys(["SKILL.md", "._a", "Thumbs.db", ".git/b"], FileEntry(MANIFEST))), "x")
    assert packed == pack(files(), "x")


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        ("Skill.md", b"", "beside"),
        ("a.zip", b"", "is an archive itself"),
        ("a", zipped(), "is an archive itself"),
        ("SKILL.md/a", b"", "more than one"),
        ("a\\b", b"", "backslash"),
        ("a\0b", b"", "can't be shown"),
        ("a\ud800", b"", "can't be shown"),
        ("../a", b"", "could lead elsewhere"),
        ("/a", b"", "could lead elsewhere"),
        ("a/", b"", "could lead elsewhere"),
        ("a" * 300, b"", "too long"),
    ],
)
def test_what_could_not_be_unpacked_is_not_packed(path: str, content: bytes, says: str) -> None:
    with pytest.raises(InvalidArchive, match=says):
        pack(files(**{path: content}), "x")


def test_files_without_a_manifest_are_not_packed() -> None:
    with pytest.raises(InvalidArchive, match=r"no SKILL\.md"):
        pack(MemoryFiles({"a": FileEntry(b"")}), "x")


def test_files_too_large_for_a_skill_are_not_packed(tmp_path: Path) -> None:
    with pytest.raises(InvalidArchive, match="more than 64 MiB"):
        pack(files(a=bytes(MOST_BYTES)), "x")
    with (tmp_path / "a").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(InvalidSkill, match="more than 64 MiB"):
        pack(FolderFiles(tmp_path), "x")


@pytest.mark.parametrize("folder", ["", ".", "..", "a/b", "/", "a\\b", "C:", "a\0", "a" * 256])
def test_the_folder_in_an_archive_has_a_plain_name(folder: str) -> None:
    with pytest.raises(InvalidArchive):
        pack(files(), folder)


# Laid out in a folder


def test_files_are_laid_out_with_their_modes_whatever_the_umask(tmp_path: Path) -> None:
    modes = {"a/b/c": 0o111, "d": 0o4777, "e": 0o644}
    umask = os.umask(0o077)
    try:
        lay_out(MemoryFiles({path: FileEntry(b"?", mode) for path, mode in modes.items()}), tmp_path / "new/x")
    finally:
        os.umask(umask)
    found = {path: stat.S_IMODE((tmp_path / "new/x" / path).stat().st_mode) for path in ("", "a", "a/b", *modes)}
    assert found == {"": 0o755, "a": 0o755, "a/b": 0o755, "a/b/c": 0o711, "d": 0o777, "e": 0o644}
    assert os.listdir(tmp_path / "new") == ["x"]


@pytest.mark.parametrize("there", ["a file", "a folder", "a dangling link"])
def test_nothing_that_is_there_is_replaced(tmp_path: Path, there: str) -> None:
    target = tmp_path / "x"
    makers = {"a file": target.touch, "a folder": target.mkdir}
    makers.get(there, lambda: target.symlink_to(tmp_path / "nowhere"))()
    with pytest.raises(UsageProblem, match=r"There is something at .* already"):
        lay_out(files(), target)
    assert os.listdir(tmp_path) == ["x"]
    assert not target.is_dir() or not os.listdir(target)


@pytest.mark.parametrize(
    "paths", [["../evil"], ["/evil"], ["a/../../evil"], ["C:evil"], ["a\\evil"], ["a", "A"], ["a", "a/b"], [""]]
)
def test_hostile_paths_are_not_laid_out(tmp_path: Path, paths: list[str]) -> None:
    with pytest.raises(InvalidArchive):
        lay_out(MemoryFiles(dict.fromkeys(["SKILL.md", *paths], FileEntry(MANIFEST))), tmp_path / "new/x")
    assert os.listdir(tmp_path) == []


def test_a_layout_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    class Failing(MemoryFiles):
        def entry(self, path: str) -> FileEntry:
            if path == "b":
                raise InvalidSkill("gone")
            return super().entry(path)

    with pytest.raises(InvalidSkill):
        lay_out(Failing({"a/a": FileEntry(b""), "b": FileEntry(b"")}), tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_a_place_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageProblem, match="can't be written"):
        lay_out(files(), tmp_path / "file/x")
    with pytest.raises(UsageProblem, match="can't be written"):
        lay_out(files(), tmp_path / ("a" * 300))
    assert os.listdir(tmp_path) == ["file"]


# Whatever it is


def assert_files_or_refused(data: bytes) -> list[str]:
    """Any other error than a refusal goes through."""
    try:
        paths = unpack(data).files.paths()
    except InvalidArchive as error:
        assert str(error).isprintable()  # noqa: PT017 - either is right
        return []
    assert "skill.md" in [path.lower() for path in paths]
    return paths


_part = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs", "M"), exclude_characters='/\\:._"'),
    min_size=1,
    max_size=12,
)
_path = st.lists(_part, min_size=1, max_size=4).map("/".join)
_content = st.just(b"") | st.binary(max_size=250).map(lambda content: b"." + content)  # no archive's beginning
_entry = st.builds(FileEntry, _content, st.integers(1, 0o777))


def _fit_together(paths: Iterable[str]) -> bool:
    """Whether no two names, of files or of folders, are alike in more than a file system may see."""
    every = {"/".join(path.split("/")[: depth + 1]) for path in paths for depth in range(path.count("/") + 1)}
    folded = {unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold()) for name in every}
    folders = {name for path in paths for name in every if path.startswith(f"{name}/")}
    return len(folded) == len(every) and folders.isdisjoint(paths)


@bounded
@given(st.dictionaries(_path, _entry, max_size=6).filter(_fit_together), _part)
def test_whatever_the_files_they_come_back_as_they_were(entries: Mapping[str, FileEntry], folder: str) -> None:
    content = MemoryFiles({"SKILL.md": FileEntry(MANIFEST), **entries})
    archive = unpack(pack(content, folder))
    assert (archive.folder, archive.files) == (folder, content)
    assert pack(archive.files, folder) == pack(content, folder)


@bounded
@given(st.binary(max_size=400) | st.binary(max_size=200).map(lambda data: b"PK\x03\x04" + data + zipped()[-22:]))
def test_whatever_the_bytes_they_are_files_or_refused(data: bytes) -> None:
    assert_files_or_refused(data)


_whole = zipped("x/scripts/a.py", entry("x/ü", 0o100755), "x/b/", content=b"?" * 500)


@settings(bounded, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(_whole) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_whatever_bytes_are_changed_it_is_files_or_refused(changes: list[tuple[int, int]]) -> None:
    data = bytearray(_whole)
    for position, byte in changes:
        data[position] = byte
    assert_files_or_refused(bytes(data))


_hostile = st.lists(
    st.sampled_from(
        ["..", ".", "", "/", "\\", "C:", "\0", "\n", "a", "A", "x", "SKILL.md", "é", "e\u0301", "._a", "\u202e"]
    )
    | st.text(max_size=3),
    max_size=5,
).flatmap(lambda parts: st.sampled_from(["/".join(parts), "".join(parts), "x/" + "/".join(parts)]))


@settings(bounded, max_examples=200)
@given(st.lists(_hostile, min_size=1, max_size=3))
def test_whatever_the_names_those_that_come_out_are_safe(names: list[str]) -> None:
    paths = assert_files_or_refused(zipped(*names))
    assert _fit_together(paths)
    for path in paths:
        assert os.path.normpath(f"/safe/{path}") == f"/safe/{path}"
        assert not any(
            part in ("", ".", "..") or (part[1:2] == ":" and part[0].isascii() and part[0].isalpha())
            for part in path.split("/")
        )
        assert "\\" not in path
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in path)
