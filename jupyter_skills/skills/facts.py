"""What there is to know about one skill before using it, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_skills.skills.allowed import parse
from jupyter_skills.skills.manifest import manifest_in
from jupyter_skills.skills.scan import scan
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.tools.record import call_name
from jupyter_skills.skills.trust import TrustLedger
from jupyter_skills.skills.verbs import plain_facts
from jupyter_skills.words import first_rows, tokens

_MOST_ROWS = 40


def facts_of(skill: Skill, ledger: TrustLedger) -> dict[str, Any]:
    """Facts about a skill as it is now, for ``json.dumps`` and for ``table``.

    Args:
        skill: The skill.
        ledger: Knows whether it is trusted.

    Raises:
        SkillProblem: It can't be read.
    """
    now = skill.snapshot()
    sizes = {path: len(now.content.entry(path).content) for path in now.files()}
    texts = [now.content.entry(path).content for path in sizes if path != manifest_in(sizes)]
    readable = sum(tokens(text.decode(errors="replace")) for text in texts if b"\0" not in text)
    findings = scan(now.content)
    return {
        "name": now.name,
        "description": now.description,
        "source": str(now.source),
        "folder": str(skill.folder or ""),
        "license": now.license or "",
        "compatibility": now.compatibility or "",
        "metadata": dict(now.metadata),
        "allowed_tools": [f"{e.name}({e.pattern})" if e.pattern else e.name for e in parse(now.allowed_tools)],
        "digest": now.digest,
        "trust": _trust(now, ledger),
        "tokens": {
            "description": tokens(now.name + now.description),
            "instructions": tokens(now.body),
            "files": readable,
        },
        "tools": {call_name(now.name, tool.name): tool.description for tool in now.tools},
        "files": sizes,
        "problems": [str(problem) for problem in now.problems],
        "alerts": [str(finding) for finding in findings if finding.level == "alert"],
        "notes": plain_facts(findings),
    }


def table(facts: Mapping[str, Any]) -> str:
    """Facts as lines for a person; what is empty is left out."""
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        label = key.replace("_", "-")
        if key == "tokens":
            value = "about " + ", ".join(f"{number:,} ({tier})" for tier, number in value.items())
        elif isinstance(value, dict):
            value = [
                f"{name}: {text:,} bytes" if isinstance(text, int) else f"{name}: {text}"
                for name, text in value.items()
            ]
        lines = value if isinstance(value, list) else [value]
        rows += [(label if i == 0 else "", line) for i, line in enumerate(first_rows(lines, _MOST_ROWS)) if line]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def _trust(skill: Skill, ledger: TrustLedger) -> str:
    if skill.source.installed:
        return "trusted: it was installed"
    return "trusted by you" if ledger.trusts(skill) else "not trusted: its code runs in the sandbox only"
