"""A new skill to begin with."""

from __future__ import annotations

from pathlib import Path

from jupyter_skills.errors import InvalidSkill, UsageProblem
from jupyter_skills.skills import frontmatter
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from jupyter_skills.skills.manifest import MANIFEST
from jupyter_skills.skills.rules import manifest_problems

CELLS = "scripts/cells.py"
_DESCRIPTION = "Say here what the skill does, and when to use it."
_BODY = """\
# {name}

Say here, step by step, how to go about it. A model reads this when it has judged by the description that the
skill fits.

Longer explanations belong into files below `references/`, code into `scripts/`. Name them here by their path in
this folder; they are read when they are needed.
"""
_WITH_CELLS = """\
# {name}

The code is in `{cells}`, as it ran in a notebook. Run it with

```bash
python3 {{baseDir}}/{cells}
```

Say here what it takes, what it makes, and what to change for another case.
"""


def scaffold(name: str, target: Path, description: str = "", code: str = "") -> Path:
    """Writes a new skill that the strict report finds nothing wrong with.

    Args:
        name: Its name; the folder's too.
        target: The folder to make its folder in.
        description: What it does and when to use it; a reminder to say so if not given.
        code: Python to put into ``scripts/cells.py``.

    Returns:
        The skill's folder.

    Raises:
        UsageProblem: The name or the description is not what the specification allows, or the folder is there
            already, or can't be made.
    """
    body = (_WITH_CELLS if code else _BODY).format(name=name, cells=CELLS)
    description = " ".join(description.split())
    if not description.isprintable():
        raise UsageProblem("The description has characters in it that can't be shown", "Write it in plain text")
    quoted = (description or _DESCRIPTION).replace("'", "''")
    manifest = f"---\nname: {name}\ndescription: '{quoted}'\n---\n\n{body}".encode()
    try:
        problems = manifest_problems(frontmatter.parse(manifest), name)
    except InvalidSkill as error:
        raise UsageProblem(f"'{name}' can't be the name of a skill", error.next_step) from None
    for problem in problems:
        if problem.severity == "error":
            raise UsageProblem(problem.message, problem.remedy)
    files = {MANIFEST: FileEntry(manifest)}
    if code:
        files[CELLS] = FileEntry(code.encode())
    from jupyter_skills.skills.layout import lay_out

    folder = target / name
    lay_out(MemoryFiles(files), folder)
    return folder
