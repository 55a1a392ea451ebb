"""What it costs to be able to take back what code does to a namespace.

A snapshot before the code and a comparison after it, of namespaces of different kinds, with the time and memory that
settings allow by default. Run it on an idle machine:

    .venv/bin/python benchmarks/undo.py

It takes about half a minute and 2 GB of memory, needs no kernel, and exits with status 0 whatever it finds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from measuring import Row, judged, machine, show

from jupyter_skills.namespace.snapshot import Snapshot
from jupyter_skills.settings import JupyterSkills

REPEATS = 15
WARM_UP = 2
SETTINGS = JupyterSkills()
SECONDS, MEMORY = SETTINGS.undo_seconds, SETTINGS.undo_memory * 1_000_000

MOST_SECONDS = 200.0  # ms
MOST_MEMORY = 256.0  # MB

Names = dict[str, Any]


class Model:
    """An object with attributes, such as notebooks are full of."""

    def __init__(self, number: int) -> None:
        self.name = f"model {number}"
        self.weights = [float(number)] * 10
        self.options = {"depth": number, "seen": []}


def crowded() -> Names:
    """500 names with 1 GB of arrays among them: one large, some of a few megabytes, and many small things."""
    sizes = [40_000_000, *[4_000_000] * 10, *[1_000_000] * 40, *[10_000] * 100]
    arrays = {f"array{number}": np.full(size, float(number)) for number, size in enumerate(sizes)}
    rows = {f"rows{number}": [{"id": row, "tags": ["a", "b"]} for row in range(10)] for number in range(100)}
    models = {f"model{number}": Model(number) for number in range(100)}
    texts = {f"text{number}": f"text {number}" for number in range(149)}
    return {**arrays, **rows, **models, **texts}


def ordinary() -> Names:
    """50 names such as a notebook has after an hour."""
    makers: list[Callable[[int], Any]] = [
        lambda number: number,
        lambda number: f"text {number}",
        lambda number: list(range(20)),
        lambda number: {"a": [number], "b": "text"},
        lambda number: np.arange(100.0),
        lambda number: pd.DataFrame({"a": range(100), "b": ["text"] * 100}),
        Model,
    ]
    return {f"name{number}": makers[number % len(makers)](number) for number in range(50)}


def long_lists() -> Names:
    """Lists that take longer than there is time, and a small one."""
    return {"long": [None] * 10_000_000, "nested": [[number] for number in range(300_000)], "short": [1]}


def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('numpy', 'pandas')}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    for title, make in (("500 names, 1 GB of arrays", crowded), ("lists too long", long_lists)):
        rows += figures(title, make(), bounded=True)
    rows += figures("50 ordinary names", ordinary(), bounded=False)
    show(rows)


def figures(title: str, names: Names, bounded: bool) -> list[Row]:
    """Snapshots of one namespace, taken again and again."""
    namespace = {"__name__": "__main__", **names}
    taking, comparing, sizes, left, listed = [], [], [], [], 0
    for number in range(WARM_UP + REPEATS):
        began = time.perf_counter()
        snapshot = Snapshot.take(namespace, names, seconds=SECONDS, memory=MEMORY)
        taken = time.perf_counter()
        delta = snapshot.compare(namespace, names)
        done = time.perf_counter()
        assert not delta.changes
        if number >= WARM_UP:
            taking.append((taken - began) * 1000)
            comparing.append((done - taken) * 1000)
            sizes.append(snapshot.size / 1e6)
            left.append(missing(namespace, snapshot))
            listed = len(snapshot.uncovered)
        del snapshot, delta
    both = [one + other for one, other in zip(taking, comparing, strict=True)]
    middle = statistics.median(both)
    told = f"{middle:.1f} ms"
    rows: list[Row] = [
        (title, f"{len(names):,} names", "", ""),
        ("  snapshot", f"{statistics.median(taking):.1f} ms", "", ""),
        ("  comparison", f"{statistics.median(comparing):.1f} ms", "", ""),
    ]
    if not bounded:
        return [*rows, ("  both", told, "", ""), ("  copies, max", f"{max(sizes):.2f} MB", "", "")]
    return [
        *rows,
        judged("  both", told, middle, MOST_SECONDS, "ms"),
        judged("  both, max", f"{max(both):.1f} ms", max(both), MOST_SECONDS, "ms"),
        judged("  copies, max", f"{max(sizes):.1f} MB", max(sizes), MOST_MEMORY, "MB"),
        ("  names listed as not covered", f"{listed}", "", ""),
        judged("  neither copied nor listed, max", f"{max(left):.1f} MB", max(left), 0.0, "MB"),
    ]


def missing(namespace: Names, snapshot: Snapshot) -> float:
    """How many megabytes of arrays were not copied though nobody is told."""
    listed = {one.name for one in snapshot.uncovered}
    covered = sum(one.nbytes for name, one in namespace.items() if isinstance(one, np.ndarray) and name not in listed)
    return max(0.0, (covered - snapshot.size) / 1e6)


if __name__ == "__main__":
    main()
