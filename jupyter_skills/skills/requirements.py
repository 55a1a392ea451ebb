"""What a skill's code needs to be installed: the packages that its files declare, and nothing else they ask for.

A stranger's skill may name packages. It may not choose where they come from, have code run to build them, or
read files of the host's: options, addresses and paths are refused, each with a sentence that says where it stands.

Sources: pip, "Requirements File Format"; PyPA specifications, "Dependency specifiers" and "Inline script metadata".
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from jupyter_skills.errors import InvalidSkill, UsageProblem
from jupyter_skills.skills.skill import Skill
from jupyter_skills.words import plain

REQUIREMENTS_FILE = "requirements.txt"

# Bounds far above what people write, and low enough that no parser is kept busy.
_MOST_BYTES = 1024 * 1024
_MOST_TOML = 64 * 1024
_MOST_ENTRIES = 500
_LONGEST = 500
_LONGEST_SHOWN = 80

_COMMENT = re.compile(r"(^|\s)#.*")
_OPENING = re.compile(r"# /// ([A-Za-z0-9-]+)")
_CLOSING = "# ///"
_NEXT_OPTION = re.compile(r"\s--?[A-Za-z]")
_ARCHIVE = re.compile(r"\.(whl|egg|zip|tar|tgz|tbz|txz|tar\.\w+)(\[.*)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Requirements:
    """What the files of a skill declare.

    Args:
        wanted: The packages, as sorted and unique dependency specifiers in one spelling.
        refused: What was declared and will not be installed: one sentence each, with its file and line.
    """

    wanted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class _NotPlain(ValueError):
    """Text is no plain requirement; its message is the rest of a sentence that begins with that text."""


class _Collector:
    """Takes what the files declare, until there is too much of it."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._refused: list[str] = []
        self._left = _MOST_ENTRIES

    def take(self, text: str, where: str) -> bool:
        """Takes one requirement as it is written; false if no more will be taken."""
        if not self._left:
            self.refuse(f"{where}: more than {_MOST_ENTRIES} packages are declared, and the rest is left out")
            return False
        self._left -= 1
        try:
            self._wanted.add(_normalised(text))
        except _NotPlain as error:
            self.refuse(f"{where}: {_shown(text)} {error}")
        return True

    def refuse(self, sentence: str) -> None:
        self._refused.append(sentence)

    def result(self) -> Requirements:
        return Requirements(tuple(sorted(self._wanted)), tuple(self._refused))


def requirements_of(skill: Skill) -> Requirements:
    """What a skill declares in its ``requirements.txt`` and in the script blocks of its Python files.

    Nothing is run or installed, and a file that makes no sense is told of, not raised.

    Raises:
        InvalidSkill: The skill has too many files to be one.
    """
    found = _Collector()
    for path in skill.files():
        if path == REQUIREMENTS_FILE or path.endswith(".py"):
            try:
                content = skill.content.entry(path).content
            except InvalidSkill as error:
                found.refuse(error.message)
                continue
            if len(content) > _MOST_BYTES:
                if path == REQUIREMENTS_FILE:
                    found.refuse(f"{path}: it has more than {_MOST_BYTES >> 20} MiB, and is not read")
                continue
            more = _from_script if path.endswith(".py") else _from_list
            if not more(content, path, found):
                break
    return found.result()


def check(words: Iterable[str]) -> tuple[str, ...]:
    """Packages that a user typed, such as ``pandas`` and ``numpy<3``, sorted, unique and in one spelling.

    Raises:
        UsageProblem: A word is no plain requirement.
    """
    wanted = set()
    for word in words:
        try:
            wanted.add(_normalised(word))
        except _NotPlain as error:
            raise UsageProblem(f"{_shown(word)} {error}", "Name packages alone, such as pandas 'numpy<3'") from None
    return tuple(sorted(wanted))


def _normalised(text: str) -> str:
    """A requirement in the one spelling that all requirements of the same meaning have, as far as that can be."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise _NotPlain("is too long for a requirement")
    if text.startswith("-") or _NEXT_OPTION.search(text):
        raise _NotPlain("holds an option of the installer, and only packages can be named")
    requirement = _parsed(text)
    if requirement is None or requirement.url or _ARCHIVE.search(text.partition(";")[0].rstrip()):
        if "@" in text or "://" in text or "/" in text or "\\" in text or text.startswith(".") or _ARCHIVE.search(text):
            raise _NotPlain("names an address or a file, and only packages of the package index can be named")
        raise _NotPlain("is no requirement")
    requirement.name = canonicalize_name(requirement.name)
    requirement.extras = {canonicalize_name(extra) for extra in requirement.extras}
    written = str(requirement)
    # A marker's text with both kinds of quotes has no spelling that can be read again.
    if not written.isprintable() or _parsed(written) is None:
        raise _NotPlain("holds characters that no requirement needs")
    return written


def _parsed(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except (ValueError, RecursionError):
        return None


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return f"'{plain(text[:_LONGEST_SHOWN])}{'…' if len(text) > _LONGEST_SHOWN else ''}'"


def _from_list(content: bytes, path: str, found: _Collector) -> bool:
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # what PowerShell's ``>`` writes
    text = content.decode("utf-16" if marked else "utf-8-sig", errors="replace")
    return all(found.take(entry, f"{path}, line {number}") for number, entry in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The entries of a requirements file, each with the number of the line that it begins in.

    As in pip, a backslash at the end of a line joins the next one to it, but a comment ends at its line's end.
    """
    pending: list[str] = []
    began = 1
    for number, line in enumerate(text.splitlines(), start=1):
        if not pending:
            began = number
        comment = line.lstrip().startswith("#")
        pending.append(f" {line}" if comment else line.removesuffix("\\"))
        if line.endswith("\\") and not comment:
            continue
        if entry := _entry(pending):
            yield began, entry
        pending = []
    if entry := _entry(pending):
        yield began, entry


def _entry(pieces: list[str]) -> str:
    return _COMMENT.sub("", "".join(pieces)).strip()


def _from_script(content: bytes, path: str, found: _Collector) -> bool:
    blocks = list(_script_blocks(content.decode("utf-8-sig", errors="replace")))
    if not blocks:
        return True
    path = plain(path)
    first, toml = blocks[0]
    if len(blocks) > 1:
        found.refuse(f"{path}, line {blocks[1][0]}: there is more than one script block, and none is read")
    elif len(toml) > _MOST_TOML:
        found.refuse(f"{path}, line {first}: the script block has more than {_MOST_TOML >> 10} KiB, and is not read")
    else:
        return _from_toml(toml, path, first, found)
    return True


def _from_toml(toml: str, path: str, first: int, found: _Collector) -> bool:
    try:
        declared = tomllib.loads(toml).get("dependencies", [])
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else _shown(str(error))
        found.refuse(f"{path}, line {first}: the script block is no TOML: {reason}")
        return True
    if not isinstance(declared, list) or not all(isinstance(entry, str) for entry in declared):
        found.refuse(f"{path}, line {first}: 'dependencies' is no list of texts")
        return True
    for entry in declared:
        at = toml.find(entry)  # not there, if it is written with escapes: then it is the block's line
        line = first + 1 + toml.count("\n", 0, at) if at >= 0 else first
        if not found.take(entry, f"{path}, line {line}"):
            return False
    return True


def _script_blocks(text: str) -> Iterator[tuple[int, str]]:
    """The blocks of type ``script``, each with the number of its opening line, as the specification finds them.

    A block lies within one run of comment lines, and ends at the last closing line of that run. There is no other
    block in such a run, so one pass is enough, whatever is in the file.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    opened: tuple[int, str] | None = None
    closed = 0
    for at, line in enumerate([*lines, ""]):
        if line != "#" and not line.startswith("# "):
            if opened is not None and opened[1] == "script" and closed > opened[0] + 1:
                yield opened[0] + 1, "\n".join(inner[2:] for inner in lines[opened[0] + 1 : closed])
            opened, closed = None, 0
        elif opened is None and (match := _OPENING.fullmatch(line)):
            opened = at, match[1]
        elif line == _CLOSING:
            closed = at
