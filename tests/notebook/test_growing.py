"""Markdown that grows: what becomes a page, and that all pages together are the text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.agent.markdown import to_html
from jupyter_skills.notebook.render.growing import GrowingMarkdown

TEXT = (
    "Some *prose* with `code`.\n\n## A title\n\n- one\n- two\n  - three\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n"
    "```python\ndef double(x):\n    return 2 * x  # twice\n```\n\n"
)
LINES = [
    *["para", "more", "*em* and `code`", "[a] and [b] and [c]", "# title", "===", "---", "", "", "", "\\alpha $x$"],
    *["- a", "* b", "1. one", "2", "2. two", "  - inner", "  inner", "    four", "\t- tab", "1. ", "-", "*"],
    *["> quote", "> $$", "> [c]: /c", "lazy", "```py", "```", "``` x", "~~~", "| a | b |", "| - | - |", "|--|"],
    *["$$", "x $$", "- $$", "$$ (label)", "$$a$$ and b", "[a]: /x", "[b]:", "/y", "'title", "end'", "[a]: /z 'q'"],
    *["<b>html</b>", "![picture](/p.png)", "text  ", "\r", "\x00", "ünï → 漢字"],
]


def pieces(text: str, size: int = 4) -> list[str]:
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


def without_colours(html: str) -> str:
    return re.sub(r"<span style[^>]*>|</span>", "", html)


def as_one_block(html: str) -> str:
    """Code that goes over several pages as the one block that it is."""
    return re.sub(r"</code></pre>\n<pre><code[^>]*>", "", without_colours(html))


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=14), st.integers(1, 12), st.sampled_from([1, 30, 60]))
def test_pages_joined_are_the_text_rendered_at_once(lines: list[str], piece: int, page: int) -> None:
    text = "\n".join(lines)
    growing = GrowingMarkdown(page)
    for part in pieces(text, piece):
        growing.add(part)
        growing.advance()
        growing.shown(len(growing.pages) - 1)
    pages = growing.finish()
    assert "".join(source for source, _ in pages) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert as_one_block("".join(html for _, html in pages)) == as_one_block(to_html(text))


def test_a_list_a_table_and_a_formula_are_never_torn_apart() -> None:
    text = "1. one\n\n2. two\n\ntext\n| a | b |\n| - | - |\n| 1 | 2 |\n\n$$\nx\n\ny\n$$\n\n> quote\nlazy\n\nend\n"
    for size in range(1, len(text)):
        growing = GrowingMarkdown(page=1)
        for piece in pieces(text, size):
            growing.add(piece)
            growing.advance()
        pages = [html for _, html in growing.finish()]
        assert "".join(pages) == to_html(text)
        assert [page[:4] for page in pages] == ["<ol>", "<p>t", "<tab", "<div", "<blo", "<p>e"]


def test_what_is_shown_on_the_way_is_the_text_so_far() -> None:
    growing = GrowingMarkdown(page=60)
    text = TEXT * 4
    for end, letter in enumerate(text, 1):
        growing.add(letter)
        growing.advance()
        shown = "".join(growing.shown(number)[1] for number in range(len(growing.pages)))
        assert shown == to_html(text[:end])


def test_a_long_code_block_goes_over_pages_by_lines_and_keeps_its_language() -> None:
    text = "Look:\n\n~~~~python\n" + "```\nif x:\n" * 40 + "~~~~\n\nDone."
    growing = GrowingMarkdown(page=100)
    for piece in pieces(text, 7):
        growing.add(piece)
        growing.advance()
    pages = growing.finish()
    assert len(pages) > 3
    assert "".join(source for source, _ in pages) == text
    assert all('<code class="language-python">' in html for _, html in pages)
    assert as_one_block("".join(html for _, html in pages)) == as_one_block(to_html(text))


def test_the_title_of_a_definition_may_come_after_it() -> None:
    text = "[a]\n\n[a]: /x\n'a title\nof two lines'\n\nend\n"
    growing = GrowingMarkdown(page=1)
    for letter in text:
        growing.add(letter)
        growing.advance()
    html = "".join(html for _, html in growing.finish())
    assert html == to_html(text)
    assert 'title="a title\nof two lines"' in html
