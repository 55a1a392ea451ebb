"""What the user gave, and what code made, as the content of a message: for models that see, and for those that don't.

Source: OpenAI API reference, "Create chat completion", content parts; litellm turns them into every other form.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from jupyter_skills.context.parts import Document, Part, Picture
from jupyter_skills.context.pictures import shrunk
from jupyter_skills.execution.result import Image
from jupyter_skills.models.client import Message, ModelFacts

_MOST_PICTURES = 8
_OF_CODE = "Pictures that this code made:"

Content = str | list[dict[str, Any]]


def content_of(parts: Sequence[Part], facts: ModelFacts, redact: Callable[[str], str]) -> Content:
    """A user's prompt as a message's content: plain text if it is nothing but text.

    Args:
        parts: The prompt.
        facts: Whether the model takes pictures and documents; it gets a description otherwise.
        redact: Called with each text; returns it without secrets.
    """
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, str):
            _add_text(content, redact(part))
        elif isinstance(part, Picture):
            _add_text(content, redact(f"[picture: {_described(part)}]"))
            if facts.sees:
                content.append(_picture(part.image))
        else:
            _add_text(content, redact(f"[document: {part.label}, {part.mime_type}, {len(part.data):,} bytes]"))
            if facts.reads_pdf:
                content.append(_document(part, redact(part.label)))
    if all(part["type"] == "text" for part in content):
        return "".join(part["text"] for part in content)
    return content


def not_sent(parts: Sequence[Part], facts: ModelFacts) -> list[str]:
    """The labels of the pictures and documents that the model gets a description of only."""
    return [
        part.label
        for part in parts
        if (isinstance(part, Picture) and not facts.sees) or (isinstance(part, Document) and not facts.reads_pdf)
    ]


def pictures_message(images: Sequence[Image]) -> Message:
    """The pictures that code made, as the message that follows its results.

    A tool's result can't hold pictures with most providers, so they come as the user's.
    """
    more = len(images) - _MOST_PICTURES
    text = f"{_OF_CODE} (the first {_MOST_PICTURES} of {len(images)})" if more > 0 else _OF_CODE
    return {"role": "user", "content": [_text(text), *map(_picture, images[:_MOST_PICTURES])]}


def without_media(message: Message) -> Message:
    """A message with a line in the place of each picture and document; the message itself if it has none."""
    content = message.get("content")
    if not isinstance(content, list) or all(part.get("type") == "text" for part in content):
        return message
    # A picture of the user's is described before it; one that code made, in the code's result.
    texts = [part["text"] for part in content if part.get("type") == "text"]
    return {**message, "content": "".join(texts) + " [not sent again]"}


def _described(picture: Picture) -> str:
    image = picture.image
    return f"{picture.label}, {image.width}x{image.height} pixels, {image.mime_type}"


def _add_text(content: list[dict[str, Any]], text: str) -> None:
    if content and content[-1]["type"] == "text":
        content[-1]["text"] += text
    elif text:
        content.append(_text(text))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(image: Image) -> dict[str, Any]:
    image = shrunk(image)
    return {"type": "image_url", "image_url": {"url": _data_url(image.mime_type, image.data)}}


def _document(document: Document, name: str) -> dict[str, Any]:
    data = _data_url(document.mime_type, document.data)
    return {"type": "file", "file": {"file_data": data, "filename": name}}


def _data_url(mime_type: str, data: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"
