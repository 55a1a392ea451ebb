"""What a user is told about a store that can't be used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from jupyter_skills.errors import StoreProblem
from jupyter_skills.store.store import SkillStore
from tests.store.processes import a_skill

SECRET = "hunter2"

Use = Callable[[SkillStore], Awaitable[object]]

USES: dict[str, Use] = {
    "read": lambda store: store.list(),
    "write": lambda store: store.create(a_skill("new")),
}


async def refusal(url: str, use: Use = USES["read"]) -> StoreProblem:
    """What a user is told: one line, with a next step and without the password."""
    with pytest.raises(StoreProblem) as caught:
        async with SkillStore(url, user="ann") as store:
            await use(store)
    error = caught.value
    assert error.next_step
    assert str(error).isprintable(), "it is one line"
    assert len(str(error)) < 500
    above = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert above is None, "a traceback would show the driver's error, and what is in that"
    assert SECRET not in str(error)
    return error
