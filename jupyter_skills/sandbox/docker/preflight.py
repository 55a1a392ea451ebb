"""What an engine is, and which controls its containers have: asked of the engine, and proved from inside one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jupyter_skills.errors import SandboxFailed
from jupyter_skills.sandbox.docker.advice import advice_for
from jupyter_skills.sandbox.docker.container import printed
from jupyter_skills.sandbox.docker.controls import Control, check_names, controls
from jupyter_skills.sandbox.docker.engine import Engine, Limits
from jupyter_skills.sandbox.docker.engine_facts import EngineFacts
from jupyter_skills.sandbox.inside import program

PROBE = ("python3", "-I", "-c", program("probe"))
"""The command that has a container print its facts."""


@dataclass(frozen=True)
class Preflight:
    """The result of a preflight.

    Args:
        image: What the container was made from.
        engine: What the engine is.
        facts: What was found inside, as ``probe.facts`` says it.
        controls: Each control, and whether the container has it.
        waived: Names of controls that need not hold.
        advice: What could be better, each as a sentence; nothing in it keeps the sandbox from working.
    """

    image: str
    engine: EngineFacts
    facts: Mapping[str, Any]
    controls: tuple[Control, ...]
    waived: frozenset[str]
    advice: tuple[str, ...]

    @property
    def missing(self) -> tuple[Control, ...]:
        """The controls that don't hold and aren't waived; with any of these, no sandbox starts."""
        return tuple(control for control in self.controls if not control.holds and control.name not in self.waived)

    def as_json(self) -> dict[str, Any]:
        """All of it, for ``json.dumps``."""
        return {
            "image": self.image,
            "good": not self.missing,
            "engine": asdict(self.engine),
            "controls": [{**asdict(control), "waived": control.name in self.waived} for control in self.controls],
            "advice": list(self.advice),
            "facts": dict(self.facts),
        }


def preflight(engine: Engine, image: str, limits: Limits, waived: Collection[str] = ()) -> Preflight:
    """Looks at an engine, and at one short container made as those of kernels are.

    Args:
        engine: The engine.
        image: What to make the container from; it needs ``python3``.
        limits: What to limit it to.
        waived: Names of controls that need not hold.

    Raises:
        ImageMissing: The engine has no such image.
        SandboxFailed: The container didn't start, or didn't say what it found.
        UsageProblem: There is no control of a name that is waived.
    """
    check_names(waived)
    about = EngineFacts.of(engine.info(), limits.runtime)
    facts = facts_inside(engine, image, limits)
    judged = tuple(controls(facts, limits))
    in_vain = [f"{each.name} holds; it need not be waived." for each in judged if each.holds and each.name in waived]
    return Preflight(image, about, facts, judged, frozenset(waived), (*in_vain, *advice_for(about, judged)))


def facts_inside(engine: Engine, image: str, limits: Limits) -> dict[str, Any]:
    """The facts of a new container, which is gone afterwards.

    Raises:
        ImageMissing: The engine has no such image.
        SandboxFailed: The container didn't start, or didn't say what it found.
    """
    return parsed(*printed(engine, image, PROBE, limits, {"jupyter_skills.preflight": "1"}))


def parsed(output: bytes, errors: bytes) -> dict[str, Any]:
    """The facts that a container printed.

    Args:
        output: All that it printed; what an image's own start-up code printed may stand before them.
        errors: Its error output.

    Raises:
        SandboxFailed: There are no facts in it.
    """
    try:
        facts = json.loads(output.strip().rpartition(b"\n")[2])
        if isinstance(facts, dict):
            return facts
    except (ValueError, RecursionError):
        pass
    last = errors.decode(errors="replace").strip().rpartition("\n")[2][:200]
    raise SandboxFailed(
        "The container did not say what isolates it" + (f" ({last})" if last else ""),
        "Check that the image has python3, or build ours with 'jupyter skills sandbox build'",
    )
