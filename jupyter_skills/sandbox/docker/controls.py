"""The controls that isolation rests on, and whether a container has them.

What a container is like is told by ``inside/probe.py``, from within. It may be broken, or not ours: what it
tells is taken for what it is, and a control that is not known to hold does not hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from jupyter_skills.errors import ControlMissing, UsageProblem
from jupyter_skills.sandbox.docker.engine import Limits
from jupyter_skills.sandbox.docker.mounts import Mount, is_expected

MOST_FILES = 1024
MOST_SHARED_MEMORY = 64 * 1024**2

_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)(?:([kmgt])b?|b)?", re.IGNORECASE)
_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_UNKNOWN = None, "not known"
# Names out of a container are shown to people: a few, and not at length.
_MOST_NAMED, _LONGEST_NAME = 4, 60

Verdict = tuple[bool | None, str]
"""Whether a control holds, None if that isn't known; and what was found."""

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Control:
    """One thing that keeps code inside from the world outside.

    Args:
        name: Its name, by which it can be waived.
        holds: Whether the container has it; None if that isn't known, which counts as no.
        found: What was found, in a few words.
        why: What it is good for.
    """

    name: str
    holds: bool | None
    found: str
    why: str


def controls(facts: Facts, limits: Limits) -> list[Control]:
    """Judges a container.

    Args:
        facts: What ``probe.facts`` said in it; anything that isn't as it should be counts as not known.
        limits: What it was to be limited to.

    Returns:
        All controls, always the same ones and in the same order.
    """
    return [Control(name, *judge(facts, limits), why) for name, judge, why in _CONTROLS]


def check(facts: Facts, limits: Limits, waived: Collection[str]) -> None:
    """Refuses a container that lacks a control, unless it is waived.

    Args:
        facts: See ``controls``.
        limits: See ``controls``.
        waived: Names of controls that need not hold.

    Raises:
        ControlMissing: A control that isn't waived does not hold; the error names each.
        UsageProblem: There is no control of a name that is waived.
    """
    check_names(waived)
    judged = controls(facts, limits)
    missing = [control for control in judged if not control.holds and control.name not in waived]
    if missing:
        found = ", ".join(f"{control.name} ({control.found})" for control in missing)
        names = ", ".join(repr(name) for name in [*sorted(waived), *(control.name for control in missing)])
        raise ControlMissing(
            f"The sandbox lacks what isolation needs: {found}",
            f"See 'jupyter skills preflight', or do without by name: DockerSandbox.waive = [{names}]",
        )


def check_names(waived: Iterable[str]) -> None:
    """Refuses names that no control has.

    Raises:
        UsageProblem: There is such a name; the error says what it might stand for.
    """
    for name in sorted(set(waived) - set(NAMES)):
        close = get_close_matches(name, NAMES, n=2, cutoff=0.5)
        raise UsageProblem(
            f"There is no control '{name}' to waive",
            f"Did you mean {' or '.join(close)}?" if close else f"These are the controls: {', '.join(NAMES)}",
        )


def _no_network(facts: Facts, _: Limits) -> Verdict:
    interfaces = facts.get("interfaces")
    if not isinstance(interfaces, dict) or "lo" not in interfaces:  # every network has that one
        return _UNKNOWN
    # Kernels with tunnel drivers put a tunnel into every network; down, without rights to raise it, it is no way out.
    ways = [name for name, up in interfaces.items() if name != "lo" and up is not False]
    return not ways, _named(ways) or "no way out but to itself"


def _no_mounts(facts: Facts, _: Limits) -> Verdict:
    mounts = _mounts(facts)
    if not mounts:
        return _UNKNOWN
    foreign = [f"{mount.path} ({mount.type})" for mount in mounts if not is_expected(mount)]
    return not foreign, _named(foreign) or "nothing of the host's"


def _no_engine_socket(facts: Facts, _: Limits) -> Verdict:
    sockets = facts.get("engine_sockets")
    if not isinstance(sockets, list):
        return _UNKNOWN
    return not sockets, _named(sockets) or "none"


def _read_only_root(facts: Facts, _: Limits) -> Verdict:
    match facts.get("root_read_only"):
        case True:
            return True, "read-only"
        case False:
            return False, "writable"
    return _UNKNOWN


def _read_only_kernel(facts: Facts, _: Limits) -> Verdict:
    mounts = _mounts(facts) or []
    if not {"/proc/sys", "/sys"} <= {mount.path for mount in mounts}:
        return (None, "/proc/sys or /sys is not a mount of its own") if mounts else _UNKNOWN
    places = [mount for mount in mounts if mount.type.startswith(("cgroup", "sysfs")) or mount.path == "/proc/sys"]
    writable = [mount.path for mount in places if mount.writable]
    return not writable, f"writable: {_named(writable)}" if writable else "read-only"


def _not_root(facts: Facts, _: Limits) -> Verdict:
    uid, gid, groups = (_whole_numbers(facts.get(name)) for name in ("uid", "gid", "groups"))
    if not uid or not gid or groups is None:
        return _UNKNOWN
    if 0 in uid or 0 in gid or 0 in groups:
        return False, "user root" if 0 in uid else "group root"
    return True, f"user {uid[0]}"


def _no_capabilities(facts: Facts, _: Limits) -> Verdict:
    sets = facts.get("capabilities")
    if not isinstance(sets, dict):
        return _UNKNOWN
    values = {name: _whole(sets.get(name)) for name in _SETS}
    some = [f"{name} {value:x}" for name, value in values.items() if value]
    if some:
        return False, ", ".join(some)
    unknown = [name for name, value in values.items() if value is None]
    return (None, f"not known: {', '.join(unknown)}") if unknown else (True, "none")


def _no_new_privileges(facts: Facts, _: Limits) -> Verdict:
    return _flag(facts.get("no_new_privileges"), {0: "off", 1: "on"}, good=1)


def _seccomp(facts: Facts, _: Limits) -> Verdict:
    return _flag(facts.get("seccomp"), {0: "no filter", 1: "strict", 2: "filtered"}, good=2)


def _memory_limit(facts: Facts, limits: Limits) -> Verdict:
    return _at_most(_limit(_cgroup(facts).get("memory")), _bytes(limits.memory), _size)


def _no_swap(facts: Facts, _: Limits) -> Verdict:
    memory, both = _limit(_cgroup(facts).get("memory")), _limit(_cgroup(facts).get("memory_and_swap"))
    if memory is not None and both is not None:
        swap = math.inf if both == math.inf else both - memory
        return swap <= 0, "none" if swap <= 0 else _size(swap)
    if _whole(facts.get("swap_total")) == 0:
        return True, "not limited, but the machine has none"
    return None, "not limited, or the limit can't be read"


def _process_limit(facts: Facts, limits: Limits) -> Verdict:
    return _at_most(_limit(_cgroup(facts).get("pids")), limits.pids, _number)


def _cpu_limit(facts: Facts, limits: Limits) -> Verdict:
    quota, period = _limit(_cgroup(facts).get("cpu_quota")), _limit(_cgroup(facts).get("cpu_period"))
    if quota is None or not period or (period == math.inf and quota != math.inf):
        return _UNKNOWN
    share = math.inf if quota == math.inf else quota / period
    # The engine counts in billionths, the kernel in whole microseconds of a period.
    return _at_most(share, limits.cpus, _number, tolerance=0.001)


def _file_limit(facts: Facts, _: Limits) -> Verdict:
    return _at_most(_limit(facts.get("files")), MOST_FILES, _number)


def _shm_limit(facts: Facts, _: Limits) -> Verdict:
    return _at_most(_whole(facts.get("shm")), MOST_SHARED_MEMORY, _size)


def _no_core_dumps(facts: Facts, _: Limits) -> Verdict:
    core = _limit(facts.get("core"))
    return _UNKNOWN if core is None else (core == 0, "none" if core == 0 else _size(core))


Judge = Callable[[Facts, Limits], Verdict]

_CONTROLS: tuple[tuple[str, Judge, str], ...] = (
    ("no-network", _no_network, "Code can't send anything away, nor reach the services of this machine"),
    ("no-mounts", _no_mounts, "Code sees no file of this machine but the three that the engine makes"),
    ("no-engine-socket", _no_engine_socket, "Whoever talks to the engine is root on this machine"),
    ("read-only-root", _read_only_root, "Code can't change the programs that run after it"),
    ("read-only-kernel", _read_only_kernel, "Code can't change the kernel's settings or its own limits"),
    ("not-root", _not_root, "A hole in the wall lets nobody out as root"),
    ("no-capabilities", _no_capabilities, "Code has none of the rights that root is made of"),
    ("no-new-privileges", _no_new_privileges, "No program, such as sudo, gives code more rights than it has"),
    ("seccomp", _seccomp, "The kernel's rarely used calls, where holes are found, are closed"),
    ("memory-limit", _memory_limit, "Code can't take all of this machine's memory"),
    ("no-swap", _no_swap, "What is in memory stays off the disk, and the limit of memory is all there is"),
    ("process-limit", _process_limit, "Code can't start processes until nobody else can"),
    ("cpu-limit", _cpu_limit, "Code can't take all of the processors' time"),
    ("file-limit", _file_limit, "Code can't open files until nobody else can"),
    ("shm-limit", _shm_limit, "Shared memory is the container's own, and small"),
    ("no-core-dumps", _no_core_dumps, "A program that crashes leaves no image of its memory"),
)

NAMES = tuple(name for name, _, _ in _CONTROLS)
"""All controls that there are."""


def _whole(value: object) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64
    return value if fits and isinstance(value, int) else None


def _whole_numbers(value: object) -> list[int] | None:
    numbers = [_whole(each) for each in value] if isinstance(value, list) else [None]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else None


def _limit(value: object) -> float | None:
    return math.inf if value == "max" else _whole(value)


def _cgroup(facts: Facts) -> Facts:
    found = facts.get("cgroup")
    return found if isinstance(found, dict) else {}


def _mounts(facts: Facts) -> list[Mount] | None:
    found = facts.get("mounts")
    mounts = [Mount.of(row) for row in found] if isinstance(found, list) else [None]
    known = [mount for mount in mounts if mount is not None]
    return known if len(known) == len(mounts) else None


def _flag(value: object, words: Mapping[int, str], good: int) -> Verdict:
    number = _whole(value)
    return _UNKNOWN if number is None or number not in words else (number == good, words[number])


def _at_most(found: float | None, most: float | None, show: Callable[[float], str], tolerance: float = 0) -> Verdict:
    if found is None:
        return _UNKNOWN
    if most is None or not math.isfinite(most):
        return None, f"{show(found)}, and what it should be makes no sense"
    holds = found <= most + tolerance
    if found == math.inf:
        return False, show(found)
    return holds, f"at most {show(found)}" + ("" if holds else f" instead of {show(most)}")


def _bytes(text: str) -> int | None:
    """A size in Docker's notation."""
    match = _MEMORY.fullmatch(text.strip())
    return int(float(match[1]) * _UNITS[(match[2] or "").lower()]) if match else None


def _size(size: float) -> str:
    if size == math.inf:
        return "no limit"
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size:g} bytes"


def _number(number: float) -> str:
    return "no limit" if number == math.inf else f"{number:,.10g}"


def _named(names: Iterable[object]) -> str:
    words = [str(name)[:_LONGEST_NAME] for name in names]
    more = len(words) - _MOST_NAMED
    return ", ".join(words[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
