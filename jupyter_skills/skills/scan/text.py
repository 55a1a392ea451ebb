"""Text as a reader sees it and as it is: characters that don't show, and the parts of a Markdown file."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from jupyter_skills.skills.scan.rules import Level
from jupyter_skills.words import shortened

LONGEST_EXCERPT = 110

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]+"
)
# England, Scotland, Wales: a black flag spelled out in tag characters.
_FLAG = re.compile("[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_ISOLATES = frozenset("\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\u180e\ufeff")
# Scripts that need joiners to be spelled right, and those that have no blanks between words.
_JOINING = re.compile(
    "ARABIC|SYRIAC|THAANA|NKO|HEBREW|MONGOLIAN|DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|ORIYA|TAMIL|TELUGU|KANNADA|"
    "MALAYALAM|SINHALA|THAI|LAO|KHMER|MYANMAR|TIBETAN"
)
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})[ \t]*([^\n`]{0,80})")


@dataclass(frozen=True)
class Fence:
    """A block of code in Markdown: what language it says it is, its text, and the line of its first line."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Lines:
    """Finds the line of an offset in a text."""

    text: str = field(repr=False)
    starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", [0, *(match.end() for match in re.finditer("\n", self.text))])

    def at(self, offset: int) -> int:
        """The line's number, from 1."""
        return bisect_right(self.starts, offset)

    def span(self, line: int) -> tuple[int, int]:
        """Where a line begins and ends, or where it is at its 200th character."""
        start = self.starts[min(line, len(self.starts)) - 1]
        end = self.text.find("\n", start, start + 200)
        return start, min(len(self.text), start + 200) if end < 0 else end


def visible(text: str) -> str:
    """A text with every character that doesn't show, or that changes how others show, as an escape."""
    return "".join(character if _shows(character) else _escape(character) for character in text)


def excerpt(text: str, start: int, end: int) -> str:
    """What stands from start to end of a text, and around it in its line, as one short visible line."""
    first = max(text.rfind("\n", max(0, start - 30), start) + 1, start - 30)
    last = text.find("\n", end, end + 200)
    shown = " ".join(visible(text[first : min(end + 200 if last < 0 else last, start + 400)]).split())
    return shortened(shown, LONGEST_EXCERPT)


def hidden_text(text: str, code: bool) -> Iterator[tuple[int, int, Level, str]]:
    """Finds characters that a reader can't see.

    Args:
        text: A whole file.
        code: Whether it is code, where marks of direction have no business.

    Yields:
        Start, end, level and a message for each run of them.
    """
    for match in _HIDDEN.finditer(text):
        start, end = match.span()
        if start == 0 and match.group() == "\ufeff":
            continue
        verdict = _judged(match.group(), text[max(0, start - 1) : start], text[end : end + 1], code)
        if verdict:
            yield start, end, *verdict


def markdown_parts(text: str) -> tuple[str, list[Fence]]:
    """Takes Markdown apart.

    Returns:
        The text with its fenced code blanked out, so that offsets stay what they are; and the fences.
    """
    prose: list[str] = []
    fences: list[Fence] = []
    inside: list[str] = []
    mark, language, since = "", "", 0
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.match(line)
        if mark:
            if fence and fence[1].startswith(mark) and not fence[2].strip():
                fences.append(Fence(language, "\n".join(inside), since))
                mark = ""
            else:
                inside.append(line)
            prose.append(" " * len(line))
        elif fence:
            mark, language, since, inside = fence[1], fence[2].split(" ")[0].strip("{}.").lower(), number + 1, []
            prose.append(" " * len(line))
        else:
            prose.append(line)
    if mark:
        fences.append(Fence(language, "\n".join(inside), since))
    return "\n".join(prose), fences


def _shows(character: str) -> bool:
    if character in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" or "\ufe00" <= character <= "\ufe0f":
        return False
    if "\U000e0100" <= character <= "\U000e01ef":
        return False
    return character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _judged(run: str, before: str, after: str, code: bool) -> tuple[Level, str] | None:
    """What to say of a run of characters that don't show, if anything; ``before`` and ``after`` stand next to it."""
    kinds = set(run)
    if any("\U000e0000" <= c <= "\U000e007f" for c in kinds):
        if before == "\U0001f3f4" and _FLAG.fullmatch(run):
            return None
        return "alert", "Holds text in tag characters, which no reader sees and a model reads"
    if kinds & {"\u202d", "\u202e"} or (code and kinds & _ISOLATES):
        return "alert", "Holds marks that make text show in another order than it is read"
    selectors = sum(_is_selector(c) for c in run)
    if selectors > 1 or (selectors and run[0] not in "\ufe0e\ufe0f" and before.isascii() and before.isalpha()):
        return "alert", "Holds variation selectors that select nothing and can carry a hidden text"
    zero = sum(c in _ZERO_WIDTH for c in run)
    if zero >= 4 or kinds & {"\u2061", "\u2062", "\u2063", "\u2064"}:
        return "alert", "Holds a run of characters without width, which can carry a hidden text"
    if selectors or _is_emoji(before):
        return None
    if kinds & _ISOLATES:
        return "note", "Holds marks that set the direction of text"
    if zero and not (_joins(before) or _joins(after)):
        if before.isalnum() and after.isalnum() and before.isascii() and after.isascii():
            return "alert", "Holds characters without width inside of a word, which then isn't the word it shows as"
        return "note", "Holds characters without width"
    if kinds & {"\u3164", "\uffa0", "\u115f", "\u1160"} and code:
        return "alert", "Holds letters that don't show, which can be names in code"
    if "\u00ad" in kinds:
        return "note", "Holds soft hyphens"
    if any(c < " " or c == "\x7f" for c in kinds):
        return "note", "Holds control characters"
    return None


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_emoji(character: str) -> bool:
    return bool(character) and unicodedata.category(character) in {"So", "Sk"}


def _joins(character: str) -> bool:
    return bool(character) and bool(_JOINING.match(unicodedata.name(character, "")))
