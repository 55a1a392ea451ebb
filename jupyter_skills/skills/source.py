"""Where a skill came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SourceKind = Literal["project", "user", "path", "package", "folder", "archive", "store", "text"]

# What the user, or whoever set this machine up, put in place on purpose. All else may have come along with a
# checkout or a download that nobody has read.
_INSTALLED: frozenset[SourceKind] = frozenset({"user", "path", "package", "text"})


@dataclass(frozen=True)
class Source:
    """Where a skill came from.

    Args:
        kind: ``project``: a skills folder of the project; ``user``: one of the user's home; ``path``: one that
            ``JUPYTER_SKILLS_PATH`` names; ``package``: an installed distribution; ``folder``: any other folder;
            ``archive``: a zip; ``store``: the store; ``text``: a string in the user's code.
        detail: Which one: the name of the distribution or of the archive; empty where the folder says it.
    """

    kind: SourceKind
    detail: str = ""

    @property
    def installed(self) -> bool:
        """Whether its code is trusted for being there: see ``skills/trust.py``."""
        return self.kind in _INSTALLED

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".strip()


FOLDER = Source("folder")
TEXT = Source("text")
