"""What ``container`` of a request says of skills: which are ours, and what is left for the provider.

Source: LiteLLM's documentation of its skills, "Routing Summary"; Anthropic's API reference, "Create a Message".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_skills.errors import UsageProblem

PREFIX = "litellm:"
PREFIXES = (PREFIX, "litellm_")
"""What our skills' ids begin with: as LiteLLM's documentation spells it, and as its code does."""

KNOWS_SKILLS = ("anthropic",)
"""The providers with skills of their own."""

MOST_SKILLS = 200
"""How many one call may ask for: each is read from the store for it."""

_LONGEST = 300
_AS_IN = "Write it as {'skills': [{'type': 'custom', 'skill_id': 'litellm:NAME'}]}"


@dataclass(frozen=True)
class Reference:
    """A skill of ours that is asked for.

    Args:
        word: Its id or name.
        version: Its number, ``latest``, or None for the one that is meant where none is named.
    """

    word: str
    version: str | None = None

    def __str__(self) -> str:
        return self.word if self.version is None else f"{self.word}@{self.version}"


@dataclass(frozen=True)
class Container:
    """What a request asks for.

    Args:
        ours: The skills of ours, in order, each once.
        native: What the provider is to get as ``container``; None if nothing is left.
    """

    ours: tuple[Reference, ...] = ()
    native: Mapping[str, Any] | None = None

    @property
    def native_skills(self) -> Sequence[Mapping[str, Any]]:
        """The skills that only the provider knows."""
        return (self.native or {}).get("skills") or ()

    def check_native(self, model: str, provider: str) -> None:
        """Refuses skills that a provider does not have.

        Args:
            model: The model that is asked for.
            provider: Who has it.

        Raises:
            UsageProblem: There are some.
        """
        if self.native_skills and provider not in KNOWS_SKILLS:
            names = ", ".join(f"'{entry['skill_id']}'" for entry in self.native_skills)
            raise UsageProblem(
                f"Only Anthropic's own API has the skills {names}, and '{model}' is not asked there",
                f"For skills of your own write '{PREFIX}NAME'",
            )


def read(container: Any) -> Container | None:
    """What a container asks for; None if it names no skills, and so is nothing to us.

    Raises:
        UsageProblem: It makes no sense.
    """
    skills = container.get("skills") if isinstance(container, Mapping) else None
    if not skills:
        return None
    if not isinstance(skills, list | tuple):
        raise UsageProblem("'container.skills' is not a list", _AS_IN)
    if len(skills) > MOST_SKILLS:
        raise UsageProblem(f"container.skills names {len(skills)} skills", f"Name {MOST_SKILLS} at most")
    ours: dict[str, Reference] = {}
    native: list[Mapping[str, Any]] = []
    for position, entry in enumerate(skills, start=1):
        reference = _reference(entry, position)
        if reference is None:
            native.append(entry)
        elif ours.setdefault(reference.word, reference) != reference:
            raise UsageProblem(f"'{reference.word}' is asked for in two versions", "Name it once in container.skills")
    left = {**container, "skills": native} if native else {k: v for k, v in container.items() if k != "skills"}
    return Container(tuple(ours.values()), left or None)


def _reference(entry: Any, position: int) -> Reference | None:
    """The skill of ours that an entry names; None for one that the provider knows."""
    skill_id = entry.get("skill_id") if isinstance(entry, Mapping) else None
    if not isinstance(skill_id, str) or not skill_id.strip():
        raise UsageProblem(f"Entry {position} of container.skills names no skill_id", _AS_IN)
    if len(skill_id) > _LONGEST or len(str(entry.get("version") or "")) > _LONGEST:
        raise UsageProblem(f"Entry {position} of container.skills is longer than any skill's id or version", _AS_IN)
    for prefix in PREFIXES:
        if skill_id.startswith(prefix):
            word, _, version = skill_id.removeprefix(prefix).strip().partition("@")
            if not word:
                raise UsageProblem(f"Entry {position} of container.skills names no skill after '{prefix}'", _AS_IN)
            return Reference(word, _version(entry.get("version"), word) or version or None)
    return None


def _version(given: Any, word: str) -> str | None:
    if given is None or given == "":
        return None
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise UsageProblem(
            f"The version of '{word}' is neither a number nor 'latest'", "Leave it out for the usual one"
        )
    return str(given)
