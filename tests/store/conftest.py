"""Stores in both kinds of databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_skills.store.store import SkillStore


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database of the test's own, in which nothing is yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'skills.db'}"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[SkillStore]:
    """An empty store as the user ``ann`` sees it."""
    async with SkillStore(store_url, user="ann") as store:
        yield store
