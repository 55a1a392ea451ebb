"""``jupyter skills …``: the command line.

Exit status 0: good. 1: the thing asked for is bad. 2: wrong usage, or a part is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import jupyter_skills
from jupyter_skills.errors import BuildFailed, SkillsError
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE

GOOD, BAD, UNUSABLE = 0, 1, 2


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; the reference in the docs is generated from it."""
    parser = argparse.ArgumentParser(prog="jupyter skills", description="Agent Skills in notebooks.")
    parser.add_argument("--version", action="version", version=jupyter_skills.__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    sandbox = verbs.add_parser("sandbox", help="the isolated kernel's image and containers")
    actions = sandbox.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="build the image that isolated kernels run from")
    build.add_argument("--base", metavar="IMAGE", help="build upon this image instead of the official slim Python one")
    _add_image(build)
    build.set_defaults(run=_sandbox_build)
    status = actions.add_parser("status", help="say whether the engine, the image and kernels are there")
    _add_image(status)
    status.add_argument("--quiet", action="store_true", help="say nothing; the exit status is the answer")
    status.set_defaults(run=_sandbox_status)
    return parser


def _add_image(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", default=DEFAULT_IMAGE, help="the image's name (default: %(default)s)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns its exit status."""
    options = build_parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except SkillsError as error:
        if not getattr(options, "quiet", False):
            print(f"error: {error}", file=sys.stderr)
        return BAD if isinstance(error, BuildFailed) else UNUSABLE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _sandbox_build(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox import image
    from jupyter_skills.sandbox.engine import Engine

    print(f"Building {options.image} on Docker …", flush=True)
    for line in image.build(Engine(), options.image, options.base):
        print(f"  {line}", flush=True)
    print(f"Built {options.image}.")
    return GOOD


def _sandbox_status(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox import image
    from jupyter_skills.sandbox.engine import Engine

    engine = Engine()
    labels = engine.image_labels(options.image)
    current = image.is_usable(labels)
    if not options.quiet:
        state = "missing" if labels is None else "ready" if current else "made by another release"
        print(f"engine   Docker {engine.version()}")
        print(f"image    {options.image}: {state}")
        print(f"kernels  {len(engine.containers({}))}")
        if not current:
            print("Build the image with 'jupyter skills sandbox build'.")
    return GOOD if current else UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
