"""What ``scan`` says of a skill, and how it gathers that file by file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from jupyter_skills.skills.scan.rules import Level
from jupyter_skills.skills.scan.text import excerpt, visible

# How many findings of a kind a file can have before the rest is only counted.
MOST_ALERTS = 5
MOST_NOTES = 1
_MOST_KEPT = 1_000


@dataclass(frozen=True)
class Finding:
    r"""One thing that a reader should know.

    Args:
        kind: A short, stable name for what it is, such as ``network-shell``.
        message: What it means, as one sentence without a full stop.
        path: The file it is in, relative to the skill's folder.
        line: Its line, from 1; None where it is the whole file.
        excerpt: What stands there, short, in one line; what wouldn't show stands as an escape such as ``\u202e``.
        level: ``alert``: stop and look; ``note``: a plain fact.
    """

    kind: str
    message: str
    path: str
    line: int | None
    excerpt: str
    level: Level

    def __str__(self) -> str:
        """All of it in one line."""
        where = visible(self.path).replace("\n", "\\n")
        if self.line is not None:
            where = f"{where}:{self.line}"
        return f"{where}: {self.level}: {self.message} [{self.kind}]{self.excerpt and ': '}{self.excerpt}"

    def as_json(self) -> dict[str, Any]:
        """All of it for ``json.dumps``."""
        return asdict(self)


class _Hit(NamedTuple):
    line: int
    message: str
    text: str
    start: int
    end: int


@dataclass
class Page:
    """What has been found in one file: of one kind and level, at most one thing in a line."""

    path: str
    hits: dict[tuple[str, Level], dict[int, _Hit]] = field(default_factory=dict)
    uncounted: dict[tuple[str, Level], int] = field(default_factory=dict)

    def add(
        self, kind: str, level: Level, message: str, line: int = 0, text: str = "", span: tuple[int, int] = (0, 0)
    ) -> None:
        """Takes down a finding.

        Args:
            kind: See ``Finding``.
            level: See ``Finding``.
            message: See ``Finding``.
            line: See ``Finding``; 0 where it is the whole file.
            text: What the excerpt is taken from.
            span: Where in it.
        """
        here = self.hits.setdefault((kind, level), {})
        if line in here:
            return
        if len(here) < _MOST_KEPT:
            here[line] = _Hit(line, message, text, *span)
        else:
            self.uncounted[kind, level] = self.uncounted.get((kind, level), 0) + 1

    def findings(self) -> Iterator[Finding]:
        """What has been found; where there is too much of a kind, the last one says how much more."""
        for (kind, level), here in self.hits.items():
            alerts = {} if level == "alert" else self.hits.get((kind, "alert"), {})
            hits = sorted(hit for line, hit in here.items() if line not in alerts)
            kept = hits[: MOST_ALERTS if level == "alert" else MOST_NOTES]
            more = len(hits) - len(kept) + self.uncounted.get((kind, level), 0)
            for hit in kept:
                message = f"{hit.message}, and {more:,} more" if more and hit is kept[-1] else hit.message
                shown = excerpt(hit.text, hit.start, hit.end)
                yield Finding(kind, message, self.path, hit.line or None, shown, level)
