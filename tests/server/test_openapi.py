"""The OpenAPI document, and whether the server does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import count
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
import yaml
from hypothesis import strategies
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from jupyter_skills.server.handlers import VERBS, UnknownRoute
from jupyter_skills.server.routes import ROUTES
from tests.server.jupyter import TOKEN, archive_of, client, environment_in, form_of, jupyter

BASE = "/some/base/"
API = f"{BASE}jupyter-skills/api"

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def document() -> dict[str, Any]:
    text = (files("jupyter_skills.server") / "openapi.yaml").read_text("utf-8")
    read: dict[str, Any] = yaml.safe_load(text)
    return read


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("server")
    options = [f"--ServerApp.base_url={BASE}", "--SkillsExtension.well_known=True"]
    with jupyter("server", home, environment_in(home), *options) as url, client(url) as api:
        yield api


def test_it_names_the_routes_and_verbs_that_there_are_and_no_others() -> None:
    def shape(path: str) -> str:
        return re.sub(r"\{\w+\}", "{}", path)

    told = {(shape(path), verb) for path, item in document()["paths"].items() for verb in item if verb in VERBS}
    there = {
        (pattern.replace("([^/]+)", "{}").replace("\\", ""), verb)
        for pattern, handler in ROUTES
        if handler is not UnknownRoute
        for verb in VERBS
        if verb in vars(handler)
    }
    assert told == there


def test_its_paths_stand_in_order() -> None:
    paths = list(document()["paths"])
    assert paths == sorted(paths)


def test_every_operation_is_described_and_says_how_it_refuses() -> None:
    read = document()
    tags = {tag["name"] for tag in read["tags"]}
    for path, item in read["paths"].items():
        for verb in (verb for verb in item if verb in VERBS):
            operation = item[verb]
            assert operation["summary"], (verb, path)
            assert set(operation["tags"]) <= tags
            assert "403" in operation["responses"], (verb, path)
            assert ("401" in operation["responses"]) == ("/v1/" in path), (verb, path)


def test_nothing_in_it_is_unused_or_missing() -> None:
    read = document()
    text = (files("jupyter_skills.server") / "openapi.yaml").read_text("utf-8")
    referred = set(re.findall(r'"#/components/(\w+/\w+)"', text))
    there = {f"{kind}/{name}" for kind, items in read["components"].items() for name in items}
    assert referred == {name for name in there if not name.startswith("securitySchemes/")}


def test_its_schemas_are_schemas() -> None:
    for name, schema in document()["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema), name


def test_it_is_served_with_the_address_it_has_there(served: httpx.Client) -> None:
    response = served.get(f"{API}/spec.yaml")
    assert response.headers["Content-Type"].startswith("application/yaml")
    read = yaml.safe_load(response.text)
    assert read["servers"] == [{"url": BASE}]
    assert read["paths"] == document()["paths"]


@pytest.fixture(scope="module")
def kernel_id(served: httpx.Client) -> str:
    started: str = served.post(f"{BASE}api/kernels", json={"name": "python3"}).json()["id"]
    return started


@pytest.mark.timeout(175)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["apt", "inept"])
def test_the_server_does_what_it_says_whatever_is_sent(
    served: httpx.Client, kernel_id: str, mode: GenerationMode
) -> None:
    load_all_checks()
    tried: set[tuple[str, str, int]] = set()
    numbers = count(1)

    def stored(name: str) -> str:
        answer = served.post(f"{API}/skills", files=form_of(archive_of(name)), data={"visibility": "public"})
        skill_id: str = answer.json()["id"]
        served.post(f"{API}/skills/{skill_id}/versions", files=form_of(archive_of(name, body="More.")))
        return skill_id

    @hypothesis.settings(
        max_examples=20,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    @hypothesis.given(data=strategies.data())
    def hold(operation: Any, data: Any) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        # What schemas can't tell is put in by hand half of the time: ids that exist, and archives of skills.
        if mode is GenerationMode.POSITIVE and data.draw(strategies.booleans()):
            name = f"skill-{next(numbers)}"
            there = {"version": "1", "kernel_id": kernel_id, "name": "gif-maker"}
            if "skill_id" in case.path_parameters:
                there["skill_id"] = stored(name)
            case.path_parameters = {name: there[name] for name in case.path_parameters}
            if operation.path.endswith("/restore"):
                served.delete(f"{API}/skills/{there['skill_id']}")
            if case.media_type == "application/zip":
                case.body = archive_of(name)
            elif case.media_type == "multipart/form-data":
                case.body = {"files": [archive_of(name)]}
            elif operation.method == "post":
                case.body = {"default_version": "1"}
        response = case.call(
            base_url=str(served.base_url) + BASE, headers={"Authorization": f"token {TOKEN}"}, timeout=30
        )
        tried.add((operation.method, operation.path, response.status_code))
        case.validate_response(response, checks=CHECKS)

    operations = [found.ok() for found in schemathesis.openapi.from_dict(document()).get_all_operations()]
    for operation in operations:
        # Of an operation that takes nothing, nothing can be wrong.
        if mode is GenerationMode.POSITIVE or any(operation.iter_parameters()) or operation.body:
            hold(operation)
    if mode is GenerationMode.POSITIVE:
        well = {(method, path) for method, path, status in tried if status < 300}
        assert well == {(operation.method, operation.path) for operation in operations}
