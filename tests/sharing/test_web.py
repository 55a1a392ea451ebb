"""Skills from sites: archives, and indexes below ``.well-known``."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import socket
from typing import Any

import pytest

from jupyter_skills.errors import (
    InvalidArchive,
    RemoteDamaged,
    RemoteRefused,
    RemoteUnreachable,
    SkillNotFound,
    SkillsError,
    UsageProblem,
)
from jupyter_skills.sharing import Limits, fetch
from tests.conftest import NO_HANG
from tests.sharing.repository import manifest, skill, tarred, zipped
from tests.sharing.site import Answer, Handler, Request, Site

pytestmark = NO_HANG

INDEX = "/.well-known/agent-skills/index.json"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


def offer(web: Site, name: str, content: bytes, url: str, kind: str = "archive", **other: Any) -> dict[str, Any]:
    """Puts a skill on the site; gives its entry in an index."""
    web.routes[f"/.well-known/agent-skills/{url}"] = content
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return {"name": name, "type": kind, "description": "Does it.", "url": url, "digest": digest, **other}


def publish(web: Site, *entries: dict[str, Any], at: str = INDEX) -> None:
    web.routes[at] = json.dumps({"$schema": SCHEMA, "skills": entries}).encode()


async def test_an_archive_at_an_address(web: Site) -> None:
    web.routes["/x/mine.zip"] = zipped("mine", **{"a.txt": "a"})
    [came] = await fetch(f"{web.url}/x/mine.zip?sig=secret")
    assert came.skill.digest == skill("mine", **{"a.txt": "a"}).digest
    assert came.metadata == {"origin": f"{web.url}/x/mine.zip"}
    assert came.file_name == "mine.zip"
    assert web.requests[0].query == {"sig": "secret"}
    with pytest.raises(SkillNotFound, match="There is: mine"):
        await fetch(f"{web.url}/x/mine.zip#other")


@pytest.mark.parametrize("path", ["/mine.skill", "/mine.tar.gz", "/mine.tgz"])
async def test_the_bytes_say_what_kind_of_archive_it_is(web: Site, path: str) -> None:
    web.routes[path] = tarred(("mine/SKILL.md", manifest("mine").encode())) if "t" in path[6:] else zipped("mine")
    assert (await fetch(web.url + path))[0].skill.digest == skill("mine").digest


async def test_a_lone_skill_md_at_an_address(web: Site) -> None:
    web.routes["/x/SKILL.md"] = manifest("mine").encode()
    assert (await fetch(f"{web.url}/x/SKILL.md"))[0].skill.name == "mine"


@pytest.mark.parametrize("address", ["", "/", INDEX])
async def test_a_site_is_as_good_as_the_address_of_its_index(web: Site, address: str) -> None:
    publish(web, offer(web, "mine", manifest("mine").encode(), "mine/SKILL.md", "skill-md"))
    [came] = await fetch(web.url + address)
    assert came.skill.name == "mine"
    assert came.metadata["origin"] == f"{web.url}{INDEX}#mine"
    assert came.metadata["digest"].startswith("sha256:")
    assert (await fetch(came.origin))[0] == came


async def test_an_index_may_lie_below_a_base_and_hold_zips_tars_and_lone_manifests(web: Site) -> None:
    flat = tarred(("SKILL.md", manifest("two").encode()), ("a.txt", b"a"))
    publish(
        web,
        offer(web, "one", zipped("one"), "one.zip"),
        offer(web, "two", flat, "two.tar.gz"),
        offer(web, "three", manifest("three").encode(), "three/SKILL.md", "skill-md"),
        at=f"/hub/base{INDEX}",
    )
    for name in ("one.zip", "two.tar.gz", "three/SKILL.md"):
        web.routes[f"/hub/base/.well-known/agent-skills/{name}"] = web.routes[f"/.well-known/agent-skills/{name}"]
    with pytest.raises(UsageProblem, match="one, two, three"):
        await fetch(f"{web.url}/hub/base")
    assert (await fetch(f"{web.url}/hub/base#two"))[0].skill.files() == ["SKILL.md", "a.txt"]
    came = await fetch(f"{web.url}/hub/base/", everything=True)
    assert [one.skill.name for one in came] == ["one", "two", "three"]
    with pytest.raises(SkillNotFound, match="There are: one"):
        await fetch(f"{web.url}/hub/base#four")


async def test_bytes_with_another_digest_are_not_taken_nor_is_anything_else(web: Site) -> None:
    good = offer(web, "good", zipped("good"), "good.zip")
    publish(web, good, {**offer(web, "bad", zipped("bad"), "bad.zip"), "digest": good["digest"]})
    with pytest.raises(RemoteDamaged, match="not what the index promises"):
        await fetch(web.url, everything=True)
    with pytest.raises(RemoteDamaged):
        await fetch(f"{web.url}#bad")


@pytest.mark.parametrize(
    "change",
    [
        {"digest": None},
        {"digest": "md5:abc"},
        {"digest": "sha256:ABC"},
        {"url": None},
        {"name": 3},
        {"type": "wasm"},
        {"name": "other"},
        {"name": "a\x1b[2J"},
        {"url": "ftp://a.example/x.zip"},
        {"url": "file:///etc/passwd"},
        {"url": "http://a.example/x.zip"},
        {"url": "https://[x/"},
    ],
    ids=str,
)
async def test_an_entry_that_says_too_little_or_leads_astray_is_refused(web: Site, change: dict[str, Any]) -> None:
    publish(web, {**offer(web, "mine", zipped("mine"), "mine.zip"), **change})
    with pytest.raises((RemoteDamaged, UsageProblem)) as caught:
        await fetch(web.url)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "index", [b"", b"[]", b"{}", b'{"skills": 3}', b'{"skills": ["x"]}', b"[" * 100_000, b"\xff", b'{"skills": [{}]}']
)
async def test_what_is_no_index_is_refused(web: Site, index: bytes) -> None:
    web.routes[INDEX] = index
    with pytest.raises(RemoteDamaged):
        await fetch(web.url)


async def test_an_index_of_a_version_to_come_is_refused(web: Site) -> None:
    web.routes[INDEX] = json.dumps({"$schema": SCHEMA.replace("0.2.0", "0.3.0"), "skills": []}).encode()
    with pytest.raises(RemoteDamaged, match=r"version 0\.3"):
        await fetch(web.url)


async def test_an_empty_index_holds_no_skill(web: Site) -> None:
    publish(web)
    with pytest.raises(SkillNotFound):
        await fetch(web.url, everything=True)


async def test_a_site_without_an_index_says_what_else_could_be_meant(web: Site) -> None:
    with pytest.raises(RemoteRefused, match=r"status 404.*git\+"):
        await fetch(f"{web.url}/owner/repository")


async def test_what_moved_is_followed_within_its_scheme(web: Site) -> None:
    web.routes["/a.zip"] = Answer(status=302, headers={"Location": "/b.zip"})
    web.routes["/b.zip"] = zipped("mine")
    assert (await fetch(f"{web.url}/a.zip"))[0].skill.name == "mine"


@pytest.mark.parametrize("place", ["https://a.example/x.zip", "file:///etc/passwd", "ftp://a.example/x"])
async def test_but_not_to_another_scheme(web: Site, place: str) -> None:
    web.routes["/a.zip"] = Answer(status=302, headers={"Location": place})
    with pytest.raises(RemoteRefused, match="another scheme"):
        await fetch(f"{web.url}/a.zip")


async def test_nor_round_and_round(web: Site) -> None:
    web.routes["/a.zip"] = Answer(status=307, headers={"Location": "/a.zip"})
    with pytest.raises(RemoteRefused, match="on and on"):
        await fetch(f"{web.url}/a.zip")
    assert len(web.requests) < 10


async def test_credentials_go_to_their_own_site_only_and_are_not_shown(web: Site) -> None:
    place = web.url.replace("//", "//user:secret@")
    publish(web, offer(web, "mine", zipped("mine"), "mine.zip"))
    [came] = await fetch(place)
    assert [request.headers["authorization"][:5] for request in web.requests] == ["Basic"] * 2
    assert "secret" not in repr(came)
    other = web.url.replace("127.0.0.1", "localhost")
    web.routes["/a.zip"] = Answer(status=302, headers={"Location": f"{other}/b.zip"})
    web.routes["/b.zip"] = zipped("mine")
    await fetch(f"{place}/a.zip")
    assert "authorization" not in web.requests[-1].headers
    with pytest.raises(RemoteRefused) as caught:
        await fetch(f"{place}/none.zip")
    assert "secret" not in str(caught.value)


async def test_a_key_goes_to_the_site_that_was_named_only(web: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", "sk-secret")
    elsewhere = web.url.replace("127.0.0.1", "localhost")
    publish(web, offer(web, "mine", zipped("mine"), "mine.zip"))
    entry = {**offer(web, "other", zipped("other"), "other.zip"), "url": f"{elsewhere}/other.zip"}
    web.routes["/other.zip"] = zipped("other")
    await fetch(web.url, key_variable="THEIR_KEY")
    assert [request.headers.get("authorization") for request in web.requests] == ["Bearer sk-secret"] * 2
    publish(web, entry)
    web.routes["/moved.zip"] = Answer(status=302, headers={"Location": f"{elsewhere}/other.zip"})
    for address in (web.url, f"{web.url}/moved.zip"):
        [came] = await fetch(address, key_variable="THEIR_KEY")
        assert web.requests[-1].path == "/other.zip"
        assert "authorization" not in web.requests[-1].headers
        assert "sk-secret" not in repr(came)
    with pytest.raises(UsageProblem, match="--key-env"):
        await fetch("./mine", key_variable="THEIR_KEY")


async def test_a_body_without_end_is_given_up(web: Site) -> None:
    def endless(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        try:
            while not web.over.is_set():
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass

    web.stream("/a.zip", endless)
    with pytest.raises(RemoteDamaged, match="more than 1 MiB"):
        await fetch(f"{web.url}/a.zip", limits=Limits(size=1 << 20))


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nPK"])
async def test_a_body_that_never_comes_is_given_up(web: Site, sent: bytes) -> None:
    def silent(handler: Handler) -> None:
        handler.wfile.write(sent)
        web.over.wait()

    web.stream("/a.zip", silent)
    with pytest.raises(RemoteUnreachable, match="in time"):
        await fetch(f"{web.url}/a.zip", limits=Limits(seconds=0.2))


async def test_a_body_that_breaks_off_is_not_taken(web: Site) -> None:
    web.stream(
        "/a.zip", lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nPK") and None
    )
    with pytest.raises(RemoteUnreachable, match="broke off"):
        await fetch(f"{web.url}/a.zip")


async def test_compressed_bodies_are_not_asked_for_and_not_taken(web: Site) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    web.routes["/a.zip"] = Answer(bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(RemoteDamaged, match="compressed"):
        await fetch(f"{web.url}/a.zip")
    assert web.requests[0].headers["accept-encoding"] == "identity"


async def test_no_answer_at_all_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(RemoteUnreachable, match="no connection"):
        await fetch(f"http://127.0.0.1:{port}/x.zip")


async def test_a_proxy_of_the_environment_is_used(web: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", web.url)
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.delenv("no_proxy", raising=False)
    web.routes["/x.zip"] = zipped("mine")
    assert (await fetch("http://localhost:1/x.zip"))[0].skill.name == "mine"


async def test_the_words_of_a_server_are_shown_as_text(web: Site) -> None:
    web.routes["/x.zip"] = Answer(json.dumps({"error": {"message": "No\x1b[2J\nway" + "y" * 9999}}).encode(), 403)
    with pytest.raises(RemoteRefused, match="No") as caught:
        await fetch(f"{web.url}/x.zip")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("body", [b"", b"PK", b"<html>", gzip.compress(b""), gzip.compress(b"x" * 5000)])
async def test_what_is_no_archive_is_refused(web: Site, body: bytes) -> None:
    web.routes["/x.zip"] = body
    with pytest.raises(SkillsError) as caught:
        await fetch(f"{web.url}/x.zip")
    assert isinstance(caught.value, InvalidArchive)


@pytest.mark.parametrize("before", ["", "p" * 290], ids=["whole", "cut"])
async def test_a_key_that_a_site_says_again_is_not_shown(
    web: Site, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    def say_it_again(request: Request) -> Answer:
        told = request.headers["authorization"].split(" ")[1]
        words = f"{before}{told} {base64.b64decode(told + '==', validate=False)[:60].decode(errors='replace')}"
        return Answer(json.dumps({"error": {"message": words}}).encode(), 401)

    monkeypatch.setenv("THEIR_KEY", "tok-SECRET-0123456789")
    web.routes[INDEX] = web.routes["/a.zip"] = say_it_again
    with_password = web.url.replace("//", "//token:pass%20SECRET@")
    for address, key in ((web.url, "THEIR_KEY"), (f"{web.url}/a.zip", "THEIR_KEY"), (f"{with_password}/a.zip", None)):
        with pytest.raises(RemoteRefused, match=r"status 401.*…") as caught:
            await fetch(address, key_variable=key)
        shown = str(caught.value)
        assert not any(part in shown for part in ("tok-", "SECRET", "dG9r"))
