"""Pictures made small enough for any provider."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from jupyter_skills.execution.result import Image

if TYPE_CHECKING:
    import PIL.Image

LONGEST_SIDE = 1568
"""In pixels: beyond it providers make pictures smaller themselves, and charge for more."""

MOST_BYTES = 3_500_000
"""Providers take 5 MB, as base64, which makes three bytes four."""


def shrunk(picture: Image) -> Image:
    """A picture that a provider takes: the same if it does already, else one that is smaller, or does not move.

    Args:
        picture: One that was checked.
    """
    import PIL.Image
    import PIL.ImageOps

    fits = max(picture.width, picture.height) <= LONGEST_SIDE and len(picture.data) <= MOST_BYTES
    with PIL.Image.open(io.BytesIO(picture.data)) as opened:
        if fits and getattr(opened, "n_frames", 1) == 1:
            return picture
        kind = opened.format
        opened.seek(0)
        image = in_common_colours(PIL.ImageOps.exif_transpose(opened))
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), PIL.Image.Resampling.LANCZOS)
    data = _written(image, "JPEG", 90) if kind == "JPEG" else _written(image, "PNG")
    mime_type = "image/jpeg" if kind == "JPEG" else "image/png"
    if len(data) > MOST_BYTES:
        mime_type = "image/jpeg"
        flat = _on_white(image)
        for quality in (85, 60, 30):  # at the last one any picture of that side is below 1 MB
            data = _written(flat, "JPEG", quality)
            if len(data) <= MOST_BYTES:
                break
    return Image(data, mime_type, *image.size)


def in_common_colours(image: PIL.Image.Image) -> PIL.Image.Image:
    """The same picture with 8 bits of grey or of each colour."""
    if image.mode == "F":
        return image.convert("L")
    if image.mode.startswith("I"):  # of 16 bits of grey, or more, conversion would make all white beyond 255
        grey = image.convert("I")
        _, most = grey.getextrema()
        scale = 1 / 256 if isinstance(most, int) and most > 255 else 1
        return grey.point(lambda value: value * scale).convert("L")
    if image.mode in ("L", "RGB", "RGBA"):
        return image.copy()
    seen_through = image.mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info
    return image.convert("RGBA" if seen_through else "RGB")


def _on_white(image: PIL.Image.Image) -> PIL.Image.Image:
    import PIL.Image

    if image.mode != "RGBA":
        return image
    white = PIL.Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


def _written(image: PIL.Image.Image, kind: str, quality: int = 0) -> bytes:
    file = io.BytesIO()
    if kind == "JPEG":
        _on_white(image).save(file, kind, quality=quality, optimize=True)
    else:
        image.save(file, kind, optimize=True)
    return file.getvalue()
