"""Data frames, series and indexes of pandas and polars: their schema, and the first of their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jupyter_skills.context.kinds import Redact, brief, is_a, size
from jupyter_skills.context.names import looks_secret
from jupyter_skills.words import aligned, count

MOST_COLUMNS = 60
_SAMPLE_ROWS = 5
_SAMPLE_COLUMNS = 20
_VALUES = 10
_CELL = 40
_COUNTED_CELLS = 200_000_000
_OBJECT_COST = 10  # how many numbers take as long to look at as one object


@dataclass
class Table:
    """What is told of a table.

    Args:
        head: The line that it begins with.
        columns: Name, type and what more is known of each column that is named.
        more: How many columns aren't.
        names: The heads of the sample's columns.
        rows: The sample: labels, if it has any, and cells.
        notes: More lines, before the columns.
    """

    head: str
    columns: Sequence[tuple[str, str, str]] = ()
    more: int = 0
    names: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.head, *self.notes, *(f"  {line}" for line in aligned(self.columns))]
        if self.more:
            lines.append(f"  … and {self.more:,} more columns")
        if self.rows:
            lines += [f"first {len(self.rows)} rows:" if len(self.rows) > 1 else "first row:"]
            lines += aligned([self.names, *self.rows])
        return "\n".join(lines)


def table(name: str, value: Any, redact: Redact = str) -> str | None:
    """The description of a data frame, series or index; None for anything else."""
    if is_a(value, "pandas", "DataFrame"):
        return str(_pandas_frame(name, value, redact))
    if is_a(value, "pandas", "Series"):
        return _pandas_values(name, value, "Series", list(value.index[:_VALUES]), redact)
    if is_a(value, "pandas", "Index"):
        return _pandas_values(name, value, type(value).__name__, [], redact)
    if is_a(value, "polars", "DataFrame"):
        return str(_polars_frame(name, value, redact))
    if is_a(value, "polars", "LazyFrame"):
        schema = list(value.collect_schema().items())
        head = f"LazyFrame {name}: {count(len(schema), 'column')}, not computed"
        columns = [
            (brief(column, _CELL, redact), brief(str(kind), _CELL, redact), "")
            for column, kind in schema[:MOST_COLUMNS]
        ]
        return str(Table(head, columns, max(len(schema) - MOST_COLUMNS, 0)))
    if is_a(value, "polars", "Series"):
        length = len(value)
        head = f"Series {name}: {count(length, 'value')}, {value.dtype}, {length - value.null_count():,} non-null"
        return _listed(head, [_cell(each, redact, value.name, name) for each in value.head(_VALUES).to_list()], length)
    return None


def outline(value: Any) -> str | None:
    """The same in a few words, for one within a list or the like."""
    if is_a(value, "pandas", "DataFrame") or is_a(value, "polars", "DataFrame"):
        rows, columns = value.shape
        return f"<DataFrame: {count(rows, 'row')} x {count(columns, 'column')}>"
    if is_a(value, "pandas", "Series", "Index") or is_a(value, "polars", "Series"):
        return f"<{type(value).__name__}: {count(len(value), 'value')}, {brief(str(value.dtype), _CELL)}>"
    return "<LazyFrame>" if is_a(value, "polars", "LazyFrame") else None


def _pandas_frame(name: str, frame: Any, redact: Redact) -> Table:
    rows, width = frame.shape
    # One column at a time, never more than is told: a mask of the whole would be as large as the frame.
    budget = _COUNTED_CELLS
    columns: list[tuple[str, str, str]] = []
    for position in range(min(width, MOST_COLUMNS)):
        column = frame.iloc[:, position]
        kind = brief(str(column.dtype), _CELL, redact)
        budget -= rows * (1 if getattr(column.dtype, "kind", "O") in "biufcmM" else _OBJECT_COST)
        known = f"{int(column.count()):,} non-null" if budget >= 0 else "nulls not counted"
        columns.append((brief(_title(frame.columns[position]), _CELL, redact), kind, known))
    used = size(int(frame.memory_usage(index=True, deep=False).sum()))
    shown = range(min(width, _SAMPLE_COLUMNS))
    titles = [_title(frame.columns[position]) for position in shown]
    sample = [
        [
            _cell(frame.index[row], redact, *map(str, frame.index.names)),
            *(_cell(frame.iloc[row, position], redact, titles[position]) for position in shown),
        ]
        for row in range(min(rows, _SAMPLE_ROWS))
    ]
    return Table(
        f"DataFrame {name}: {count(rows, 'row')} x {count(width, 'column')}, {used}",
        columns,
        max(width - MOST_COLUMNS, 0),
        ["", *(brief(title, _CELL, redact) for title in titles), *(["…"] if width > _SAMPLE_COLUMNS else [])],
        sample,
        [] if is_a(frame.index, "pandas", "RangeIndex") else [f"index: {_index(frame.index, redact)}"],
    )


def _index(index: Any, redact: Redact) -> str:
    named = [brief(str(name), _CELL, redact) for name in index.names if name is not None]
    kind = "" if index.nlevels > 1 else f", {brief(str(index.dtype), _CELL, redact)}"
    return f"{type(index).__name__}{' ' + ', '.join(named) if named else ''}{kind}"


def _pandas_values(name: str, values: Any, kind: str, labels: list[Any], redact: Redact) -> str:
    length = len(values)
    head = f"{kind} {name}: {count(length, 'value')}, {brief(str(values.dtype), _CELL, redact)}"
    numeric = getattr(values.dtype, "kind", "O") in "iuf"
    if length <= _COUNTED_CELLS // (1 if numeric else _OBJECT_COST):
        head += f", {length - int(values.isna().sum()):,} non-null" if labels or kind == "Series" else ""
        if numeric and labels:
            told = ((word, getattr(values, word)()) for word in ("min", "mean", "max", "std"))
            head += "; " + ", ".join(f"{word} {_number(number)}" for word, number in told)
    shown = [
        _cell(each, redact, str(values.name), name, str(label)) for each, label in _labelled(values[:_VALUES], labels)
    ]
    if labels:
        rows = [
            (_cell(label, redact, *map(str, values.index.names)), cell)
            for label, cell in zip(labels, shown, strict=False)
        ]
        more = [f"… and {length - len(rows):,} more"] if length > len(rows) else []
        return "\n".join([head, *aligned(rows), *more])
    return _listed(head, shown, length)


def _labelled(values: Any, labels: list[Any]) -> list[tuple[Any, Any]]:
    first = [values.iloc[i] if hasattr(values, "iloc") else values[i] for i in range(len(values))]
    return list(zip(first, labels or [""] * len(first), strict=False))


def _polars_frame(name: str, frame: Any, redact: Redact) -> Table:
    rows, width = frame.shape
    titles = list(frame.columns)
    kinds = list(frame.dtypes)
    columns = [
        (
            brief(titles[i], _CELL, redact),
            brief(str(kinds[i]), _CELL, redact),
            f"{rows - frame.to_series(i).null_count():,} non-null",
        )
        for i in range(min(width, MOST_COLUMNS))
    ]
    shown = titles[:_SAMPLE_COLUMNS]
    sample = [
        [_cell(cell, redact, title) for cell, title in zip(row, shown, strict=True)]
        for row in frame[:, :_SAMPLE_COLUMNS].head(_SAMPLE_ROWS).rows()
    ]
    shape = f"{count(rows, 'row')} x {count(width, 'column')}"
    return Table(
        f"DataFrame {name} (polars): {shape}, {size(int(frame.estimated_size()))}",
        columns,
        max(width - MOST_COLUMNS, 0),
        [*(brief(title, _CELL, redact) for title in shown), *(["…"] if width > _SAMPLE_COLUMNS else [])],
        sample,
    )


def _title(label: object) -> str:
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _cell(value: object, redact: Redact, *names: str) -> str:
    """A value in a table; one whose column, or whose own label, is called like a secret is left out."""
    for name in names:
        if looks_secret(name):
            return f"[redacted: {brief(name, _CELL, redact)}]"
    if is_a(value, "pandas", "Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType"):
        return brief(str(value), _CELL, redact)
    if isinstance(value, tuple):  # a label of several levels
        return brief(" / ".join(_cell(each, redact) for each in value[:10]), _CELL, redact)
    return _number(value, redact)


def _number(value: Any, redact: Redact = str) -> str:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.6g}"
    return brief(value, _CELL, redact)


def _listed(head: str, shown: list[str], length: int) -> str:
    if not shown:
        return head
    more = f", … and {length - len(shown):,} more" if length > len(shown) else ""
    return f"{head}\n{', '.join(shown)}{more}"
