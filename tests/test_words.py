"""Words for people."""

from __future__ import annotations

import pytest

from jupyter_skills.words import shortened


@pytest.mark.parametrize("text", ["", "abc", "abcd"])
def test_a_text_that_fits_stays_as_it_is(text: str) -> None:
    assert shortened(text, 4) == text


@pytest.mark.parametrize("text", ["abcde", "abc" * 1000])
def test_a_longer_text_is_cut_to_as_many_characters_and_shows_it(text: str) -> None:
    assert shortened(text, 4) == "abc…"
