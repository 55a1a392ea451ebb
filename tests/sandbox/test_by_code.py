"""The services of a kernel that is elsewhere: what they need of it, and that its lies are not believed."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.sandbox.inside import services
from jupyter_skills.sandbox.remote.by_code import CHUNK, ByCode


class Liar(ByCode):
    """A kernel in which code has seen to it that everything gets the same answer."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, 0

    async def ask(self, expression: str, *, within: float, on_text: Callable[[str], None]) -> str:
        self.asked += 1
        on_text("x" * 1000)
        return self.answer

    async def calm(self) -> None:
        """There is nothing to calm."""


@pytest.mark.parametrize("answer", ["", "no JSON", "[" * 100_000, "[]", '{"done": 1}', '{"done": {"files": 1}}'])
async def test_an_answer_that_makes_no_sense_is_none(answer: str) -> None:
    liar = Liar(answer)
    if answer == '{"done": {"files": 1}}':
        assert (await liar.look(10)).files == {}
    else:
        with pytest.raises(SandboxFailed, match="makes no sense"):
            await liar.look(10)
    with pytest.raises(SandboxFailed, match="makes no sense"):
        await liar.shell("true", limit=10, timeout=1, on_data=lambda _: None)


async def test_a_file_that_grows_while_it_is_taken_is_given_up() -> None:
    liar = Liar(json.dumps({"done": base64.b64encode(b"x" * CHUNK).decode()}))
    assert await liar.get("endless", 3 * CHUNK) is None
    assert liar.asked == 4


@pytest.mark.parametrize("content", ["@@@", 7, None, {}])
async def test_what_is_no_base64_is_no_file(content: object) -> None:
    assert not await Liar(json.dumps({"done": content})).get("file", 100)


async def test_no_more_output_is_passed_on_than_was_asked_for() -> None:
    heard = bytearray()
    end = await Liar('{"done": {"status": 0, "dropped": 5}}').shell("true", limit=100, timeout=1, on_data=heard.extend)
    assert (len(heard), end.status, end.dropped) == (100, 0, 5)


async def test_a_failure_is_one_line_without_control_codes() -> None:
    with pytest.raises(SandboxFailed, match=r"^OSError: no room\. Correct"):
        await Liar(json.dumps({"failed": "OSError:\x1b[31m no\nroom"})).put(b"x", "/skills/one", replace=True)


def test_the_two_folders_are_made_where_they_are_missing(workdir: Path) -> None:
    services._Services().prepare(str(workdir / "work"), str(workdir / "skills"))
    assert Path.cwd() == workdir / "work"
    assert (workdir / "skills").is_dir()


def test_folders_with_anything_in_them_are_somebody_elses(workdir: Path) -> None:
    (workdir / "work").mkdir()
    (workdir / "work" / "thesis.txt").touch()
    with pytest.raises(ValueError, match="work is not empty"):
        services._Services().prepare(str(workdir / "work"), str(workdir / "skills"))


def test_folders_that_can_not_be_made_say_so(workdir: Path) -> None:
    (workdir / "file").touch()
    answer = services.call("prepare", work=str(workdir / "file" / "work"))
    assert "NotADirectoryError" in json.loads(answer.text)["failed"]
