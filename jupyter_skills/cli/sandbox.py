"""``jupyter skills sandbox …``."""

from __future__ import annotations

import argparse
from typing import Any

from jupyter_skills.cli.shell import GOOD, UNUSABLE
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE


def add_verbs(verbs: Any) -> None:
    """Adds the verbs of this file to a command line's subparsers."""
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


def _add_image(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", default=DEFAULT_IMAGE, help="the image's name (default: %(default)s)")


def _sandbox_build(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker import image
    from jupyter_skills.sandbox.docker.engine import Engine

    print(f"Building {options.image} on Docker …", flush=True)
    for line in image.build(Engine(), options.image, options.base):
        print(f"  {line}", flush=True)
    print(f"Built {options.image}.")
    return GOOD


def _sandbox_status(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker import image
    from jupyter_skills.sandbox.docker.engine import Engine

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
