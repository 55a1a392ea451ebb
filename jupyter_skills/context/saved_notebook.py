"""A saved notebook as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jupyter_skills.execution.output import bounded, clean_text, compact_error

_MOST_OUTPUT = 4_000


def notebook_text(saved: str) -> str | None:
    """The cells of a notebook with what they printed; None if it is no notebook.

    Args:
        saved: The content of an ``.ipynb``.
    """
    try:
        cells = json.loads(saved)["cells"]
        return "\n".join(line for number, cell in enumerate(cells, 1) for line in _cell(number, cell))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _cell(number: int, cell: dict[str, Any]) -> Iterator[str]:
    yield f"--- cell {number}: {cell['cell_type']} ---"
    yield _text(cell["source"])
    outputs = [told for output in cell.get("outputs", ()) if (told := _output(output))]
    if outputs:
        yield "--- output ---"
        yield from outputs


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        told = _text(output["text"])
    elif output["output_type"] == "error":
        told = compact_error(output["ename"], output["evalue"], output["traceback"])
    else:
        data = output["data"]
        images = [f"({kind})" for kind in data if kind.startswith("image/")]
        told = "\n".join([*images, _text(data.get("text/markdown", data.get("text/plain", "")))])
    return bounded(clean_text(told), _MOST_OUTPUT).strip("\n")


def _text(lines: str | list[str]) -> str:
    """Text as notebooks hold it: whole, or in lines."""
    return lines if isinstance(lines, str) else "".join(lines)
