"""The strict report: everything that the specification says of a skill, all at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import unquote

from jupyter_skills.errors import InvalidSkill, SkillNotFound, SkillProblem
from jupyter_skills.skills import frontmatter
from jupyter_skills.skills.archive import unpack
from jupyter_skills.skills.files import ARCHIVE_SUFFIXES, FolderFiles, SkillFiles, is_skipped_folder
from jupyter_skills.skills.frontmatter import Frontmatter
from jupyter_skills.skills.manifest import MANIFEST, located, manifest_in, manifest_of
from jupyter_skills.skills.problem import Problem
from jupyter_skills.skills.rules import TOOLS_FIELD, manifest_problems
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.source import FOLDER
from jupyter_skills.skills.tools import tools_of
from jupyter_skills.words import count, tokens

MOST_BODY_LINES = 500
MOST_BODY_TOKENS = 5000

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
# No part of it can run past the next parenthesis or quote, or a line of nothing but brackets would take for ever.
_LINK = re.compile(
    r"\]\(\s*<?(?P<target>(?:[^()\s<>]|\([^()\s<>]*\))+)>?(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
# A path in backquotes is taken for a reference only below the folders that the specification names.
_QUOTED = re.compile(r"(?<!`)`(?P<target>(?:\./)?(?:scripts|references|assets)/[\w./ -]+\.\w+)`(?!`)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|mailto")


@dataclass(frozen=True)
class Report:
    """What is wrong with one skill.

    Args:
        path: What was looked at.
        name: The skill's name, as far as it can be told.
        problems: All that was found, by file and line.
    """

    path: str
    name: str
    problems: tuple[Problem, ...]

    @property
    def valid(self) -> bool:
        """Whether the specification allows it; warnings don't count."""
        return all(problem.severity != "error" for problem in self.problems)

    def __str__(self) -> str:
        """One line for each problem, and one for the verdict."""
        errors = sum(problem.severity == "error" for problem in self.problems)
        warnings = len(self.problems) - errors
        counts = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
        verdict = f"{self.path}: {'valid' if self.valid else 'not valid'} ({counts})"
        place = self.path.removesuffix(MANIFEST).rstrip("/") or "."
        return "\n".join([*(f"{place}/{problem}" for problem in self.problems), verdict])

    def as_json(self) -> dict[str, Any]:
        """All of it for ``json.dumps``."""
        return {
            "path": self.path,
            "name": self.name,
            "valid": self.valid,
            "problems": [problem.as_json() for problem in self.problems],
        }


def validate(path: str | Path) -> Report:
    """Holds a skill against the specification. Nothing of it is run.

    Args:
        path: Its folder, its SKILL.md, or an archive of it.

    Raises:
        SkillNotFound: Nothing lies there.
    """
    with suppress(OSError, RuntimeError):  # ``located`` says what is wrong with it
        place = Path(path).expanduser()
        if place.suffix.lower() in ARCHIVE_SUFFIXES and place.is_file():
            return _report(str(path), place.stem, lambda: _archived(place))
    folder = located(path)
    return _report(str(path), folder.resolve().name, lambda: _laid_out(folder.resolve()), folder)


def validate_archive(content: bytes, path: str) -> Report:
    """The same for the bytes of an archive.

    Args:
        content: The bytes.
        path: What the report calls it.
    """
    return _report(path, Path(path).stem, lambda: _archived(content))


# The files, the path of the SKILL.md among them, and the name of the folder that they lie in, if they do.
_Read = tuple[SkillFiles, str, str | None]


def _archived(archive: Path | bytes) -> _Read:
    opened = unpack(archive)
    return opened.files, manifest_in(opened.files.paths()) or MANIFEST, opened.folder or None


def _laid_out(folder: Path) -> _Read:
    manifest = manifest_of(folder)
    if manifest is None:
        raise SkillNotFound("There is no SKILL.md")
    return FolderFiles(folder), manifest, folder.name


def _report(path: str, name: str, read: Callable[[], _Read], folder: Path | None = None) -> Report:
    found: list[Problem] = []
    try:
        files, manifest, folder_name = read()
        front = frontmatter.parse(files.entry(manifest).content)
        found += manifest_problems(front, folder_name, manifest)
        found += _body_problems(front, files)
        found += tools_of(front.fields.get(TOOLS_FIELD), files, front.lines.get(TOOLS_FIELD))[1]
        name = Skill.from_manifest(files, manifest, folder_name, FOLDER).name
    except SkillNotFound:
        found.append(Problem("manifest-missing", "There is no SKILL.md", "Add one: without it this is no skill"))
    except SkillProblem as error:
        line, rule = (error.line, error.rule) if isinstance(error, InvalidSkill) else (None, "unusable")
        if all(problem.severity != "error" for problem in found):  # otherwise these say why
            found.append(Problem(rule, error.message, error.next_step, line))
    if folder is not None:
        found += _folder_problems(folder)
    found.sort(key=lambda problem: (problem.path != MANIFEST, problem.path, problem.line or 0))
    return Report(path, name, tuple(found))


def _folder_problems(folder: Path) -> Iterator[Problem]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_skipped_folder(name))
        for path in (Path(where, name) for name in sorted([*folders, *names])):
            if path.is_symlink():
                yield Problem(
                    "link",
                    "A link is no part of the skill: archives and sandboxes leave it out",
                    "Put the file itself there",
                    path=path.relative_to(folder).as_posix(),
                    severity="warning",
                )


def _body_problems(front: Frontmatter, files: SkillFiles) -> Iterator[Problem]:
    text = front.body
    if not text:
        remedy = "Write below the frontmatter what to do"
        yield Problem("body-empty", "There are no instructions", remedy, severity="warning")
        return
    lines = text.split("\n")
    size = tokens(text)
    if len(lines) > MOST_BODY_LINES or size > MOST_BODY_TOKENS:
        yield Problem(
            "body-long",
            f"The body has {len(lines):,} lines, some {size:,} tokens; it should have {MOST_BODY_LINES} lines and "
            f"{MOST_BODY_TOKENS:,} tokens at most",
            "Move detail into files below references/",
            severity="warning",
        )
    yield from _references(lines, front.body_line, files.paths())


def _references(lines: list[str], first: int, files: list[str]) -> Iterator[Problem]:
    there = {*files, *(str(parent) for path in files for parent in PurePosixPath(path).parents)}
    fence = ""
    for number, line in enumerate(lines, first):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():  # a shorter or another one is part of the code
                fence = ""
            continue
        if fence:
            continue
        targets = [*_LINK.finditer(re.sub(r"`[^`]*`", "", line)), *_QUOTED.finditer(line)]
        for target in dict.fromkeys(match["target"] for match in targets):
            if _SCHEME.match(target) or "{" in target or "$" in target:
                continue
            path = normpath(unquote(target.partition("#")[0].partition("?")[0]))
            if path == ".." or path.startswith(("/", "../")):
                yield _reference("outside", f"'{target}' leads out of the skill's folder", "Bring the file in", number)
            elif path not in there:
                yield _reference("broken", f"There is no file '{target}'", "Add it, or mend the reference", number)


def _reference(rule: str, message: str, remedy: str, line: int) -> Problem:
    return Problem(f"reference-{rule}", message, remedy, line, severity="warning")
