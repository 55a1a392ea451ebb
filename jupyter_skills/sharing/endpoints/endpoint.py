"""What every endpoint can be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

Shape = Literal["anthropic", "openai", "litellm"]

PROVIDERS: dict[Shape, str] = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com"}
"""Where the APIs come from; LiteLLM's is wherever somebody runs it."""


@dataclass(frozen=True)
class RemoteSkill:
    """A skill there.

    Args:
        id: Its id there.
        title: What people see.
        name: The name in its SKILL.md; empty where the list doesn't tell it.
        version: The version in force; empty where there are none.
    """

    id: str
    title: str
    name: str = ""
    version: str = ""


class Endpoint(Protocol):
    """A skills endpoint. All methods raise a ``RemoteProblem`` if the other side can't, or won't, do it."""

    @property
    def place(self) -> str:
        """Its address, without credentials."""
        ...

    @property
    def keeps_versions(self) -> bool:
        """Whether a skill there can have more than one version."""
        ...

    def list(self) -> AsyncIterator[RemoteSkill]:
        """The user's own skills there, newest first."""
        ...

    async def get(self, skill_id: str) -> RemoteSkill:
        """One skill."""
        ...

    async def find(self, name: str, title: str) -> RemoteSkill | None:
        """The user's own skill of a name; where names aren't kept, of a title."""
        ...

    async def content(self, skill_id: str, version: str | None = None) -> bytes:
        """The archive of a version, of the one in force if none is named."""
        ...

    async def create(self, archive: bytes, name: str, title: str) -> RemoteSkill:
        """Makes a skill from a zip."""
        ...

    async def create_version(self, skill_id: str, archive: bytes, name: str) -> RemoteSkill:
        """Makes a version from a zip, and puts it in force."""
        ...
