"""``jupyter skills preflight``."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jupyter_skills.cli.shell import BAD, GOOD, say
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE

if TYPE_CHECKING:
    from jupyter_skills.sandbox.docker.engine_facts import EngineFacts
    from jupyter_skills.sandbox.docker.preflight import Preflight

_WIDEST = 100


def add_verbs(verbs: Any) -> None:
    """Adds the verb of this file to a command line's subparsers."""
    text = "prove from inside a container that this machine's engine isolates code"
    parser = verbs.add_parser("preflight", help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("--image", default=DEFAULT_IMAGE, help="the image's name (default: %(default)s)")
    parser.add_argument("--runtime", default="", help="what runs the container, such as runsc (default: the engine's)")
    parser.add_argument(
        "--waive", action="append", default=[], metavar="CONTROL", help="do without it; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, with all that was found")
    parser.set_defaults(run=_preflight)


def _preflight(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker.engine import Engine, Limits
    from jupyter_skills.sandbox.docker.preflight import preflight
    from jupyter_skills.sandbox.settings import DockerSandbox

    settings = DockerSandbox()
    limits = Limits(settings.memory, settings.cpus, settings.pids, options.runtime)
    engine = Engine()
    try:
        result = preflight(engine, options.image, limits, options.waive)
    finally:
        engine.close()
    if options.json:
        say(json.dumps(result.as_json(), ensure_ascii=False, indent=2))
    else:
        say("\n".join(_lines(result, min(shutil.get_terminal_size().columns, _WIDEST))))
    return BAD if result.missing else GOOD


def _lines(result: Preflight, width: int) -> Iterator[str]:
    yield f"{result.engine.product} {result.engine.version}"
    yield from _table(list(_rows(result.engine)), width)
    yield ""
    yield f"A container made from {result.image}"
    rows = []
    for control in result.controls:
        state = "ok" if control.holds else "waived" if control.name in result.waived else "MISSING"
        rows.append((state, control.name, control.found))
    column = max(len(name) for _, name, _ in rows)
    yield from _table([(state, f"{name:<{column}}  {found}") for state, name, found in rows], width, column + 2)
    for title, texts in (
        ("What is missing, and what it is good for", [f"{each.name}: {each.why}." for each in result.missing]),
        ("What could be better", result.advice),
    ):
        if texts:
            yield ""
            yield title
        for text in texts:
            yield from textwrap.wrap(text, width, initial_indent="  - ", subsequent_indent="    ")
    yield ""
    yield from textwrap.wrap(_verdict(result), width)


def _rows(engine: EngineFacts) -> Iterator[tuple[str, str]]:
    yield "machine", f"{engine.operating_system}, {engine.architecture}, kernel {engine.kernel}"
    yield "api", engine.api_version
    yield "runtime", f"{engine.runtime}; there are {', '.join(engine.runtimes) or 'no others'}"
    yield "runc", engine.runc or "not known"
    yield "containerd", engine.containerd or "not known"
    yield "storage", engine.storage_driver
    yield "cgroups", f"v{engine.cgroup_version}, by {engine.cgroup_driver}"
    yield "security", ", ".join(map(_option, engine.security_options)) or "none"
    yield "rootless", "yes" if engine.rootless else "no"
    yield "user namespaces", "yes" if engine.user_namespaces else "no"


def _option(option: str) -> str:
    """A security option such as ``seccomp,profile=default``, for a person."""
    name, _, more = option.partition(",")
    return f"{name} ({more.replace('=', ' ')})" if more else name


def _table(rows: list[tuple[str, str]], width: int, hang: int = 0) -> Iterator[str]:
    """Rows of two columns; a second one that is too long goes on below itself, ``hang`` characters further in."""
    column = max(len(label) for label, _ in rows)
    for label, text in rows:
        indent = " " * (column + 4 + hang)
        # Not by textwrap alone: it would shrink the blanks that align what is in the text.
        head, rest = text[:hang], text[hang:]
        lines = textwrap.wrap(rest, max(width - len(indent), 20)) or [""]
        yield f"  {label:<{column}}  {head}{lines[0]}".rstrip()
        yield from (f"{indent}{line}" for line in lines[1:])


def _verdict(result: Preflight) -> str:
    waived = sorted(control.name for control in result.controls if not control.holds and control.name in result.waived)
    if result.missing:
        names = ", ".join(repr(name) for name in [*waived, *(control.name for control in result.missing)])
        number = len(result.missing)
        subject = "1 control is" if number == 1 else f"{number} controls are"
        return (
            f"{subject} missing: no sandbox starts here. Mend the engine, or do without by name: "
            f"DockerSandbox.waive = [{names}]"
        )
    if waived:
        return f"All controls hold but those waived: {', '.join(waived)}."
    return f"All {len(result.controls)} controls hold."
