"""Markdown that grows: what becomes a page, and that all pages together are the text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_skills.markup.markdown import to_html
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
    """What goes over several pages as the one block that it is, whether lists are tight or loose."""
    html = re.sub(r"</code></pre>\n<pre><code[^>]*>", "", without_colours(html))
    html = re.sub(r"</tbody>\n</table>\n<table>.*?<tbody>\n", "", html, flags=re.DOTALL)
    html = re.sub(r"</([uo]l)>\n<\1[^>]*>\n", "", html)
    return re.sub(r"</?p>\n?|\n", "", html)


def grown(text: str, page: int, piece: int) -> list[tuple[str, str]]:
    growing = GrowingMarkdown(page)
    for part in pieces(text, piece):
        growing.add(part)
        growing.advance()
        growing.shown(len(growing.pages) - 1)
    return growing.finish()


TEXTS = st.lists(st.sampled_from(LINES), min_size=1, max_size=14).map("\n".join)
LIST_LINES = [
    "- a",
    "- b\n",
    "- # c",
    "- d\n\n  e",
    "-",
    "- x\n  - y",
    "- f | g",
    "|---|---|",
    "  in",
    " - h",
    "- $$",
    "",
    "* z",
]
LISTS = st.lists(st.sampled_from(LIST_LINES), min_size=1, max_size=14).map("\n".join)


@given(TEXTS | LISTS, st.integers(1, 12), st.sampled_from([1, 30, 60]))
def test_pages_joined_are_the_text_rendered_at_once(text: str, piece: int, page: int) -> None:
    pages = grown(text, page, piece)
    assert "".join(source for source, _ in pages) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert as_one_block("".join(html for _, html in pages)) == as_one_block(to_html(text))


@given(LISTS, st.integers(1, 12), st.sampled_from([1, 30, 60]))
def test_pages_of_lists_and_tables_are_the_same_however_the_text_comes(text: str, piece: int, page: int) -> None:
    assert grown(text, page, piece)[:-1] == grown(text, page, len(text) + 1)[:-1]


@given(TEXTS | LISTS)
def test_one_page_is_the_text_so_far_rendered_at_once_at_any_time(text: str) -> None:
    growing = GrowingMarkdown(page=10_000)
    for end, letter in enumerate(text, 1):
        growing.add(letter)
        growing.advance()
        if letter != "\r" and "]:" not in text:  # links may be defined after what uses them, and are put in at the end
            assert growing.shown(0)[1] == to_html(text[:end])
    assert "".join(html for _, html in growing.finish()) == to_html(text)


def test_a_paragraph_a_formula_and_a_quotation_are_never_torn_apart() -> None:
    text = "1. one\n\ntext\n| a | b |\n| - | - |\n| 1 | 2 |\n\n$$\nx\n\ny\n$$\n\n> quote\nlazy\n\nend\n"
    for size in range(1, len(text)):
        pages = [html for _, html in grown(text, 1, size)]
        assert "".join(pages) == to_html(text)
        assert [page[:4] for page in pages] == ["<ol>", "<p>t", "<tab", "<div", "<blo", "<p>e"]


def test_a_list_goes_on_with_its_numbers_on_the_next_page() -> None:
    text = "Before:\n\n3) one\n   - inner\n4) two\n5) three | x\n|---|---|\n\n6) four\n\nend\n"
    assert [html for _, html in grown(text, 20, 3)] == [
        '<p>Before:</p>\n<ol start="3">\n<li>one\n<ul>\n<li>inner</li>\n</ul>\n</li>\n</ol>\n',
        '<ol start="4">\n<li>two</li>\n<li>three | x\n|---|---|</li>\n</ol>\n',
        '<ol start="6">\n<li>four</li>\n</ol>\n<p>end</p>\n',
    ]


def test_a_list_is_tight_or_loose_by_what_of_it_is_on_the_page() -> None:
    text = "- one\n- two\n- three\n\n- four\n"
    assert [html.count("<p>") for _, html in grown(text, 1_000, 3)] == [4]
    assert [html.count("<p>") for _, html in grown(text, 10, 3)] == [0, 2]


def test_a_table_has_its_head_on_each_page() -> None:
    head = "| *a* | [b] |\n| - | -: |\n"
    text = head + "".join(f"| {number} | x |\n" for number in range(30)) + "\n[b]: /late\n"
    pages = [html for _, html in grown(text, 100, 5)]
    assert len(pages) > 2
    begin = to_html("| *a* | [b](/late) |\n| - | -: |\n| 1 | 1 |\n").partition("<tbody>")[0]
    assert all(page.startswith(begin) and "<td>" in page for page in pages)
    assert as_one_block("".join(pages)) == as_one_block(to_html(text))


def test_a_row_that_lacks_cells_does_not_fill_the_page_with_them() -> None:
    wide = "|" + "a|" * 100 + "\n|" + "-|" * 100 + "\n"
    pages = grown(wide + "x\n" * 3_000, 4_000, 2_000)
    assert sum(len(html) for _, html in pages) < 1_000_000


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


def calls_of(work: Callable[[], None]) -> int:
    """How many calls of functions it takes: the same each time."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    ("begin", "line"),
    [
        ("", "- an item with *emphasis* and `code`\n"),
        ("", "1. an item that is numbered\n"),
        ("", "- an item\n\n"),
        ("", "- an item\n  - one within\n  - another, `code`\n"),
        ("| a | b |\n| - | - |\n", "| one cell | another |\n"),
        ("```python\n", "    total = sum(values)\n"),
        ("", "Some *prose* with `code` and a formula, $a$.\n\n"),
        ("", "> a quotation of one line\n\n"),
    ],
    ids=["list", "numbers", "loose list", "nested list", "table", "fence", "prose", "quotations"],
)
def test_twice_the_text_is_about_twice_the_work(begin: str, line: str) -> None:
    def grow(lines: int) -> None:
        growing = GrowingMarkdown()
        growing.add(begin)
        for _ in range(0, lines, 5):
            growing.add(line * 5)
            growing.advance()
            growing.shown(len(growing.pages) - 1)
        growing.finish()

    lines = 12_000 // len(line) // 5 * 5
    grow(5)  # what is made at the first use
    once = calls_of(lambda: grow(lines))
    assert calls_of(lambda: grow(2 * lines)) <= 2.3 * once
