"""Figures, pictures, and whatever else can show itself as a picture."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from jupyter_skills.context.kinds import is_a, own_method
from jupyter_skills.context.parts import Picture
from jupyter_skills.context.pictures import LONGEST_SIDE, in_common_colours, shrunk
from jupyter_skills.execution.output import IMAGE_TYPES, decoded_image

_DPI = 100


def picture(name: str, value: Any) -> Picture | None:
    """A value as a picture; None if it is none.

    Raises:
        Exception: Drawing it went wrong in a way of its own.
    """
    label = f"figure {name}"
    for content in _contents(value):
        image = decoded_image(content)
        if image is not None:
            return Picture(shrunk(image), label if _figure(value) is not None else f"image {name}")
    return None


def _contents(value: Any) -> Iterator[object]:
    """Bytes, or their base64, that may be a picture of the value."""
    if is_a(value, "PIL", "Image"):
        yield _saved(value)
        return
    figure = _figure(value)
    if figure is not None:
        yield _drawn(figure)
        return
    bundle_of = own_method(value, "_repr_mimebundle_")
    if bundle_of is not None:
        bundle = bundle_of(include=None, exclude=None)
        data = bundle[0] if isinstance(bundle, tuple) and bundle else bundle
        if isinstance(data, dict):
            yield from (data[kind] for kind in IMAGE_TYPES.values() if kind in data)
    for kind in ("png", "jpeg"):
        method = own_method(value, f"_repr_{kind}_")
        if method is not None:
            shown = method()
            yield shown[0] if isinstance(shown, tuple) and shown else shown


def _figure(value: Any) -> Any:
    """The figure that a value of matplotlib's is, or is in; None for anything else."""
    if is_a(value, "matplotlib", "Figure"):
        return value
    if is_a(value, "matplotlib", "_AxesBase"):
        return value.get_figure()
    if is_a(value, "numpy", "ndarray") and value.dtype.kind == "O" and value.size:
        first = value.flat[0]  # what plt.subplots(2, 2) gives
        return first.get_figure() if is_a(first, "matplotlib", "_AxesBase") else None
    return None


def _drawn(figure: Any) -> bytes:
    while hasattr(figure, "get_figure") and figure.get_figure() not in (None, figure):
        figure = figure.get_figure()  # a figure within a figure can't be saved by itself
    file = io.BytesIO()
    longest = max(*figure.get_size_inches(), 0.1)
    figure.savefig(file, format="png", dpi=max(1, min(_DPI, LONGEST_SIDE / longest)))
    return file.getvalue()


def _saved(image: Any) -> bytes:
    copy = in_common_colours(image)
    copy.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    file = io.BytesIO()
    copy.save(file, format="PNG")
    return file.getvalue()
