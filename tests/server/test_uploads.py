"""Uploads to a real server: large, cut off, slow, forged and hostile ones."""

from __future__ import annotations

import asyncio
import io
import shutil
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_skills.errors import UsageProblem
from jupyter_skills.server.incoming.multipart import Upload, form_in, kind_of
from jupyter_skills.skills.files import MOST_FILES
from tests.conftest import NO_HANG
from tests.server.jupyter import TOKEN, archive_of, client, environment_in, form_of, jupyter
from tests.skills.test_archive import entry, overlapping, patched, repeated, zipped

SKILLS = "/jupyter-skills/api/skills"
LIMIT = 2 << 20
KIB = 1 << 10
MIB = 1 << 20

HOSTILE = {
    "a path that leads out": zipped("x/../../out"),
    "an absolute path": zipped("/etc/passwd"),
    "a drive": zipped("C:/x"),
    "a backslash": zipped("x\\a"),
    "a link": zipped(entry("x/link", 0o120777), content=b"/etc/passwd"),
    "a device": zipped(entry("x/device", 0o020666)),
    "an archive in it": zipped("x/inner.zip"),
    "a bomb": zipped("x/zeros", content=bytes(60 * MIB)),
    "overlapping files": overlapping(["x/SKILL.md", *(f"x/{n}" for n in range(200))], bytes(10 * KIB)),
    "a name many times": repeated(zipped("x/a"), 60_000),
    "an encrypted file": patched(zipped("x/a"), 8, b"\x01\0"),
    "a method nobody knows": patched(zipped("x/a"), 10, b"\x5d\0"),
    "two names that are one": zipped("x/a", "x/A"),
    "no skill": zipped("x/a", manifest=None),
    "two skills": zipped("y/SKILL.md"),
    "a cut": zipped("x/a", content=b"?" * 1000)[:-30],
    "nothing": b"",
    "no zip": b"PK\x03\x04" + b"junk" * 100,
}


@dataclass(frozen=True)
class Served:
    """A running server that takes small uploads only.

    Args:
        url: Its address.
        api: A client of it.
        spool: Where it keeps temporary files.
    """

    url: str
    api: httpx.Client
    spool: Path

    def connect(self) -> socket.socket:
        """A connection on which a test says what it wants to."""
        return socket.create_connection(("127.0.0.1", httpx.URL(self.url).port or 0), timeout=20)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home, spool = tmp_path_factory.mktemp("server"), tmp_path_factory.mktemp("spool")
    environment = environment_in(home, TMPDIR=str(spool))
    with (
        jupyter("server", home, environment, f"--SkillsExtension.upload_limit={LIMIT}") as url,
        client(url) as api,
    ):
        yield Served(url, api, spool)


def head(*more: str, token: str = TOKEN, path: str = SKILLS) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/zip"]
    lines += [f"Authorization: token {token}"] if token else []
    return "\r\n".join([*lines, *more, "", ""]).encode()


def chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def answer(connection: socket.socket) -> str:
    """The response that has come, without what may come after it."""
    received = b""
    while b"\r\n\r\n" not in received or not received.endswith(b"}"):
        piece = connection.recv(64 * KIB)
        assert piece, f"the connection ended after {received!r}"
        received += piece
    return received.decode()


# What is refused before it has come


def test_a_size_over_the_limit_is_refused_before_anything_is_sent(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(head(f"Content-Length: {LIMIT + 1}"))
        response = answer(connection)
    assert response.startswith("HTTP/1.1 413 ")
    assert '"UploadTooLarge"' in response


def test_a_client_that_asks_first_is_told_before_it_sends(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(head(f"Content-Length: {LIMIT + 1}", "Expect: 100-continue"))
        assert answer(connection).startswith("HTTP/1.1 413 ")
        assert connection.recv(1) == b""


def test_a_body_that_does_not_tell_its_size_is_refused_as_soon_as_it_is_too_large(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(LIMIT // (64 * KIB)):
            connection.sendall(chunk(bytes(64 * KIB)))
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):  # so far there is nothing to say
            connection.recv(1)
        connection.settimeout(20)
        connection.sendall(chunk(b"?"))
        assert answer(connection).startswith("HTTP/1.1 413 ")


def test_a_client_that_goes_on_after_a_refusal_is_cut_off(served: Served) -> None:
    sent: list[int] = []

    def go_on(connection: socket.socket) -> None:
        while sum(sent) < 1000 * MIB:
            connection.sendall(chunk(bytes(MIB)))
            sent.append(MIB)

    with served.connect() as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        with pytest.raises(ConnectionError):
            go_on(connection)
    assert sum(sent) < 200 * MIB


@pytest.mark.parametrize("token", ["", "wrong"])
def test_nobody_unknown_gets_as_far_as_sending(served: Served, token: str) -> None:
    with served.connect() as connection:
        connection.sendall(head(f"Content-Length: {LIMIT}", token=token))
        assert answer(connection).startswith("HTTP/1.1 403 ")


def test_a_body_that_nothing_here_can_read_is_refused_before_it_is_sent(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(head(f"Content-Length: {LIMIT}").replace(b"application/zip", b"text/plain"))
        assert answer(connection).startswith("HTTP/1.1 400 ")


def test_a_connection_is_good_for_more_after_a_refusal_whose_body_came(served: Served) -> None:
    with served.connect() as connection:
        for _ in range(3):
            connection.sendall(head("Content-Length: 4", token="") + b"body")
            assert answer(connection).startswith("HTTP/1.1 403 ")


@pytest.mark.parametrize("size", [LIMIT + 1, 20 * MIB])
@pytest.mark.parametrize("chunked", [False, True], ids=["with a size", "chunked"])
def test_an_http_library_that_sends_all_of_it_sees_the_refusal(served: Served, size: int, chunked: bool) -> None:
    def pieces() -> Iterator[bytes]:
        for start in range(0, size, 64 * KIB):
            yield bytes(min(64 * KIB, size - start))

    content = pieces() if chunked else bytes(size)
    response = served.api.post(SKILLS, content=content, headers={"Content-Type": "application/zip"})
    assert (response.status_code, response.json()["reason"]) == (413, "UploadTooLarge")
    form = served.api.post(SKILLS, files=form_of(bytes(size)))
    assert (form.status_code, form.json()["reason"]) == (413, "UploadTooLarge")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_curl_sees_the_refusal_and_sends_nothing(served: Served, tmp_path: Path) -> None:
    (tmp_path / "large.zip").write_bytes(bytes(20 * MIB))
    command = ["curl", "--silent", "--output", "answer", "--write-out", "%{http_code} %{size_upload}"]
    command += ["--header", f"Authorization: token {TOKEN}", "--header", "Expect: 100-continue"]
    command += ["--form", "files=@large.zip", f"{served.url}{SKILLS}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["413", "0"], done
    assert "UploadTooLarge" in (tmp_path / "answer").read_text()


def test_exactly_the_limit_is_taken(served: Served) -> None:
    response = served.api.post(SKILLS, content=bytes(LIMIT), headers={"Content-Type": "application/zip"})
    assert response.json()["reason"] == "InvalidArchive"


# What does not arrive


@pytest.mark.parametrize("size", ["Content-Length: 1500000", "Transfer-Encoding: chunked"])
def test_an_upload_that_is_cut_off_leaves_nothing(served: Served, size: str) -> None:
    before = served.api.get(SKILLS).json()["data"]
    piece = bytes(1_400_000)
    with served.connect() as connection:
        connection.sendall(head(size) + (piece if size.startswith("Content") else chunk(piece)))
    assert served.api.get(SKILLS).json()["data"] == before
    assert list(served.spool.iterdir()) == []


async def test_slow_uploads_hold_up_nobody(served: Served) -> None:
    archives = [archive_of(f"slow-{number}", body="word " * 20_000) for number in range(30)]

    async def begun(archive: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(served.url).port)
        writer.write(head(f"Content-Length: {len(archive)}") + archive[: len(archive) // 2])
        await writer.drain()
        return reader, writer

    slow = [await begun(archive) for archive in archives]
    async with _quick(served) as quick:
        for number in range(5):
            assert (await quick.get("/api/status")).status_code == 200
            assert (await quick.get(SKILLS)).status_code == 200
            sent = await quick.post(SKILLS, files=form_of(archive_of(f"quick-{number}")))
            assert sent.status_code == 201
    for archive, (reader, writer) in zip(archives, slow, strict=True):
        writer.write(archive[len(archive) // 2 :])
        assert (await reader.readline()).startswith(b"HTTP/1.1 201 ")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("sent", [b"", b"half"], ids=["nothing", "a part"])
def test_an_upload_that_stalls_is_given_up(tmp_path: Path, sent: bytes) -> None:
    option = "--SkillsExtension.upload_patience=1"
    with jupyter("server", tmp_path, environment_in(tmp_path), option) as url, client(url) as api:
        served = Served(url, api, tmp_path)
        with served.connect() as connection:
            connection.sendall(head("Content-Length: 1500000") + sent)
            response = answer(connection)
            assert response.startswith("HTTP/1.1 408 ")
            assert "upload_patience" in response
            assert connection.recv(1) == b""
        assert api.post(SKILLS, files=form_of(archive_of("in-time"))).status_code == 201


def test_an_upload_may_take_longer_than_a_pause_may(tmp_path: Path) -> None:
    archive = archive_of("slow")
    pieces = [archive[start : start + len(archive) // 6] for start in range(0, len(archive), len(archive) // 6)]
    option = "--SkillsExtension.upload_patience=1"
    with jupyter("server", tmp_path, environment_in(tmp_path), option) as url, client(url) as api:
        served = Served(url, api, tmp_path)
        with served.connect() as connection:
            connection.sendall(head(f"Content-Length: {len(archive)}"))
            connection.settimeout(0.3)
            for piece in pieces:
                connection.sendall(piece)
                if piece is not pieces[-1]:
                    with pytest.raises(TimeoutError):
                        connection.recv(1)
            connection.settimeout(20)
            assert answer(connection).startswith("HTTP/1.1 201 ")


# What there is no room for

# As with a full disk, no file gets larger; a server's configuration is a program.
SMALL_FILES = """
import resource

resource.setrlimit(resource.RLIMIT_FSIZE, (1_330_000, 1_330_000))
"""


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose temporary files get no larger than 1.33 MB."""
    home, spool = tmp_path_factory.mktemp("cramped"), tmp_path_factory.mktemp("spool")
    (home / "config.py").write_text(SMALL_FILES)
    environment = environment_in(home, TMPDIR=str(spool))
    with jupyter("server", home, environment, f"--config={home / 'config.py'}") as url, client(url) as api:
        yield Served(url, api, spool)


@pytest.mark.parametrize("size", [1_400_000, 20 * MIB], ids=["at its end", "while it comes"])
@pytest.mark.parametrize("path", [SKILLS, "/jupyter-skills/openai/v1/skills", "/jupyter-skills/anthropic/v1/skills"])
def test_an_upload_that_the_disk_has_no_room_for_is_refused(cramped: Served, path: str, size: int) -> None:
    for sent in (
        {"content": bytes(size), "headers": {"Content-Type": "application/zip"}},
        {"files": form_of(bytes(size))},
    ):
        refused = cramped.api.post(path, **sent)
        assert refused.status_code == 507, refused.text
        assert "room" in refused.text
    assert list(cramped.spool.iterdir()) == []
    assert cramped.api.get(SKILLS).status_code == 200


class _quick:  # noqa: N801 -- it reads as a function
    def __init__(self, served: Served) -> None:
        self._client = httpx.AsyncClient(base_url=served.url, headers=served.api.headers, timeout=30)

    async def __aenter__(self) -> httpx.AsyncClient:
        return self._client

    async def __aexit__(self, *error: object) -> None:
        await self._client.aclose()


# What is hostile


@NO_HANG
@pytest.mark.parametrize("archive", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_archive_is_refused_and_reported(served: Served, archive: bytes) -> None:
    before = served.api.get(SKILLS).json()["data"]
    refused = served.api.post(SKILLS, files=form_of(archive))
    assert refused.status_code == (413 if len(archive) > LIMIT - KIB else 422), refused.text
    if refused.status_code == 422:
        assert refused.json()["reason"] in ("InvalidArchive", "InvalidSkill")
        report = served.api.post("/jupyter-skills/api/validate", files=form_of(archive))
        assert report.status_code == 200
        assert report.json()["valid"] is False
        assert report.json()["problems"][0]["message"]
        assert str(served.spool) not in report.text
    assert served.api.get(SKILLS).json()["data"] == before
    assert list(served.spool.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "C:\\x", "x/../../y", "a/b\\c", "x/\x7f", "x" * 300, "x//y", "."]
)
def test_the_names_of_files_pass_the_same_door(served: Served, name: str) -> None:
    parts = [("files", ("x/SKILL.md", b"---\nname: x\ndescription: y\n---\nz")), ("files", (name, b"?"))]
    refused = served.api.post(SKILLS, files=parts)
    assert (refused.status_code, refused.json()["reason"]) == (422, "InvalidArchive")


# Forms


def form(*parts: bytes, end: bytes = b"--x--\r\n") -> io.BytesIO:
    return io.BytesIO(b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + end)


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    said = f'form-data; name="{name}"' + ("" if filename is None else f'; filename="{filename}"')
    return f"Content-Disposition: {said}\r\n\r\n".encode() + content


def test_a_form_is_taken_apart() -> None:
    upload = form_in(form(part("title", "Größe".encode()), part("files", b"\r\n--y\r\n", "a/ö.md")), b"x")
    assert upload.fields == {"title": "Größe"}
    assert [(file.field, file.filename, file.content) for file in upload.files] == [("files", "a/ö.md", b"\r\n--y\r\n")]


@pytest.mark.parametrize("field", ["files", "files[]", "file"])
def test_a_file_needs_no_name(served: Served, field: str) -> None:
    archive = archive_of(f"nameless-{field.strip('[]')}-{len(field)}")
    (file,) = form_in(form(part(field, archive)), b"x").files
    assert (file.filename, file.content) == ("", archive)
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    for path, status in ((f"{SKILLS.removesuffix('skills')}validate", 200), (SKILLS, 201)):
        sent = served.api.post(path, content=form(part(field, archive)).getvalue(), headers=headers)
        assert sent.status_code == status, sent.text


def test_no_file_chosen_is_no_file() -> None:
    assert form_in(form(part("files", b"", "")), b"x") == Upload({}, ())


@pytest.mark.parametrize(
    "body",
    [
        form(end=b""),
        form(part("a", b"b"), end=b""),
        form(part("a", b"b"), end=b"--x"),
        form(b"Content-Disposition: form-data\r\n\r\nb"),
        form(b"Content-Disposition: attachment; name=a\r\n\r\nb"),
        form(b"\r\nb"),
        form(b"Content-Disposition: form-data; name=a\r\nX: " + b"y" * 100_000 + b"\r\n\r\nb"),
        form(b"Content-Disposition: form-data; name=a\r\n" + b"X: y\r\n" * 1000 + b"\r\nb"),
        form(part("a", b"\xff")),
        form(b"Content-Disposition: form-data; name=a; filename=\xff\r\n\r\nb"),
        form(part("a", b"\0")),
        io.BytesIO(b"no form at all"),
    ],
)
def test_a_damaged_form_is_told(body: io.BytesIO) -> None:
    with pytest.raises(UsageProblem):
        form_in(body, b"x")


def test_a_form_has_not_more_parts_than_a_skill_has_files() -> None:
    few = form_in(form(*(part("files", b"?", str(number)) for number in range(MOST_FILES))), b"x")
    assert len(few.files) == MOST_FILES
    with pytest.raises(UsageProblem, match="parts"):
        form_in(form(*(part("a", b"?") for _ in range(MOST_FILES + 200))), b"x")


@NO_HANG
@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(st.sampled_from([b"--x", b"\r\n", b"--", b'form-data; name="a"', b"Content-Disposition: ", b"\0\xff"])))
def test_no_bytes_bring_the_reader_of_forms_down(pieces: list[bytes]) -> None:
    with suppress(UsageProblem):
        form_in(io.BytesIO(b"".join(pieces)), b"x")


@given(st.text())
@settings(max_examples=200, deadline=None, database=None)
def test_whatever_a_body_says_to_be_is_understood_or_told(content_type: str) -> None:
    with suppress(UsageProblem):
        kind_of(content_type)


def test_a_skill_arrives_as_it_was_sent(served: Served) -> None:
    content = {f"files/{number}.bin": bytes([number]) * 1000 for number in range(200)}
    manifest = b"---\nname: whole\ndescription: Has many files.\n---\nRead.\n"
    parts = [("files[]", (f"whole/{path}", data)) for path, data in {"SKILL.md": manifest, **content}.items()]
    skill = served.api.post(SKILLS, files=parts).json()
    archive = served.api.get(f"{SKILLS}/{skill['id']}/content").content
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {name: opened.read(name) for name in opened.namelist()} == {
            f"whole/{path}": data for path, data in {"SKILL.md": manifest, **content}.items()
        }
