"""What may come out of the sandbox."""

from __future__ import annotations

import base64
import io
from typing import Any

import PIL.Image
import pytest

from jupyter_skills.execution.output import bounded, checked_image, clean_text, compact_error, from_mime_bundle


def picture(kind: str = "PNG", size: tuple[int, int] = (3, 2)) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]52;c;cm0gLXJm\x07copied", "copied"),
        ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("\x1b]0;never ends", ""),
        ("\x1bPq#0\x1b\\", "q#0"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("a\r\nb", "a\nb"),
        ("bell\x07 nul\x00 c1\x9b31m", "bell nul c131m"),
        ("ünïcode 技能", "ünïcode 技能"),
    ],
)
def test_text_comes_without_anything_that_acts_on_a_terminal(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_pictures_are_known_by_their_content(kind: str) -> None:
    image = checked_image(picture(kind))
    assert image is not None
    assert (image.mime_type, image.width, image.height) == (f"image/{kind.lower()}", 3, 2)


@pytest.mark.parametrize(
    "data",
    [b"", b"<svg onload='alert(1)'/>", b"GIF89a", picture()[:30], picture("BMP"), picture("TIFF"), b"%PDF-1.7"],
    ids=["nothing", "svg", "gif head", "cut png", "bmp", "tiff", "pdf"],
)
def test_what_is_no_whole_picture_of_a_known_kind_is_none(data: bytes) -> None:
    assert checked_image(data) is None


def test_a_picture_that_would_fill_the_memory_is_none() -> None:
    assert checked_image(picture(size=(9000, 2))) is None
    bomb = bytearray(picture())
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    assert checked_image(bytes(bomb)) is None


def test_a_picture_that_would_keep_a_decoder_busy_is_none() -> None:
    buffer = io.BytesIO()
    PIL.Image.new("L", (8192, 4800)).save(buffer, "JPEG", progressive=True)
    whole = buffer.getvalue()
    assert checked_image(whole) is not None
    last_scan = whole[whole.rindex(b"\xff\xc4", 0, whole.rindex(b"\xff\xda")) : -2]
    assert checked_image(whole[:-2] + last_scan * 10_000 + whole[-2:]) is None


@pytest.mark.parametrize(
    "bundle",
    [
        {"text/html": "<script>x</script>"},
        {"application/javascript": "x"},
        {"image/svg+xml": "<svg/>"},
        {"text/latex": "\\href{javascript:x}{y}"},
        {"text/markdown": "<img onerror=x>"},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}},
        {"image/png": "not base64!"},
        {"image/png": base64.b64encode(b"<svg/>").decode()},
        {"image/png": ["a", "list"]},
        {"image/jpeg": base64.b64encode(picture("PNG")).decode()},
        {"text/plain": ["no", "text"]},
        {},
    ],
)
def test_everything_else_stays_behind(bundle: dict[str, Any]) -> None:
    assert from_mime_bundle(bundle) == (None, "")


def test_a_picture_goes_before_its_text() -> None:
    image, text = from_mime_bundle({"image/png": base64.b64encode(picture()).decode(), "text/plain": "<Figure>"})
    assert image is not None
    assert text == ""
    assert from_mime_bundle({"text/html": "<b>1</b>", "text/plain": "1\x1b[0m"}) == (None, "1")


def test_long_text_keeps_its_beginning_and_its_end() -> None:
    cut = bounded("a" * 5000 + "z" * 5000, 300)
    assert cut.startswith("a" * 200 + "\n… 9,700 characters left out …\n")
    assert cut.endswith("z" * 100)
    assert bounded("short", 300) == "short"


def test_an_error_ends_in_what_was_raised_once() -> None:
    assert compact_error("E", "x", ["\x1b[31mTraceback\x1b[0m", "E: x"]) == "Traceback\nE: x"
    assert compact_error("E", "x", None) == "E: x"
    assert compact_error("E", "x", ["Traceback"]) == "Traceback\nE: x"
