"""How long skills keep one waiting: finding them, listing them for a model, telling them from their bodies.

Times are medians on this machine; each stands beside something everybody has, measured in the same run, so that
the ratio travels. Run it on an idle machine:

    .venv/bin/python benchmarks/skills.py

It takes about half a minute, needs neither network nor Docker, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SKILLS, LISTED = 3000, 300
COLD_ROUNDS, WARM_ROUNDS, CATALOG_ROUNDS = 5, 20, 50
SETTLE = 0.5

MOST_COLD = 2000.0  # ms
MOST_WARM = 60.0
MOST_CATALOG = 10.0

BODY = """\
# Working with {topic}

Read `references/details.md` first when the data has more than one sheet.

```bash
python3 {{baseDir}}/scripts/run.py --input data.csv --output result.png
```

{paragraphs}
"""
PARAGRAPH = "Check each value against its unit before it is used, keep the original column, and say what was left out. "

COLD = """
import time
from pathlib import Path
from jupyter_skills.skills.discovery import discover
began = time.perf_counter()
found = discover(Path.cwd())
took = (time.perf_counter() - began) * 1000
assert sum(entry.skill is not None for entry in found) >= {count}, len(found)
print(took)
"""
READ_ALL = """
import time
from pathlib import Path
began = time.perf_counter()
for path in sorted(Path({root!r}).glob("*/SKILL.md")):
    path.read_bytes()
print((time.perf_counter() - began) * 1000)
"""

Row = tuple[str, str, str, str]


def main() -> None:
    """Measures everything and prints the table."""
    print(f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as folder:
        root = make_skills(Path(folder))
        os.environ |= {"JUPYTER_SKILLS_PATH": str(root), "HOME": folder, "JUPYTER_DATA_DIR": f"{folder}/data"}
        os.chdir(folder)
        time.sleep(SETTLE)  # discovery does not rely on the times of files that are younger
        rows = [("figure", "measured", "bound", "holds"), *discovery(root), *catalogs(root)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def make_skills(folder: Path) -> Path:
    """Skills as they are in the wild: a description of a few lines, a body of a page or five, a few files."""
    root = folder / "skills"
    for number in range(SKILLS):
        skill = root / f"skill-{number:04}"
        (skill / "scripts").mkdir(parents=True)
        (skill / "references").mkdir()
        topic = f"topic {number}"
        description = f"Reads, checks and draws {topic}: tables, units and plots. Use it when the user names {topic}. "
        paragraphs = "\n\n".join([PARAGRAPH * 3] * (3 + number % 20))
        (skill / "SKILL.md").write_text(
            f"---\nname: skill-{number:04}\ndescription: >-\n  {description * (1 + number % 3)}\n"
            f'license: MIT\nmetadata:\n  version: "1.{number % 10}"\n  author: someone\n---\n\n'
            + BODY.format(topic=topic, paragraphs=paragraphs)
        )
        (skill / "scripts" / "run.py").write_text("print('hello')\n")
        (skill / "references" / "details.md").write_text("Details.\n")
    return root


def discovery(root: Path) -> list[Row]:
    """All skills found and read by a fresh process, and looked at again by one that has read them."""
    from jupyter_skills.skills.discovery import discover

    cold = [process(COLD.format(count=SKILLS)) for _ in range(COLD_ROUNDS)]
    reading = [process(READ_ALL.format(root=str(root))) for _ in range(COLD_ROUNDS)]
    discover()
    warm = [timed(discover) for _ in range(WARM_ROUNDS)]
    manifests = [path / "SKILL.md" for path in sorted(root.iterdir())]
    stats = [timed(lambda: [os.stat(path) for path in manifests]) for _ in range(WARM_ROUNDS)]
    return [
        judged(f"discovery of {SKILLS:,} skills, cold", cold, MOST_COLD),
        ("  reading their SKILL.md, no more", spread(reading), "", ""),
        ("  discovery / reading", ratio(cold, reading), "", ""),
        judged("  warm, nothing changed", warm, MOST_WARM),
        ("  one stat for each", spread(stats), "", ""),
        ("  warm / stats", ratio(warm, stats), "", ""),
    ]


def catalogs(root: Path) -> list[Row]:
    """The list for the model, and its tokens beside those of all bodies."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    from jupyter_skills.agent.prompt.catalog import budget, catalog
    from jupyter_skills.skills.skill import Skill

    skills = [Skill.from_path(folder) for folder in sorted(root.iterdir())[:LISTED]]
    everything, room = 10_000_000, budget(0.02, 200_000)
    whole = [timed(lambda: catalog(skills, everything)) for _ in range(CATALOG_ROUNDS)]
    shortened = [timed(lambda: catalog(skills, room)) for _ in range(CATALOG_ROUNDS)]
    bodies = "\n\n".join(skill.body for skill in skills)

    def tokens(text: str) -> int:
        return int(litellm.token_counter(model="gpt-4o", text=text))

    listed, all_bodies, share = (
        tokens(catalog(skills, everything).text),
        tokens(bodies),
        tokens(catalog(skills, room).text),
    )
    return [
        judged(f"catalog of {LISTED} skills", whole, MOST_CATALOG),
        judged(f"  shortened to 2 % of 200,000 tokens ({room:,} characters)", shortened, MOST_CATALOG),
        ("tokens of the catalog", f"{listed:,}", "", ""),
        ("  of the shortened one", f"{share:,}", "", ""),
        ("  of all bodies", f"{all_bodies:,}", "", ""),
        ("  bodies / catalog", f"{all_bodies / listed:.1f}", "", ""),
        ("  bodies / shortened catalog", f"{all_bodies / share:.1f}", "", ""),
    ]


def process(code: str) -> float:
    """What a fresh interpreter prints: milliseconds, without its own start and imports."""
    return float(subprocess.check_output([sys.executable, "-c", code]))


def timed(function: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    began = time.perf_counter()
    function()
    return (time.perf_counter() - began) * 1000


def spread(values: list[float]) -> str:
    """Median, and from where to where."""
    return f"{statistics.median(values):.1f} ms ({min(values):.1f} to {max(values):.1f})"


def ratio(ours: list[float], others: list[float]) -> str:
    """How many times the median of the others ours is."""
    return f"{statistics.median(ours) / statistics.median(others):.2f}"


def judged(name: str, values: list[float], most: float) -> Row:
    """A row with a bound, and whether the median keeps it."""
    return name, spread(values), f"<= {most:g} ms", "yes" if statistics.median(values) <= most else "NO"


if __name__ == "__main__":
    main()
