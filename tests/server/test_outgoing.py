"""What is sent as JSON, and how errors are worded for HTTP."""

from __future__ import annotations

import json
import threading

import pytest

from jupyter_skills.errors import (
    InvalidSkill,
    NotYours,
    SkillNotFound,
    SkillsError,
    StoreBroken,
    StoreBusy,
    StoreUnreachable,
)
from jupyter_skills.server.incoming.workers import off_loop_to_answer
from jupyter_skills.server.outgoing import in_json, list_in_json
from jupyter_skills.server.wording import over_http


def test_half_a_character_does_not_keep_the_rest_back() -> None:
    assert json.loads(in_json({"title": "a\ud800b", "ö": 1})) == {"title": "a?b", "ö": 1}
    assert json.loads(list_in_json(["\udfff"], str, "data", {"cursor": "\ud800"})) == {"data": ["?"], "cursor": "?"}


@pytest.mark.parametrize("items", [[], [1], [1, 2, 3]])
@pytest.mark.parametrize("around", [{}, {"cursor": None, "has_more": True}])
def test_a_list_is_the_object_that_it_would_be_in_one_go(items: list[int], around: dict[str, object]) -> None:
    told = list_in_json(items, lambda item: {"id": item}, "data", around)
    assert json.loads(told) == {"data": [{"id": item} for item in items], **around}


async def test_a_list_is_made_on_a_thread() -> None:
    where: set[threading.Thread] = set()

    def told(item: int) -> int:
        where.add(threading.current_thread())
        return item

    await off_loop_to_answer(list_in_json, [1, 2], told, "data", {})
    assert len(where) == 1
    assert threading.current_thread() not in where


@pytest.mark.parametrize("kind", [StoreUnreachable, StoreBusy, StoreBroken])
def test_nothing_is_told_of_the_database(kind: type[SkillsError]) -> None:
    shown = over_http(kind("The store at postgresql://ann@db.internal/skills can't be used", "Check /run/db"))
    assert str(shown) == "The store can't be used just now. The server's log says why; try again."


def test_no_next_step_is_one_for_notebooks() -> None:
    missing = over_http(SkillNotFound("The store has no skill 'x'", "See '%skill list --available' for those it has"))
    assert (missing.message, missing.next_step) == (
        "The store has no skill 'x'",
        "List the skills to see those there are",
    )
    assert over_http(InvalidSkill("It is broken", "Run '%skill validate x'")).next_step == ""


def test_other_errors_are_told_as_they_are() -> None:
    assert str(over_http(NotYours("It is Ann's", "Ask her"))) == "It is Ann's. Ask her."
