"""``drop_in``: what LiteLLM's documentation of its skills shows, with one import changed.

Source: ``litellm/llms/litellm_proxy/skills/README.md``. Models are scripted.
"""

from __future__ import annotations

import ast
import base64
import inspect
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills import Skill, SkillStore, install_litellm_hook, remove_litellm_hook
from jupyter_skills.agent.sync import run_apart
from jupyter_skills.litellm_hook import drop_in
from jupyter_skills.litellm_hook import drop_in as litellm
from jupyter_skills.models.litellm_import import imported
from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.conftest import until, write_skill
from tests.sharing.site import Answer, Site, site

HELLO = [{"role": "user", "content": "Hello"}]
CONTAINER = {"skills": [{"type": "custom", "skill_id": "litellm:data-analysis", "version": "latest"}]}
ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/litellm.md", "docs/litellm-migration.md")
SERVER = "localhost:"  # those blocks need a proxy or a Jupyter server; they have tests of their own
RUN = "python /skills/data-analysis/scripts/run.py"
FORMS = ("create_skill", "list_skills", "get_skill", "delete_skill")


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of the test's own, of which ``ann`` is the user."""
    monkeypatch.setenv("JUPYTER_SKILLS_DB", f"sqlite:///{tmp_path / 'skills.db'}")
    monkeypatch.setenv("JUPYTER_SKILLS_USER", "ann")


@pytest.fixture
def folder(workdir: Path) -> Path:
    """A skill with a script in the working folder, and a zip of it beside it."""
    folder = write_skill(workdir, "data-analysis", description="Analyses data.", body="Run scripts/run.py.")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.py").write_text("print('ran')\n")
    (workdir / "data-analysis.zip").write_bytes(Skill.from_path(folder).to_zip())
    return folder


@pytest.fixture
def packed(folder: Path) -> Path:
    """The zip."""
    return folder.with_suffix(".zip")


@pytest.fixture
def archive(packed: Path) -> bytes:
    """Its bytes."""
    return packed.read_bytes()


@pytest.fixture
def anthropic() -> Iterator[Site]:
    """A server that answers as Anthropic's would."""
    told = {"id": "skill_01", "source": "custom", "created_at": "2026-01-01", "updated_at": "2026-01-01"}
    with site() as place:
        place.routes["/v1/skills"] = Answer(json.dumps({**told, "data": [told], "has_more": False}).encode())
        place.routes["/v1/skills/skill_01"] = Answer(json.dumps(told).encode())
        yield place


def reach(model: ScriptedModel) -> dict[str, Any]:
    return {"model": "openai/scripted", "api_base": model.url, "api_key": "k"}


# The examples of the documentation.


def test_the_example_that_creates_a_skill(folder: Path) -> None:
    skill = litellm.create_skill(
        display_title="Analysing data",
        files=[open("data-analysis.zip", "rb")],  # noqa: SIM115 - as the documentation has it
        custom_llm_provider="litellm_proxy",
    )
    assert skill.id.startswith("skill_")


async def test_the_sync_form_works_where_a_loop_runs_as_in_jupyter(archive: bytes) -> None:
    skill = litellm.create_skill(files=[io.BytesIO(archive)], custom_llm_provider="litellm_proxy")
    assert (await SkillStore().get(skill.id)).name == "data-analysis"


async def test_the_examples_of_the_handler(archive: bytes) -> None:
    skill = await litellm.acreate_skill(
        display_title="Plots", files=[("plots.zip", archive, "application/zip")], user_id="ben"
    )
    stored = await SkillStore(user="ben").get(skill.id)
    assert (stored.owner, stored.title, stored.file_name, stored.file_type) == (
        "ben",
        "Plots",
        "plots.zip",
        "application/zip",
    )
    skills = await litellm.alist_skills(limit=10, user_id="ben")
    assert [one.id for one in skills.data] == [skill.id]
    assert (await litellm.aget_skill(skill_id=skill.id, user_id="ben")).display_title == "Plots"
    await litellm.adelete_skill(skill_id=skill.id, user_id="ben")
    assert (await litellm.alist_skills(user_id="ben")).data == []


async def test_the_example_of_the_transformation_handler(archive: bytes) -> None:
    skill = await litellm.acreate_skill(display_title="Plots", files=[io.BytesIO(archive)])
    assert skill.display_title == "Plots"


def test_the_documented_layout_of_a_zip_is_taken_and_its_front_matter_read() -> None:
    text = "---\nname: my-skill\ndescription: Plots growth.\n---\n\n# Plots\n\nPlot it.\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("my-skill/SKILL.md", text)
    skill = litellm.create_skill(files=[buffer.getvalue()])
    assert (skill.display_title, skill.description) == ("my-skill", "Plots growth.")


@pytest.mark.docker
def test_the_example_that_uses_a_skill_with_any_provider(folder: Path, model: ScriptedModel) -> None:
    loads, runs = Call("load_skill", {"name": "data-analysis"}), Call("run_shell", {"command": RUN})
    model.add(Turn("", [loads]), Turn("", [runs]), Turn("Analysed."))
    skill = litellm.create_skill(files=[folder], custom_llm_provider="litellm_proxy")
    response = litellm.completion(
        messages=[{"role": "user", "content": "What stands out in these data?"}],
        container={"skills": [{"type": "custom", "skill_id": f"litellm:{skill.id}"}]},
        **reach(model),
    )
    assert response.choices[0].message.content == "Analysed."
    assert "ran" in model.requests[2].body["messages"][-1]["content"]


@pytest.mark.docker
async def test_the_example_of_one_request_that_returns_files(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("run_python", {"code": "open('ball.gif', 'wb').write(b'GIF89a')"})]), Turn("There it is."))
    skill = await litellm.acreate_skill(files=[folder])
    response = await litellm.acompletion(
        messages=[{"role": "user", "content": "Make a GIF of a ball that bounces"}],
        container={"skills": [{"type": "custom", "skill_id": f"litellm:{skill.id}"}]},
        **reach(model),
    )
    (made,) = response._litellm_generated_files
    assert (made["name"], made["size"]) == ("ball.gif", 6)
    assert base64.b64decode(made["content_base64"]) == b"GIF89a"


@pytest.mark.docker
async def test_the_examples_of_our_own_pages_run_as_they_are_printed(
    archive: bytes, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, base in (("OPENAI", model.url), ("ANTHROPIC", model.root)):
        monkeypatch.setenv(f"{name}_API_BASE", base)
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    ball = Call("run_python", {"code": "open('ball.gif', 'wb').write(b'GIF89a')"})
    weather = Call("get_weather", {})
    for _ in range(4):
        model.add(Turn("", [ball]), Turn("There it is."))
    model.add(Turn("", [weather]), Turn("", [Call("load_skill", {"name": "gif-maker"}), weather]), Turn("It is sunny."))
    model.add(Turn("Analysed."))
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    blocks = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if SERVER not in block]
    names: dict[str, Any] = {"zip_bytes": archive}
    try:
        for block in blocks:
            code = compile(block, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if (waiting := eval(code, names)) is not None:
                await waiting
    finally:
        remove_litellm_hook()
    assert len(model.requests) == 12
    assert names["message"]["content"][-1]["text"] == "It is sunny."
    kinds = [[block["type"] for block in request["content"]] for request in names["messages"][1:]]
    assert kinds == [["tool_use"], ["tool_result"], ["tool_use", "tool_use"], ["tool_result"], ["tool_result"]]
    assert names["response"].choices[0].message.content == "Analysed."
    printed = capsys.readouterr().out
    assert "There it is.\nball.gif image/gif 6 8\n" in printed
    assert printed.count("ball.gif") >= 3, "whole, as a dictionary, in a stream"
    assert re.search("^stored as skill_", printed, re.M)


# Calls with skills.


async def test_a_call_without_skills_is_litellms_own(model: ScriptedModel) -> None:
    model.add(Turn("One."), Turn("Two."))
    for response in (
        litellm.completion(messages=HELLO, **reach(model)),
        await litellm.acompletion(messages=HELLO, **reach(model)),
    ):
        assert not hasattr(response, "_litellm_generated_files")
    assert all("tools" not in request.body for request in model.requests)


async def test_a_sync_call_with_skills_works_where_a_loop_runs_as_in_jupyter(
    folder: Path, model: ScriptedModel
) -> None:
    model.add(Turn("", [Call("load_skill", {"name": "data-analysis"})]), Turn("Read it."))
    litellm.create_skill(files=[folder])
    response = litellm.completion(messages=HELLO, container=CONTAINER, **reach(model))
    assert response.choices[0].message.content == "Read it."
    assert "Run scripts/run.py." in model.requests[1].body["messages"][-1]["content"]


def test_a_sync_stream_tells_the_text_as_it_comes(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("A text in several pieces."))
    litellm.create_skill(files=[folder])
    chunks = list(litellm.completion(messages=HELLO, container=CONTAINER, stream=True, **reach(model)))
    texts = [text for chunk in chunks if (text := chunk.choices[0].delta.content)]
    assert "".join(texts) == "A text in several pieces."
    assert len(texts) > 1
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_messages_in_anthropics_shape_take_skills_too(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("load_skill", {"name": "data-analysis"})]), Turn("Read it."))
    litellm.create_skill(files=[folder])
    response = litellm.anthropic.messages.create(
        model="anthropic/scripted", api_base=model.root, api_key="k", max_tokens=99, messages=HELLO, container=CONTAINER
    )
    assert (response["content"][-1]["text"], response["stop_reason"]) == ("Read it.", "end_turn")
    assert response["_litellm_generated_files"] == []


def test_a_sync_stream_in_anthropics_shape_is_one_message(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("", [Call("load_skill", {"name": "data-analysis"})]), Turn("Read it."))
    litellm.create_skill(files=[folder])
    reached = {"model": "anthropic/scripted", "api_base": model.root, "api_key": "k", "max_tokens": 99}
    pieces = list(litellm.anthropic.messages.create(messages=HELLO, container=CONTAINER, stream=True, **reached))
    kinds = [line.removeprefix("event: ") for line in b"".join(pieces).decode().splitlines() if "event: " in line]
    assert (kinds[0], kinds[-1], kinds.count("message_delta")) == ("message_start", "message_stop", 1)


@pytest.mark.docker
def test_leaving_a_sync_stream_ends_its_sandbox(
    folder: Path, model: ScriptedModel, containers: Callable[..., list[str]]
) -> None:
    before = containers()
    model.add(Turn("Starting", [Call("run_python", {"code": "1"})]), Turn("A text in several pieces.", hold_after=2))
    litellm.create_skill(files=[folder])
    chunks = litellm.completion(messages=HELLO, container=CONTAINER, stream=True, **reach(model))
    next(chunk for chunk in chunks if "A text" in (chunk.choices[0].delta.content or ""))
    assert len(containers()) == len(before) + 1
    chunks.close()
    until(lambda: containers() == before)


async def test_an_installed_hook_takes_these_calls_up_with_its_own_limits(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("Reading it.", [Call("load_skill", {"name": "data-analysis"})]))
    await litellm.acreate_skill(files=[folder])
    install_litellm_hook(max_steps=1)
    try:
        response = await litellm.acompletion(messages=HELLO, container=CONTAINER, **reach(model))
    finally:
        remove_litellm_hook()
    assert (response._jupyter_skills["stopped_by"], len(model.requests)) == ("max_steps", 1)


async def test_litellms_own_calls_are_left_alone_by_those_of_the_drop_in(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("With."), Turn("Without."))
    litellm.create_skill(files=[folder])
    whole, native = await imported(), {"skills": [{"type": "custom", "skill_id": "litellm:data-analysis"}]}
    await litellm.acompletion(messages=HELLO, container=CONTAINER, **reach(model))
    await whole.acompletion(messages=HELLO, container=native, drop_params=True, **reach(model))
    assert ["tools" in request.body for request in model.requests] == [True, False]


@pytest.mark.parametrize(
    ("container", "says"),
    [
        ({"skills": [{"type": "custom", "skill_id": "litellm:missing"}]}, "There is no skill 'litellm:missing'"),
        ({"skills": [{"type": "anthropic", "skill_id": "pptx"}]}, "Only Anthropic's own API has the skills 'pptx'"),
        ({"skills": [{}]}, "names no skill_id"),
    ],
)
async def test_a_skill_that_can_t_be_had_is_a_bad_request_before_anything_is_sent(
    model: ScriptedModel, container: Any, says: str
) -> None:
    with pytest.raises(litellm.BadRequestError, match=says):
        litellm.completion(messages=HELLO, container=container, **reach(model))
    assert model.requests == []


# What is given back.


async def test_what_comes_back_is_of_litellms_own_classes_with_every_field_filled(folder: Path) -> None:
    shapes = (await imported()).types.llms.anthropic_skills
    made = await litellm.acreate_skill(files=[folder], display_title="Data")
    assert type(made) is shapes.Skill
    stored = (await SkillStore().get(made.id)).as_json()
    facts = made.model_dump(exclude={"search_score"})
    assert facts == {name: stored[name] for name in facts if name != "type"} | {"type": "skill"}
    assert (made.latest_version, made.source, made.description) == ("1", "custom", "Analyses data.")
    assert type(await litellm.alist_skills()) is shapes.ListSkillsResponse
    gone = await litellm.adelete_skill(made.id)
    assert type(gone) is shapes.DeleteSkillResponse
    assert (gone.id, gone.type) == (made.id, "skill_deleted")


def test_pages_hold_each_skill_once_newest_first(workdir: Path) -> None:
    for number in range(5):
        litellm.create_skill(files=[write_skill(workdir, f"skill-{number}")])
    titles, page, more = [], None, True
    while more:
        found = litellm.list_skills(limit=2, page=page)
        titles.append([one.display_title for one in found.data])
        page, more = found.next_page, found.has_more
    assert titles == [["skill-4", "skill-3"], ["skill-2", "skill-1"], ["skill-0"]]
    assert page is None


def test_a_list_tells_sources_apart_and_takes_its_words_from_extra_query_too(folder: Path) -> None:
    litellm.create_skill(files=[folder])
    assert len(litellm.list_skills(source="custom").data) == 1
    assert litellm.list_skills(extra_query={"source": "anthropic"}).data == []


@pytest.mark.parametrize("spelling", ["{}", "litellm:{}", "litellm_{}"])
def test_an_id_may_be_spelled_as_the_documentation_or_as_the_code_has_it(folder: Path, spelling: str) -> None:
    made = litellm.create_skill(files=[folder])
    assert litellm.get_skill(spelling.format(made.id)).id == made.id
    assert litellm.delete_skill(spelling.format(made.id)).id == made.id


def test_a_skill_can_be_had_by_its_name(folder: Path) -> None:
    made = litellm.create_skill(files=[folder])
    assert litellm.get_skill("data-analysis").id == litellm.get_skill("litellm:data-analysis").id == made.id


@pytest.mark.parametrize("name", [*FORMS, *(f"a{name}" for name in FORMS)])
async def test_each_function_takes_the_parameters_that_litellms_takes(name: str) -> None:
    theirs = inspect.signature(getattr(await imported(), name)).parameters.values()
    ours = inspect.signature(getattr(drop_in, name)).parameters.values()
    assert [(one.name, one.kind, one.default) for one in ours] == [(one.name, one.kind, one.default) for one in theirs]
    assert getattr(drop_in, name).__name__ == name


# The forms of files.


def test_files_in_every_form_become_the_same_skill(folder: Path, packed: Path) -> None:
    text, script = folder / "SKILL.md", folder / "scripts/run.py"
    with text.open("rb") as open_text, script.open("rb") as open_script, packed.open("rb") as open_zip:
        forms: dict[str, Any] = {
            "a zip's path": [packed],
            "its path as text": [str(packed)],
            "by itself, not in a list": packed,
            "a zip that is open": [open_zip],
            "a zip's bytes": [packed.read_bytes()],
            "a zip in a tuple": [("x.zip", packed.read_bytes())],
            "a path in a tuple": [("x.zip", packed, "application/zip")],
            "a folder": [folder],
            "paths": [script, text],
            "open files": [open_text, open_script],
            "tuples below a folder": [
                ("data-analysis/SKILL.md", text.read_bytes(), "text/markdown"),
                ("data-analysis/scripts/run.py", script.read_text()),
            ],
            "tuples below none": [("SKILL.md", io.BytesIO(text.read_bytes())), ("scripts/run.py", script)],
        }
        digests = {}
        for form, files in forms.items():
            made = litellm.create_skill(files=files)
            digests[form] = run_apart(SkillStore().version, made.id).digest
            litellm.delete_skill(made.id)
    assert digests == dict.fromkeys(forms, Skill.from_path(folder).digest)


async def test_files_stay_open_and_a_skill_of_files_has_the_name_of_their_folder(folder: Path) -> None:
    with (folder / "SKILL.md").open("rb") as text, (folder / "scripts/run.py").open("rb") as script:
        made = await litellm.acreate_skill(files=[text, script])
        assert (text.closed, script.closed) == (False, False)
    stored = await SkillStore().get(made.id)
    assert (stored.file_name, stored.file_type) == ("data-analysis", None)


async def test_what_is_to_be_kept_with_a_skill_goes_into_extra_body(folder: Path) -> None:
    made = await litellm.acreate_skill(files=[folder], extra_body={"metadata": {"team": "plants"}})
    assert (await SkillStore().get(made.id)).metadata == {"team": "plants"}


async def test_what_matters_only_on_a_wire_is_taken_and_changes_nothing(folder: Path) -> None:
    made = await litellm.acreate_skill(files=[folder], extra_headers={"a": "b"}, timeout=1e-9)
    assert (await litellm.aget_skill(made.id, extra_headers={"a": "b"}, timeout=1e-9)).id == made.id


# Mistakes.


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"files": None}, "No files were given"),
        ({"files": []}, "No files were given"),
        ({"files": [b"no zip"]}, "The name '' is not that of a file"),
        ({"files": [3]}, "int is no kind of file"),
        ({"files": ["missing.zip"]}, "There is no file missing.zip"),
        ({"files": [io.StringIO("text")]}, "A file is open as text"),
        ({"files": [("SKILL.md",)]}, "A tuple among the files has no name and content"),
        ({"files": [("../SKILL.md", b"---\nname: a\n---")]}, "could lead elsewhere"),
        ({"files": [("a.txt", b"no skill"), ("b.txt", b"none")]}, "SKILL.md"),
        ({"files": [("SKILL.md", b"---\nname: Bad Name\ndescription: x\n---\nx")]}, "takes no skill with such a name"),
        ({"files": [("SKILL.md", b"no front matter")]}, "SKILL.md"),
        ({"description": "Another than in its SKILL.md"}, "The store takes no 'description'"),
        ({"extra_body": {"instructions": "Others"}}, "The store takes no 'instructions'"),
        ({"api_base": "http://localhost"}, "The store takes no 'api_base'"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_makes_no_skill_is_a_bad_request_in_one_line(given: dict[str, Any], says: str) -> None:
    text = b"---\nname: fine\ndescription: Fine.\n---\nDo it."
    with pytest.raises(litellm.BadRequestError, match=r"^[^\n]*$") as caught:
        await litellm.acreate_skill(**{"files": [("SKILL.md", text)], **given})
    assert says in str(caught.value)
    assert (await litellm.alist_skills()).data == []


async def test_a_second_skill_of_a_name_is_a_bad_request(folder: Path) -> None:
    await litellm.acreate_skill(files=[folder])
    with pytest.raises(litellm.BadRequestError, match="data-analysis"):
        await litellm.acreate_skill(files=[folder])


@pytest.mark.parametrize(
    "given", [{"limit": 0}, {"limit": 1001}, {"page": "nonsense"}, {"extra_query": {"order": "x"}}]
)
def test_a_list_that_makes_no_sense_is_a_bad_request(given: dict[str, Any]) -> None:
    with pytest.raises(litellm.BadRequestError):
        litellm.list_skills(**given)


@pytest.mark.parametrize("call", [litellm.get_skill, litellm.delete_skill])
@pytest.mark.parametrize("skill_id", ["skill_missing", "litellm:missing", "", None])
def test_a_skill_that_is_not_there_is_a_bad_request(call: Any, skill_id: Any) -> None:
    with pytest.raises(litellm.BadRequestError):
        call(skill_id)


def test_another_users_skill_is_as_if_it_were_not_there(folder: Path) -> None:
    made = litellm.create_skill(files=[folder], user_id="bob")
    for call in (litellm.get_skill, litellm.delete_skill):
        with pytest.raises(litellm.BadRequestError, match="no skill"):
            call(made.id)
    assert litellm.list_skills().data == []


# Everything else is litellm's.


def test_another_provider_is_litellms_to_reach(packed: Path, anthropic: Site) -> None:
    reach = {"custom_llm_provider": "anthropic", "api_base": anthropic.url, "api_key": "k"}
    with packed.open("rb") as file:
        made = litellm.create_skill(display_title="Data", files=[("a.zip", file, "application/zip")], **reach)
    assert made.id == "skill_01"
    assert litellm.get_skill("skill_01", **reach).id == "skill_01"
    assert [one.id for one in litellm.list_skills(**reach).data] == ["skill_01"]
    assert [request.method for request in anthropic.requests] == ["POST", "GET", "GET"]
    assert litellm.list_skills().data == [], "nothing of it is in the store"


def test_importing_it_imports_no_litellm_and_a_script_ends_without_a_word(folder: Path, model: ScriptedModel) -> None:
    model.add(Turn("Read it."))
    script = f"""
import sys
from jupyter_skills.litellm_hook import drop_in as litellm
print("litellm" in sys.modules)
skill = litellm.create_skill(files=["data-analysis.zip"])
response = litellm.completion(messages={HELLO!r}, container={CONTAINER!r}, **{reach(model)!r})
print(response.choices[0].message.content)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\nRead it.\n", "")


async def test_what_it_has_not_itself_is_litellms() -> None:
    whole = await imported()
    assert litellm.RateLimitError is whole.RateLimitError
    assert litellm.token_counter is whole.token_counter
    assert {"RateLimitError", "create_skill"} <= set(dir(litellm))
    with pytest.raises(AttributeError):
        litellm.nonsense  # noqa: B018


async def test_a_setting_that_is_made_here_is_litellms() -> None:
    whole = await imported()
    before = whole.drop_params
    try:
        litellm.drop_params = not before
        assert whole.drop_params is not before
        assert "drop_params" not in vars(drop_in)
    finally:
        litellm.drop_params = before


async def test_no_name_of_its_own_hides_a_setting_of_litellms() -> None:
    whole = await imported()
    own = {name for name in vars(drop_in) if not name.startswith("_")}
    hidden = {name for name in own if hasattr(whole, name) and getattr(whole, name) is not vars(drop_in)[name]}
    assert hidden == {*FORMS, *(f"a{name}" for name in FORMS), "completion", "acompletion", "anthropic"}
