"""The skills of one turn: each as it was when the turn first used it, whatever happens to its files meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.errors import SkillNotFound
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.loaded import LoadedSkill


class Shelf:
    """The skills in force during one turn.

    A skill is active once the model has its instructions: it is pinned, or was loaded by the model in this
    conversation. Only active skills show their tools.

    Args:
        entries: The skills in force, in the order they were loaded.
        conversation: Remembers which skills the model has loaded.
        given: The names of those whose instructions are in the system message.
    """

    def __init__(self, entries: Sequence[LoadedSkill], conversation: Conversation, given: Sequence[str] = ()) -> None:
        self._entries = {entry.skill.name: entry for entry in entries}
        self._activated = conversation.activated
        self._given = frozenset(given)
        self._open: dict[str, Skill] = {}
        self.changed: list[str] = []
        for name in [name for name in self._activated if name in self._entries]:
            if self.open(name).digest != self._activated[name]:
                del self._activated[name]
                self.changed.append(name)

    @property
    def names(self) -> list[str]:
        """All of them, in the order they were loaded."""
        return list(self._entries)

    @property
    def active(self) -> list[str]:
        """Those whose instructions the model has."""
        return [name for name in self._entries if name in self._given or name in self._activated]

    def entry(self, name: str) -> LoadedSkill:
        """How a skill was put in force.

        Raises:
            SkillNotFound: No skill of that name is.
        """
        if name not in self._entries:
            raise SkillNotFound(f"No skill '{name}' is loaded", f"These are: {', '.join(self._entries) or 'none'}")
        return self._entries[name]

    def open(self, name: str) -> Skill:
        """A skill with all its files as they were when it was first opened in this turn.

        Raises:
            SkillProblem: It is not in force, or can't be read.
        """
        if name not in self._open:
            self._open[name] = self.entry(name).skill.snapshot()
        return self._open[name]

    def activate(self, name: str) -> bool:
        """Notes that the model is given a skill's instructions; whether it did not have them yet.

        Raises:
            SkillProblem: See ``open``.
        """
        digest = self.open(name).digest
        if name in self._given or self._activated.get(name) == digest:
            return False
        self._activated[name] = digest
        return True

    def in_use(self) -> list[Skill]:
        """The skills whose files code may ask for: the active ones, and those that were opened.

        Raises:
            SkillProblem: See ``open``.
        """
        wanted = {*self._open, *self.active}
        return [self.open(name) for name in self._entries if name in wanted]
