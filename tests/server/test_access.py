"""Who may do what: every route and verb, on real servers with the identities and authorizers of real deployments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from jupyter_skills.server.clients.client import ClientHandler
from jupyter_skills.server.handlers import VERBS, SkillsHandler, UnknownRoute
from jupyter_skills.server.incoming.uploads import UploadHandler
from jupyter_skills.server.routes import ROUTES
from tests.server.jupyter import TOKEN, USER, archive_of, client, environment_in, form_of, jupyter

API = "/jupyter-skills/api"

TWO_PEOPLE = """
from jupyter_server.auth import IdentityProvider, User

class People(IdentityProvider):
    def get_user(self, handler):
        name = handler.request.headers.get("Authorization", "").partition(" ")[2]
        handler._token_authenticated = name in ("ann", "bob")
        return User(name) if handler._token_authenticated else None

c.ServerApp.identity_provider_class = People
"""

DENIES = """
import json
from jupyter_server.auth import Authorizer

class Denies(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        if resource != "jupyter_skills":
            return True
        with open("FOLDER/asked.jsonl", "a") as file:
            print(json.dumps([action, resource]), file=file)
        return False

c.ServerApp.authorizer_class = Denies
"""

BREAKS = """
from jupyter_server.auth import Authorizer

class Breaks(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        raise RuntimeError("between us")

c.ServerApp.authorizer_class = Breaks
"""

CHANGES_LOOKS_ONLY = """
from jupyter_server.auth import PasswordIdentityProvider

class Pretty(PasswordIdentityProvider):
    def identity_model(self, user):
        return {**super().identity_model(user), "color": "blue"}

c.ServerApp.identity_provider_class = Pretty
"""

LEGACY = """
from jupyter_server.auth.identity import LegacyIdentityProvider

c.ServerApp.identity_provider_class = LegacyIdentityProvider
"""

NAMES_EVERYBODY = """
from jupyter_server.auth import IdentityProvider, User

class Jovyan(IdentityProvider):
    def generate_anonymous_user(self, handler):
        return User("jovyan")

c.ServerApp.identity_provider_class = Jovyan
"""

NAMES_AT_LOGIN = """
from jupyter_server.auth.login import LoginFormHandler

class Login(LoginFormHandler):
    pass

c.IdentityProvider.login_handler_class = Login
"""


def serving(folder: Path, config: str = "", *more: str) -> Any:
    """A server with that configuration, as a context that gives its address."""
    (folder / "config.py").write_text(config.replace("FOLDER", str(folder)))
    options = [f"--config={folder / 'config.py'}", "--SkillsExtension.well_known=True", *more]
    return jupyter("server", folder, environment_in(folder), *options)


def walk() -> Iterator[tuple[str, str, type[SkillsHandler]]]:
    """Every route, with something in the place of its groups, and each of its verbs."""
    for pattern, handler in ROUTES:
        path = pattern.replace("([^/]+)", "skill_x").replace("\\", "")
        yield from ((path, verb, handler) for verb in VERBS if verb in vars(handler))


def refusal(handler: type[SkillsHandler], status: int = 403) -> int:
    """The status for somebody who is not known: the clients of other makers expect another."""
    return 401 if issubclass(handler, ClientHandler) and status == 403 else status


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("plain")) as url:
        yield url


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    """The clients of two users of one server."""
    with (
        serving(tmp_path_factory.mktemp("people"), TWO_PEOPLE) as url,
        client(url, "ann") as ann,
        client(url, "bob") as bob,
    ):
        yield {"ann": ann, "bob": bob}


def test_the_walk_goes_everywhere() -> None:
    assert len(list(walk())) >= 40
    assert all(any(verb in vars(handler) for verb in VERBS) for _, handler in ROUTES if handler is not UnknownRoute)


@pytest.mark.parametrize(("path", "handler"), ROUTES)
def test_every_verb_is_authenticated_and_authorized_by_itself(path: str, handler: type[SkillsHandler]) -> None:
    for verb in (verb for verb in VERBS if verb in vars(handler)):
        source = inspect.getsource(vars(handler)[verb])
        assert source.index("@web.authenticated") < source.index("@authorized") < source.index("def "), path
    inherited = [verb for verb in VERBS if verb not in vars(handler) and getattr(handler, verb) in _of_ours()]
    assert inherited == []


def _of_ours() -> list[Any]:
    return [vars(handler)[verb] for _, handler in ROUTES for verb in VERBS if verb in vars(handler)]


# Authentication


@pytest.mark.parametrize("open_by_default", [True, False])
def test_without_a_token_nothing_is_answered(tmp_path: Path, open_by_default: bool) -> None:
    option = f"--ServerApp.allow_unauthenticated_access={open_by_default}"
    with serving(tmp_path, "", option) as url, client(url, token="") as nobody, client(url, token="wrong") as stranger:
        for path, verb, handler in walk():
            for who in (nobody, stranger):
                response = who.request(verb, path, content=b"x" if verb in ("post", "put", "patch") else None)
                assert response.status_code == refusal(handler), (verb, path)
                assert verb == "head" or response.json()
        assert nobody.get("/jupyter-skills/api/no-such-thing").status_code == 403


@pytest.fixture
def browser(plain: str) -> Iterator[httpx.Client]:
    """A client that has the cookie of a login, and no token."""
    with client(plain) as visitor:
        visitor.get("/api/status")
        with client(plain, token="", cookies=dict(visitor.cookies)) as browser:
            yield browser


def forgery_token(browser: httpx.Client) -> dict[str, str]:
    """What a page of the server's own sends to show that it is one; its cookie is put into the browser."""
    login = httpx.get(browser.base_url.join("/login"))
    browser.cookies.set("_xsrf", login.cookies["_xsrf"])
    return {"X-XSRFToken": login.cookies["_xsrf"]}


def test_a_cookie_alone_changes_nothing(browser: httpx.Client) -> None:
    assert browser.get(f"{API}/skills").status_code == 200
    for path, verb, handler in walk():
        if verb not in ("get", "head"):
            response = browser.request(verb, path)
            assert response.status_code == 403, (verb, path)
            assert "_xsrf" in response.text, handler


def test_a_foreign_page_gets_nothing_with_the_users_cookie(browser: httpx.Client) -> None:
    token = forgery_token(browser)
    foreign = {"Origin": "https://elsewhere.example"}
    for path, verb, _ in walk():
        # Jupyter's own answer to such a page
        assert browser.request(verb, path, headers={**token, **foreign}).status_code in (403, 404), (verb, path)
    assert browser.get(f"{API}/skills", headers=foreign).status_code == 404
    assert browser.get(f"{API}/skills").json()["data"] == []


def test_a_page_of_jupyters_own_may_change_things(browser: httpx.Client) -> None:
    token = forgery_token(browser)
    sent = browser.post(f"{API}/skills", files=form_of(archive_of("from-a-page")), headers=token)
    assert sent.status_code == 201, sent.text
    assert browser.delete(f"{API}/skills/{sent.json()['id']}", headers=token).status_code == 200


# Authorisation


def test_an_authorizer_is_asked_for_the_right_action_each_time(tmp_path: Path) -> None:
    with serving(tmp_path, DENIES) as url, client(url) as api:
        asked = tmp_path / "asked.jsonl"
        for path, verb, _ in walk():
            asked.write_text("")
            response = api.request(verb, path)
            assert response.status_code == 403, (verb, path, response.text)
            action = "read" if verb in ("get", "head") else "write"
            said = {tuple(json.loads(line)) for line in asked.read_text().splitlines()}
            assert said == {(action, "jupyter_skills")}, (verb, path)


def test_a_failure_is_told_without_its_details(tmp_path: Path) -> None:
    with serving(tmp_path, BREAKS) as url, client(url) as api:
        for method, path in (("GET", "/skills"), ("GET", "/search?q=x"), ("POST", "/skills")):
            response = api.request(method, API + path)
            assert response.status_code == 500
            assert response.json()["message"] == "The server failed at this"
            assert "between us" not in response.text
            assert "Traceback" not in response.text


# Whose skills


def owner_seen(url: str, **more: Any) -> str:
    with client(url, **more) as api:
        sent = api.post(f"{API}/skills", files=form_of(archive_of("mine")))
        assert sent.status_code == 201, sent.text
        owner: str = sent.json()["owner"]
        return owner


@pytest.mark.parametrize("config", ["", CHANGES_LOOKS_ONLY, LEGACY], ids=["stock", "looks", "legacy"])
def test_names_that_a_server_makes_up_are_no_owners(tmp_path: Path, config: str) -> None:
    with serving(tmp_path, config) as url:
        assert owner_seen(url) == USER


def test_a_name_that_a_provider_gives_is_the_owner(tmp_path: Path) -> None:
    with serving(tmp_path, NAMES_EVERYBODY) as url:
        assert owner_seen(url) == "jovyan"


def test_a_login_page_of_another_maker_may_know_people(tmp_path: Path) -> None:
    with serving(tmp_path, NAMES_AT_LOGIN) as url:
        assert owner_seen(url) != USER


def test_each_sees_their_own_and_what_is_shared(people: dict[str, httpx.Client]) -> None:
    ann, bob = people["ann"], people["bob"]
    ids = {
        visibility: ann.post(
            f"{API}/skills", files=form_of(archive_of(f"anns-{visibility}")), data={"visibility": visibility}
        ).json()["id"]
        for visibility in ("private", "shared", "public")
    }
    listed = {skill["id"] for skill in bob.get(f"{API}/skills?limit=1000").json()["data"]}
    assert listed >= {ids["shared"], ids["public"]}
    assert ids["private"] not in listed
    found = [hit["skill"]["id"] for hit in bob.get(f"{API}/search?q=anns&limit=100").json()["data"]]
    assert set(found) >= {ids["shared"], ids["public"]}
    assert ids["private"] not in found
    assert bob.get(f"{API}/skills/{ids['shared']}/content").status_code == 200
    assert bob.get(f"{API}/skills/{ids['private']}/content").status_code == 404
    for method, rest in (("DELETE", ""), ("PATCH", ""), ("DELETE", "/versions/1"), ("POST", "/versions")):
        body = {"files": form_of(archive_of("anns-shared"))} if method == "POST" else {"json": {"title": "Bob's"}}
        refused = bob.request(method, f"{API}/skills/{ids['shared']}{rest}", **(body if method != "DELETE" else {}))
        assert (refused.status_code, refused.json()["reason"]) == (403, "NotYours")
    assert bob.post(f"{API}/skills", files=form_of(archive_of("anns-private"))).status_code == 201


def test_what_others_keep_private_is_answered_like_what_is_missing(people: dict[str, httpx.Client]) -> None:
    private = people["ann"].post(f"{API}/skills", files=form_of(archive_of("hidden"))).json()["id"]
    missing = "skill_" + "0" * (len(private) - len("skill_"))
    compared = 0
    for pattern, handler in ROUTES:
        if not re.search(r"(?<!/kernels/\(\[\^/]\+\))/(agent-)?skills/\(", pattern):
            continue
        for verb in (verb for verb in VERBS if verb in vars(handler)):
            answers = []
            for skill_id in (private, missing):
                path = pattern.replace("([^/]+)", skill_id, 1).replace("([^/]+)", "1").replace("\\", "")
                if issubclass(handler, UploadHandler) and verb == "post":
                    sent: dict[str, Any] = {"files": form_of(archive_of("hidden"))}
                else:
                    sent = {"json": {"default_version": "1"}} if verb in ("post", "patch") else {}
                response = people["bob"].request(verb, path, **sent)
                assert response.status_code == 404, (verb, path, response.text)
                answers.append(_without_what_varies(response, skill_id))
            assert answers[0] == answers[1]
            compared += 1
    assert compared >= 25
    for after in (private, missing):
        response = people["bob"].get(f"{API}/skills", params={"after": after})
        assert response.status_code == 400
    assert private in {skill["id"] for skill in people["ann"].get(f"{API}/skills?limit=1000").json()["data"]}


def _without_what_varies(response: httpx.Response, skill_id: str) -> tuple[str, dict[str, str]]:
    text = re.sub(r"req_[0-9a-f]+", "REQUEST", response.text.replace(skill_id, "ID"))
    varying = ("date", "set-cookie", "request-id", "x-request-id")
    return text, {name: value for name, value in response.headers.items() if name not in varying}


def test_the_token_is_the_only_thing_that_a_plain_server_knows(plain: str) -> None:
    assert owner_seen(plain, token=TOKEN) == USER
