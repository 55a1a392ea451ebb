"""Skills in gzipped tars: the same walls as for zips."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.errors import InvalidArchive
from jupyter_skills.sharing.tar import unpack_tar
from tests.conftest import NO_HANG, write_skill
from tests.sharing.repository import manifest, tarred

pytestmark = NO_HANG

MANIFEST = ("mine/SKILL.md", manifest("mine").encode())


def member(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tars_of_all_forms_are_read(form: int) -> None:
    long = "mine/" + "/".join(["folder" * 10] * 3) + "/a.txt"
    folder = tarfile.TarInfo("mine")
    folder.type = tarfile.DIRTYPE
    accent = ("mine/é.txt", b"e") if form != tarfile.USTAR_FORMAT else ("mine/e.txt", b"e")
    opened = unpack_tar(tarred((folder, b""), MANIFEST, (long, b"a" * 1000), accent, form=form))
    assert opened.folder == "mine"
    assert sorted(map(len, opened.files.paths())) == sorted(map(len, ["SKILL.md", long[5:], accent[0][5:]]))
    assert opened.files.entry(long[5:]).content == b"a" * 1000


def test_the_tars_of_the_tar_program_are_read(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "mine")
    (folder / "run.sh").write_text("echo")
    (folder / "run.sh").chmod(0o755)
    for where, what in ((tmp_path, "mine"), (folder, ".")):
        subprocess.run(["tar", "-czf", tmp_path / "x.tgz", "-C", where, what], check=True)
        opened = unpack_tar((tmp_path / "x.tgz").read_bytes())
        assert opened.files.paths() == ["SKILL.md", "run.sh"]
        assert opened.files.entry("run.sh").executable
        assert not opened.files.entry("SKILL.md").executable


@pytest.mark.parametrize(
    "name", ["../x", "mine/../../x", "/etc/x", "mine/./x", "mine//x", "mine/a\\b", "C:/x", "mine/a\nb", "mine/a\x1bb"]
)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(InvalidArchive):
        unpack_tar(tarred(MANIFEST, (name, b"x")))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        b"S",
        b"V",
    ],
)
def test_links_devices_and_the_unknown_are_refused(kind: bytes) -> None:
    with pytest.raises(InvalidArchive, match=r"link|damaged"):
        unpack_tar(tarred(MANIFEST, (member("mine/x", kind, "SKILL.md"), b"")))


def test_names_that_collide_are_refused() -> None:
    for other in ("mine/skill.md", "mine/SKILL.md", "mine/SKILL.md/x"):
        with pytest.raises(InvalidArchive):
            unpack_tar(tarred(MANIFEST, (other, b"x")))


def test_an_archive_in_the_archive_is_refused() -> None:
    with pytest.raises(InvalidArchive, match="an archive itself"):
        unpack_tar(tarred(MANIFEST, ("mine/x.tar", tarred(MANIFEST))))


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(InvalidArchive, match="fold"):
        unpack_tar(gzip.compress(gzip.decompress(tarred(MANIFEST))[:-1024] + b"\0" * 512 + b"\0" * 30_000_000))
    noise = os.urandom(1 << 20) * 80
    with pytest.raises(InvalidArchive, match="more than 64 MiB"):
        unpack_tar(tarred(MANIFEST, *((f"mine/{number}", noise[number : number + (17 << 20)]) for number in range(4))))


def test_more_names_than_a_skill_may_have_are_refused() -> None:
    with pytest.raises(InvalidArchive, match="more than"):
        unpack_tar(tarred(MANIFEST, *((f"mine/{number}", b"") for number in range(10_100)), form=tarfile.USTAR_FORMAT))


def test_pax_records_may_name_but_not_reshape_a_file() -> None:
    info = tarfile.TarInfo("mine/a")
    for records in ({"GNU.sparse.major": "1"}, {"GNU.sparse.realsize": "99999999999"}):
        info.pax_headers = records
        with pytest.raises(InvalidArchive, match="unusual"):
            unpack_tar(tarred(MANIFEST, (info, b"x")))
    info.pax_headers = {"path": "mine/b", "comment": "x", "mtime": "1.5"}
    assert unpack_tar(tarred(MANIFEST, (info, b"x"))).files.paths() == ["SKILL.md", "b"]
    info.pax_headers = {"path": "../b"}
    with pytest.raises(InvalidArchive):
        unpack_tar(tarred(MANIFEST, (info, b"x")))


def test_what_git_archive_makes_is_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", pax_headers={"comment": "0" * 40}) as archive:
        info = tarfile.TarInfo(MANIFEST[0])
        info.size = len(MANIFEST[1])
        archive.addfile(info, io.BytesIO(MANIFEST[1]))
    assert unpack_tar(buffer.getvalue()).files.paths() == ["SKILL.md"]


@given(st.data())
def test_a_damaged_tar_is_refused_or_read_never_worse(data: st.DataObject) -> None:
    raw = bytearray(gzip.decompress(tarred(MANIFEST, ("mine/" + "x" * 150, b"a" * 600))))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    for tried in (bytes(raw), bytes(raw[:cut])):
        with suppress(InvalidArchive):
            unpack_tar(gzip.compress(tried, 1))
    with suppress(InvalidArchive):
        unpack_tar(gzip.compress(bytes(raw), 1)[: data.draw(st.integers(0, 200))])
