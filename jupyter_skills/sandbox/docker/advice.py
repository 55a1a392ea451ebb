"""What could be better about an engine, beyond the controls that have to hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jupyter_skills.sandbox.docker.controls import Control
from jupyter_skills.sandbox.docker.engine_facts import EngineFacts

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-rc\.?(\d+))?")
_RELEASED = 1000  # as a release candidate's number: after all of them
_STRONGER = re.compile(r"runsc|gvisor|kata", re.IGNORECASE)
_LIMITS = {"memory-limit", "no-swap", "process-limit", "cpu-limit"}


def advice_for(engine: EngineFacts, controls: Sequence[Control]) -> Iterator[str]:
    """Advice, each as a sentence or two.

    Args:
        engine: The engine.
        controls: Those of a container of it.
    """
    missing = {control.name for control in controls if not control.holds}
    strong = bool(_STRONGER.search(engine.runtime))
    if not strong and may_be_escaped(engine.runc):
        yield (
            f"runc {engine.runc} may have the holes CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881, unless your "
            "distribution has mended them in it. runc itself did so in 1.2.8, 1.3.3 and 1.4.0-rc.3."
        )
    if missing & _LIMITS and engine.rootless:
        yield (
            "An engine without root can set limits only with cgroup v2, and if systemd delegates the controllers "
            "to its user: Delegate=cpu cpuset io memory pids, in a drop-in of user@.service."
        )
    elif "no-swap" in missing and not engine.swap_limit:
        yield (
            "The kernel can't limit swap. Boot it with 'cgroup_enable=memory swapaccount=1', or turn swap off "
            "('swapoff -a')."
        )
    if not strong and not engine.user_namespaces:
        yield (
            "Root in a container is root on this machine, which matters to code that finds a hole. Rootless Docker, "
            "or userns-remap in the engine's daemon.json, would end that."
        )
    if not strong:
        there = [name for name in engine.runtimes if _STRONGER.search(name)]
        which = f"The engine has one: DockerSandbox.runtime = '{there[0]}'." if there else "The engine has none."
        yield (
            "Code shares this machine's kernel. Under gVisor (runsc) or Kata Containers it would have one of its "
            f"own. {which}"
        )


def may_be_escaped(runc: str) -> bool:
    """Whether a version of runc is one that had the three holes made known in November 2025.

    Args:
        runc: The version, with anything a distribution appends; one that makes no sense counts as sound.
    """
    match = _VERSION.match(runc)
    if match is None:
        return False
    version = (int(match[1]), int(match[2]), int(match[3]), int(match[4] or _RELEASED))
    mended = ((1, 2, 8, _RELEASED), (1, 3, 3, _RELEASED), (1, 4, 0, 3))
    return not any(version >= since and version[:2] == since[:2] for since in mended) and version < mended[-1]
