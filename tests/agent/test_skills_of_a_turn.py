"""What a turn makes of skills: tools that appear, instructions that are given once, files that change meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_skills import Skill
from jupyter_skills.agent.events import CallFinished, Notice
from jupyter_skills.agent.router import Router
from jupyter_skills.store.loaded import LoadedSkill
from jupyter_skills.testing import Call, Turn
from tests.agent.conftest import Talk
from tests.conftest import write_skill

LOAD = Turn("", [Call("load_skill", {"name": "web"})])
MANIFEST = """---
name: web
description: Fetches pages.
tools:
  fetch:
    description: Fetches a page.
    script: fetch.py
    args:
      url: string
      depth: {type: integer, default: 1}
---
Use fetch.
"""


@pytest.fixture
def web(tmp_path: Path) -> Skill:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "SKILL.md").write_text(MANIFEST)
    (folder / "fetch.py").write_text(
        "import helper, os, sys\nprint(helper.NAME, os.getcwd(), sys.argv[1], sys.argv[2])\n"
        "open('page.txt', 'w').write('hi')\n"
    )
    (folder / "helper.py").write_text("NAME = 'helper of web'\n")
    (folder / "tools.py").write_text(
        "from jupyter_skills import tool\nimport helper\n\n\n@tool\ndef add(a: int, b: int = 2) -> int:\n"
        '    """Adds."""\n    print(helper.NAME)\n    return a + b\n'
    )
    return Skill.from_path(folder)


@pytest.mark.docker
async def test_tools_of_a_skill_appear_once_it_is_loaded_and_run_in_the_sandbox(
    talk: Talk, web: Skill, isolated: Router
) -> None:
    talk.model.add(
        LOAD,
        Turn("", [Call("web__fetch", {"url": "page"}), Call("web__add", {"a": 40})]),
        Turn("Done."),
    )
    answer = await talk.ask(skills=[web], router=isolated)
    own = ["load_skill", "read_skill_file", "run_python", "run_shell"]
    assert talk.tools(0) == own
    assert talk.tools(1) == [*own, "web__fetch", "web__add"]
    fetched, added = (message["content"] for message in talk.sent()[-2:])
    assert fetched == (
        "web__fetch: ok\n\nhelper of web /skills/web page 1\n\n"
        "Files made, and shown to the user:\n- page.txt (text/plain, 2 bytes)"
    )
    assert added == "web__add: ok\n\nhelper of web\n42"
    assert [file.path for file in answer.files] == ["page.txt"]
    assert all(web.digest in run.code and run.place == "docker" for run in answer.code)


async def test_arguments_are_checked_before_anything_runs(talk: Talk, web: Skill, isolated: Router) -> None:
    wrong: list[dict[str, Any]] = [{}, {"url": 3}, {"url": "x", "depth": "deep"}, {"url": "x", "more": 1}]
    wrong.append({"url": "--help"})
    talk.model.add(LOAD, Turn("", [Call("web__fetch", arguments) for arguments in wrong]), Turn("Sorry."))
    answer = await talk.ask(skills=[web], router=isolated)
    said = [message["content"] for message in talk.sent()[-5:]]
    assert "'url' is a required property" in said[0]
    assert "url: 3 is not of type 'string'" in said[1]
    assert "depth: 'deep' is not of type 'integer'" in said[2]
    assert "'more' was unexpected" in said[3]
    assert "url: the script could take '--help' for an option" in said[4]
    assert all(text.startswith("Error: web__fetch did not run.") for text in said)
    assert answer.code == ()


async def test_a_tool_is_not_there_before_its_skill_is_loaded_nor_where_no_code_runs(talk: Talk, web: Skill) -> None:
    talk.model.add(Turn("", [Call("web__add", {"a": 1})]), LOAD, Turn("Ok."))
    await talk.ask(skills=[web])
    assert "there is no tool 'web__add'" in talk.sent(1)[-1]["content"]
    assert talk.tools() == ["load_skill", "read_skill_file"]


async def test_what_was_loaded_stays_loaded_in_the_conversation_and_is_not_said_twice(talk: Talk, web: Skill) -> None:
    talk.model.add(LOAD, LOAD, Turn("Ok."))
    await talk.ask(skills=[web])
    assert talk.sent()[-1]["content"] == "You have the instructions of 'web' already; they have not changed."
    talk.model.add(LOAD, Turn("Ok."))
    await talk.ask(skills=[web])
    assert "already" in talk.sent()[-1]["content"]
    assert str(talk.sent()).count("Use fetch.") == 1


async def test_a_skill_that_changes_is_seen_at_the_next_turn_and_has_to_be_loaded_again(talk: Talk, web: Skill) -> None:
    assert web.folder is not None
    talk.model.add(LOAD, Turn("Ok."))
    await talk.ask(skills=[web])
    (web.folder / "SKILL.md").write_text(MANIFEST.replace("Use fetch.", "Use it well."))
    talk.model.add(LOAD, Turn("Ok."))
    await talk.ask(skills=[web])
    assert "load them again before you use them: web." in talk.sent(2)[0]["content"]
    assert "Use it well." in talk.sent()[-1]["content"]


async def test_one_turn_sees_one_snapshot(talk: Talk, web: Skill) -> None:
    assert web.folder is not None
    file = web.folder / "helper.py"
    talk.on_event = lambda event: isinstance(event, CallFinished) and file.write_text("NAME = 'changed'\n")
    talk.model.add(LOAD, Turn("", [Call("read_skill_file", {"skill": "web", "path": "helper.py"})]), Turn("Ok."))
    await talk.ask(skills=[web])
    assert talk.sent()[-1]["content"] == "NAME = 'helper of web'\n"
    assert file.read_text() == "NAME = 'changed'\n"


async def test_a_pinned_skill_has_its_tools_from_the_first_request_on(talk: Talk, web: Skill, isolated: Router) -> None:
    talk.model.add(Turn("", [Call("load_skill", {"name": "web"})]), Turn("Ok."))
    await talk.ask(skills=[LoadedSkill(web, pinned=True)], router=isolated)
    assert "web__fetch" in talk.tools(0)
    assert "already" in talk.sent()[-1]["content"]


@pytest.mark.parametrize(
    ("allowed", "offered"),
    [
        ("Read Grep", []),
        ("Bash(git:*), Read", ["run_python", "run_shell"]),
        ("[Python]", ["run_python"]),
        ("", ["run_python", "run_shell"]),
    ],
)
async def test_allowed_tools_only_narrow_what_is_offered(
    talk: Talk, tmp_path: Path, isolated: Router, allowed: str, offered: list[str]
) -> None:
    folder = write_skill(tmp_path, "narrow")
    text = (folder / "SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text.replace("\n---\n", f"\nallowed-tools: {allowed}\n---\n", 1))
    talk.settings.disclosure = "progressive"
    talk.model.add(Turn("", [Call("load_skill", {"name": "narrow"})]), Turn("Ok."))
    await talk.ask(skills=[Skill.from_path(folder)], router=isolated)
    assert talk.tools(0)[2:] == ["run_python", "run_shell"], "until it is loaded it says nothing"
    assert talk.tools(1)[2:] == offered


async def test_a_file_is_found_by_the_path_that_code_knows_it_by(talk: Talk, web: Skill, isolated: Router) -> None:
    talk.model.add(Turn("", [Call("read_skill_file", {"skill": "web", "path": "/skills/web/helper.py"})]), Turn("Ok."))
    await talk.ask(skills=[web], router=isolated)
    assert talk.sent()[-1]["content"] == "NAME = 'helper of web'\n"


async def test_disclosure_may_give_all_instructions_at_once(talk: Talk, web: Skill) -> None:
    talk.settings.disclosure = "full"
    talk.model.add(Turn("Ok."))
    await talk.ask(skills=[web])
    assert "Use fetch." in talk.sent(0)[0]["content"]
    assert "available_skills" not in talk.sent(0)[0]["content"]


@pytest.mark.parametrize(("disclosure", "given"), [("auto", True), ("progressive", False)])
async def test_instructions_no_longer_than_the_description_are_given_at_once(
    talk: Talk, tmp_path: Path, disclosure: str, *, given: bool
) -> None:
    talk.settings.disclosure = disclosure
    short = Skill.from_path(write_skill(tmp_path, "short", description="Says hello to everyone.", body="Say hello."))
    talk.model.add(Turn("Ok."))
    await talk.ask(skills=[short])
    assert ("Say hello." in talk.sent(0)[0]["content"]) is given


async def test_the_user_is_told_when_the_catalog_is_shortened(talk: Talk, web: Skill) -> None:
    talk.settings.catalog_share = 0.0
    talk.model.add(Turn("Ok."))
    await talk.ask(skills=[web])
    assert [event.text for event in talk.events if isinstance(event, Notice)] == [
        "To keep within JupyterSkills.catalog_share: 1 skill left out of the list (but not of load_skill's names). "
        "Unload what is not needed."
    ]
    assert "<!-- 1 more for want of room" in talk.sent(0)[0]["content"]


@pytest.mark.docker
async def test_a_skill_from_an_archive_works_like_one_from_a_folder(talk: Talk, web: Skill, isolated: Router) -> None:
    talk.model.add(LOAD, Turn("", [Call("web__add", {"a": 1})]), Turn("Ok."))
    await talk.ask(skills=[Skill.from_zip(web.to_zip())], router=isolated)
    assert talk.sent()[-1]["content"] == "web__add: ok\n\nhelper of web\n3"
