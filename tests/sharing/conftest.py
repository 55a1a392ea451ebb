from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sharing.repository import Repository
from tests.sharing.site import Site, site


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site with nothing on it yet, reached without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with site() as place:
        yield place


@pytest.fixture
def repository(tmp_path) -> Repository:
    """A git repository with nothing in it yet."""
    return Repository(tmp_path / "repository")
