"""A skill that was fetched, and within what bounds."""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_skills.skills.files import MOST_BYTES
from jupyter_skills.skills.skill import Skill


@dataclass(frozen=True)
class Limits:
    """Bounds on what is fetched.

    Args:
        size: Most bytes of one archive, and of all files of one skill.
        seconds: The longest that one answer of a server, or one step of git, may take.
        repository: Most bytes that a git repository may send.
    """

    size: int = MOST_BYTES
    seconds: float = 300.0
    repository: int = 16 * MOST_BYTES


def cleaned(text: str) -> str:
    """Text, with a ``?`` for each byte of a path that was no character."""
    return text.encode(errors="replace").decode()


@dataclass(frozen=True)
class Fetched:
    """A skill from another place, with all its files in memory.

    Args:
        skill: The skill.
        origin: The address it came from, without credentials; empty for one from this machine's folders.
        revision: Which one of that place: a git commit's hash, or a version; empty if there is but one.
        digest: ``sha256:…`` of the file that came, where its index promised one.
        file_name: The name of the archive, if it was one.
        left_out: Paths that were not taken: links and submodules.
    """

    skill: Skill
    origin: str = ""
    revision: str = ""
    digest: str = ""
    file_name: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """What a store notes of where it came from, as text whatever bytes a path has."""
        facts = {"origin": self.origin, "revision": self.revision, "digest": self.digest}
        return {key: cleaned(value) for key, value in facts.items() if value}
