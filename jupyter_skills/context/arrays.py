"""Arrays of numpy: shape, type and statistics, and small ones whole."""

from __future__ import annotations

import math
import sys
from typing import Any

from jupyter_skills.context.kinds import Redact, brief, cleaned, is_a, size
from jupyter_skills.context.names import looks_secret

_WHOLE = 100
_FIRST = 10
_CHUNK = 1 << 20
_MOST = 100_000_000
_DIGITS = ".6g"


def array(name: str, value: Any, redact: Redact = str) -> str | None:
    """The description of an array; None for anything else."""
    if not is_a(value, "numpy", "ndarray"):
        return None
    kind = type(value).__name__ if is_a(value, "numpy", "MaskedArray", "matrix", "recarray") else "array"
    head = f"{kind} {name}: shape {value.shape}, {brief(str(value.dtype), 200, redact)}, {size(int(value.nbytes))}"
    if value.dtype.names:
        return _fields(head, value, redact)
    if is_a(value, "numpy", "MaskedArray"):
        head += f", {int(value.size - value.count()):,} masked"
        value = value.compressed()
    if value.dtype.kind == "b" and value.size <= _MOST:
        head += f"; {int(value.sum()):,} true"
    elif value.dtype.kind in "iuf" and value.size > 1:
        head += "; " + _statistics(value)
    elif value.dtype.kind in "mM" and 1 < value.size <= _MOST:
        head += f"; min {value.min()}, max {value.max()}"
    if value.size <= _WHOLE:
        items = value.tolist() if value.dtype.kind != "M" else value.astype(str).tolist()
        return f"{head}\n{_rows(items, redact)}"
    shown = [_item(item, redact) for item in value.flat[:_FIRST]]
    return f"{head}\nfirst values: {', '.join(shown)}, …"


def outline(value: Any, redact: Redact = str) -> str | None:
    """The same in a few words, for one within a list or the like."""
    if not is_a(value, "numpy", "ndarray"):
        return None
    if value.size <= _FIRST and not value.dtype.names:
        return f"array({_rows(value.tolist(), redact)}, {value.dtype})"
    return f"<array: shape {value.shape}, {brief(str(value.dtype), 60, redact)}>"


def _statistics(value: Any) -> str:
    """Smallest, mean, largest, deviation, and how many are no numbers; piece by piece, for a copy may not fit."""
    numpy: Any = sys.modules["numpy"]
    count = missing = infinite = seen = 0
    least: Any = None
    most: Any = None
    mean = spread = 0.0
    chunks = numpy.nditer(value, flags=["external_loop", "buffered", "zerosize_ok"], buffersize=_CHUNK, order="K")
    with numpy.errstate(all="ignore"):
        for chunk in chunks:
            seen += chunk.size
            if chunk.dtype.kind == "f":
                missing += int(numpy.isnan(chunk).sum())
                infinite += int(numpy.isinf(chunk).sum())
                chunk = chunk[numpy.isfinite(chunk)]
            if chunk.size:
                least = chunk.min() if least is None else min(least, chunk.min())
                most = chunk.max() if most is None else max(most, chunk.max())
                there = float(chunk.mean(dtype="float64"))
                apart = there - mean
                total = count + chunk.size
                spread += float(chunk.var(dtype="float64")) * chunk.size + apart * apart * count * chunk.size / total
                mean += apart * chunk.size / total
                count = total
            if seen >= _MOST:
                break
    told = []
    if count:
        deviation = math.sqrt(spread / count)
        told = [f"min {_item(least)}, mean {mean:{_DIGITS}}, max {_item(most)}, std {deviation:{_DIGITS}}"]
    told += [f"{missing:,} NaN"] if missing or value.dtype.kind == "f" else []
    told += [f"{infinite:,} infinite"] if infinite else []
    told += [f"of the first {seen:,} values"] if seen < value.size else []
    return ", ".join(told)


def _fields(head: str, value: Any, redact: Redact) -> str:
    lines = [head]
    for record in value.flat[:_FIRST]:
        cells = (
            f"{name}: {f'[redacted: {name}]' if looks_secret(name) else _item(record[name], redact)}"
            for name in value.dtype.names[:_WHOLE]
        )
        lines.append(", ".join(cells))
    return "\n".join([*lines, "…"] if value.size > _FIRST else lines)


def _rows(items: Any, redact: Redact) -> str:
    """Nested lists with each of the innermost in one line."""
    if not isinstance(items, list):
        return _item(items, redact)
    if not any(isinstance(item, list) for item in items):
        return f"[{', '.join(_item(item, redact) for item in items)}]"
    return "[" + ",\n ".join(_rows(item, redact).replace("\n", "\n ") for item in items) + "]"


def _item(item: object, redact: Redact = str) -> str:
    if isinstance(item, float):
        return "NaN" if math.isnan(item) else f"{item:{_DIGITS}}"
    if isinstance(item, str):
        item = repr(cleaned(str.__str__(item), 200, redact)[0])
    return brief(item, 200, redact)
