"""Making the image that the isolated kernel runs from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from jupyter_skills.sandbox.docker.engine import Engine

_HERE = Path(__file__).parent
_RECIPE = ("Dockerfile", "requirements.txt", "ipython_kernel_config.py")
RECIPE_LABEL = "jupyter_skills.recipe"


def _context() -> dict[str, bytes]:
    return {name: (_HERE / name).read_bytes() for name in _RECIPE}


def recipe() -> str:
    """The digest of what the image is made from; an image with another one was made by another release."""
    parts = (f"{name}\0".encode() + content for name, content in sorted(_context().items()))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def is_usable(labels: Mapping[str, str] | None) -> bool:
    """Whether an image will do.

    Args:
        labels: The image's labels; None if there is no such image. One without a recipe of ours is the
            user's own, and theirs to judge.
    """
    return labels is not None and labels.get(RECIPE_LABEL) in (None, recipe())


def build(engine: Engine, image: str, base: str | None = None) -> Iterator[str]:
    """Builds the image, yielding the build's output as it comes.

    Args:
        engine: Where to build.
        image: Its name.
        base: The image to build upon; None for the official slim Python image.

    Raises:
        BuildFailed: The build failed. An older image of that name stays in use.
    """
    return engine.build(image, _context(), base, {RECIPE_LABEL: recipe()})
