"""``jupyter skills sandbox …``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jupyter_skills.cli.shell import GOOD, UNUSABLE, say
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE
from jupyter_skills.words import count

if TYPE_CHECKING:
    from jupyter_skills.sandbox.docker.engine import Engine


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
    answer = status.add_mutually_exclusive_group()
    answer.add_argument("--quiet", action="store_true", help="say nothing; the exit status is the answer")
    answer.add_argument("--json", action="store_true", help="as JSON")
    status.set_defaults(run=_sandbox_status)
    prune = actions.add_parser("prune", help="remove what is of no more use: containers without an owner, old images")
    prune.add_argument("--all", action="store_true", help="all images with packages, those of present images too")
    prune.set_defaults(run=_sandbox_prune)


def _add_image(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", default=DEFAULT_IMAGE, help="the image's name (default: %(default)s)")


def _sandbox_build(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker import image

    with _engine() as engine:
        print(f"Building {options.image} on Docker …", flush=True)
        for line in image.build(engine, options.image, options.base):
            print(f"  {line}", flush=True)
    print(f"Built {options.image}.")
    return GOOD


def _sandbox_status(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker import image
    from jupyter_skills.sandbox.docker.image.derived import derived_images

    with _engine() as engine:
        labels = engine.image_labels(options.image)
        facts = {
            "engine": engine.product,
            "image": options.image,
            "state": "missing" if labels is None else "ready" if image.is_usable(labels) else "made by another release",
            "kernels": len(engine.containers()),
            "with_packages": [list(derived.requirements) for derived in derived_images(engine)],
        }
    current = facts["state"] == "ready"
    if options.json:
        say(json.dumps(facts, ensure_ascii=False, indent=2))
    elif not options.quiet:
        print(f"engine   {facts['engine']}")
        print(f"image    {facts['image']}: {facts['state']}")
        print(f"kernels  {facts['kernels']}")
        for packages in facts["with_packages"]:
            say(f"         also with {', '.join(packages)}")
        if not current:
            print("Build the image with 'jupyter skills sandbox build'.")
    return GOOD if current else UNUSABLE


def _sandbox_prune(options: argparse.Namespace) -> int:
    from jupyter_skills.sandbox.docker.image.derived import derived_images
    from jupyter_skills.sandbox.docker.owner import sweep

    with _engine() as engine:
        containers = sweep(engine)
        # A base that was built anew is still there for those that were built upon it, but has lost its name.
        wanted = [image for image in derived_images(engine) if options.all or not engine.image_names(image.base)]
        removed = [image for image in wanted if engine.remove_image(image.name)]
    for image in removed:
        say(f"Removed the image with {', '.join(image.requirements) or 'nothing'}.")
    if kept := len(wanted) - len(removed):
        print(f"Left {count(kept, 'image')} that are in use.")
    print(f"Removed {count(len(containers), 'container')} and {count(len(removed), 'image')}.")
    return GOOD


@contextmanager
def _engine() -> Iterator[Engine]:
    from jupyter_skills.sandbox.docker.engine import Engine

    engine = Engine()
    try:
        yield engine
    finally:
        engine.close()
