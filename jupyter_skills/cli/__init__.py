"""``jupyter skills …``: the command line.

Exit status 0: good. 1: the thing asked for is bad. 2: wrong usage, or a part is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import jupyter_skills
from jupyter_skills.cli import ask, completion, preflight, sandbox, skills, store
from jupyter_skills.cli.shell import BAD, INTERRUPTED, UNUSABLE, for_a_shell
from jupyter_skills.errors import (
    BuildFailed,
    InvalidArchive,
    InvalidSkill,
    LockBroken,
    NotLookedAt,
    NotYours,
    RemoteDamaged,
    SkillsError,
    StoreConflict,
    UploadTooLarge,
)

_BAD = (
    BuildFailed,
    InvalidArchive,
    InvalidSkill,
    LockBroken,
    NotLookedAt,
    NotYours,
    RemoteDamaged,
    StoreConflict,
    UploadTooLarge,
)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the reference in the docs is generated from it."""
    parser = argparse.ArgumentParser(prog="jupyter skills", description="Agent Skills in notebooks.")
    parser.add_argument("--version", action="version", version=jupyter_skills.__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    skills.add_verbs(verbs)
    store.add_verbs(verbs)
    ask.add_verbs(verbs)
    sandbox.add_verbs(verbs)
    preflight.add_verbs(verbs)
    completion.add_verbs(verbs)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns its exit status."""
    options = build_parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except SkillsError as error:
        if not getattr(options, "quiet", False):
            print(for_a_shell(error), file=sys.stderr)
        return BAD if isinstance(error, _BAD) else UNUSABLE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has heard enough
        sys.stderr.close()
        return UNUSABLE
