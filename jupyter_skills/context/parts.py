"""What a prompt is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupyter_skills.execution.result import Image


@dataclass(frozen=True)
class Picture:
    """A picture in a prompt.

    Args:
        image: The picture.
        label: What it is, for models that don't see and for the user: ``figure fig``, ``plot.png``.
    """

    image: Image
    label: str


@dataclass(frozen=True)
class Document:
    """A document that a model may read as a whole.

    Args:
        data: Its bytes.
        mime_type: ``application/pdf``.
        label: What it is, as for a picture.
    """

    data: bytes = field(repr=False)
    mime_type: str
    label: str


Part = str | Picture | Document


def merged(parts: list[Part]) -> list[Part]:
    """The same parts with adjacent texts joined and empty ones left out."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in [*parts, None]:
        if isinstance(part, str):
            texts.append(part)
            continue
        if text := "".join(texts):
            joined.append(text)
        texts = []
        if part is not None:
            joined.append(part)
    return joined
