"""What ``container`` says of skills."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook.container import Reference, read

NATIVE = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}


def ours(skill_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "custom", "skill_id": skill_id, **more}


@pytest.mark.parametrize("container", [None, "container_011", {}, {"id": "c"}, {"skills": []}, {"skills": None}, 7])
def test_a_container_without_skills_is_nothing_to_us(container: Any) -> None:
    assert read(container) is None


@pytest.mark.parametrize(
    ("entry", "reference"),
    [
        (ours("litellm:counter"), Reference("counter")),
        (ours("litellm:skill_1"), Reference("skill_1")),
        (ours("litellm_skill_1"), Reference("skill_1")),
        (ours("litellm: counter "), Reference("counter")),
        (ours("litellm:counter", version="latest"), Reference("counter", "latest")),
        (ours("litellm:counter", version=3), Reference("counter", "3")),
        (ours("litellm:counter@3"), Reference("counter", "3")),
        (ours("litellm:counter@3", version="4"), Reference("counter", "4")),
        (ours("litellm:counter", version=None), Reference("counter")),
        (ours("litellm:counter", version=""), Reference("counter")),
        (ours("litellm:技能"), Reference("技能")),
        ({"skill_id": "litellm:counter"}, Reference("counter")),
    ],
)
def test_a_prefix_tells_our_skills(entry: dict[str, Any], reference: Reference) -> None:
    asked = read({"skills": [entry]})
    assert asked is not None
    assert asked.ours == (reference,)
    assert asked.native is None


def test_all_others_are_left_to_the_provider_with_what_else_the_container_says() -> None:
    own = {"type": "custom", "skill_id": "skill_01"}
    asked = read({"id": "container_1", "skills": [NATIVE, ours("litellm:counter"), own], "other": 1})
    assert asked is not None
    assert asked.ours == (Reference("counter"),)
    assert asked.native == {"id": "container_1", "skills": [NATIVE, own], "other": 1}
    assert asked.native_skills == [NATIVE, own]


def test_the_id_of_a_container_is_left_to_the_provider() -> None:
    asked = read({"id": "container_1", "skills": [ours("litellm:counter")]})
    assert asked is not None
    assert asked.native == {"id": "container_1"}
    assert asked.native_skills == ()


def test_the_same_skill_twice_is_once() -> None:
    asked = read({"skills": [ours("litellm:a"), ours("litellm:b"), ours("litellm_a")]})
    assert asked is not None
    assert asked.ours == (Reference("a"), Reference("b"))


def test_what_the_caller_gave_is_not_changed() -> None:
    given = {"id": "c", "skills": [NATIVE, ours("litellm:counter")]}
    read(given)
    assert given == {"id": "c", "skills": [NATIVE, ours("litellm:counter")]}


@pytest.mark.parametrize(
    ("skills", "words"),
    [
        ("litellm:counter", "not a list"),
        ({"skill_id": "litellm:counter"}, "not a list"),
        (["litellm:counter"], "Entry 1 of container.skills names no skill_id"),
        ([NATIVE, {"type": "custom"}], "Entry 2"),
        ([ours(None)], "Entry 1"),  # type: ignore[arg-type]
        ([ours(" ")], "Entry 1"),
        ([ours(7)], "Entry 1"),  # type: ignore[arg-type]
        ([ours("litellm:")], "no skill after 'litellm:'"),
        ([ours("litellm:@2")], "no skill after 'litellm:'"),
        ([ours("litellm:a", version=True)], "version of 'a'"),
        ([ours("litellm:a", version=1.5)], "version of 'a'"),
        ([ours("litellm:a", version=["1"])], "version of 'a'"),
        ([ours(f"litellm:{number}") for number in range(201)], "names 201 skills"),
        ([ours("litellm:a", version=1), ours("litellm:a", version=2)], "'a' is asked for in two versions"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(skills: Any, words: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        read({"skills": skills})
    assert words in str(caught.value)
    assert caught.value.next_step
