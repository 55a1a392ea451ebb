"""Images with packages installed: derived from the sandbox's image once, then used like it, without any network.

An image is named for what it is made from, so that looking up the name says whether it is there, and a new base
or another recipe makes another image. The packages come from wherever the base image's own pip is set up to look.

What a skill asks for must not break the kernel it runs in. The kernel's version is therefore asked for along with
the packages, and pip refuses a set that does not fit; whether the kernel can still be imported is tried last, in a
container that is confined as the kernel's will be. All else that the base has may change its version: a skill that
asks for ``numpy<2`` gets it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from packaging.requirements import Requirement

from jupyter_skills.errors import BuildFailed, ImageMissing, UsageProblem
from jupyter_skills.execution.output import clean_text
from jupyter_skills.sandbox.docker.container import printed
from jupyter_skills.sandbox.docker.engine import USER, Engine, Limits
from jupyter_skills.sandbox.inside import install

REPOSITORY = "jupyter-skills-derived"
DERIVED_LABEL = "jupyter_skills.derived"
BUILD_LABEL = "jupyter_skills.derived.build"
BASE_LABEL = "jupyter_skills.derived.base"
REQUIREMENTS_LABEL = "jupyter_skills.derived.requirements"

# Seconds in which the engine ends a build that nobody listens to any more.
_ENDED_WITHIN = 5.0
_KEPT = 200
_FINE = b"fine\n"
_TRIAL = ["python3", "-c", "import ipykernel.kernelapp, zmq; print('fine')"]
_LIMITS = Limits("1g", 1.0, 128)
_SHOWN = 5
_INSTALLER = Path(install.__file__).read_bytes()
# The labels come first, so that a build that breaks off can tell what it left behind, and from what others did;
# it also shares no layers with them.
# Wheels may run code at the start of Python: no Python starts in the build once they are there.
_RECIPE = f"""\
ARG BASE
FROM ${{BASE}}
LABEL {DERIVED_LABEL}=@KEY@ {BUILD_LABEL}=@BUILD@
USER 0:0
COPY install.py requirements.txt /opt/jupyter-skills/
RUN ["python3", "/opt/jupyter-skills/install.py", "/opt/jupyter-skills/requirements.txt"]
USER {USER}
"""
# What only those who know the recipe can follow.
_STEPS = re.compile(r"Step \d+/\d+ : |Requirement already satisfied: |Successfully (built|tagged) ")
# A conflict's second line, which only points to pip's documentation; and what pip says without failing.
_NO_REASON = ("ResolutionImpossible", "pip's dependency resolver")
_NO_INDEX = re.compile(r"WARNING: Retrying \(")


@dataclass(frozen=True)
class DerivedImage:
    """A derived image that the engine has.

    Args:
        name: Its name; its id if it has none, which is what a broken build leaves behind.
        base: The id of the image that it was built upon.
        requirements: What was installed.
        size: In bytes, all that it shares with its base included.
    """

    name: str
    base: str
    requirements: tuple[str, ...]
    size: int


def derived_name(image_id: str, requirements: Iterable[str]) -> str:
    """The name of the image with these packages.

    Args:
        image_id: The id of the image to build upon, ``sha256:…``.
        requirements: The packages; neither order nor repetition matters.
    """
    parts = (image_id, *sorted(set(requirements)), _RECIPE, _INSTALLER.decode())
    return f"{REPOSITORY}:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def ensure(engine: Engine, image: str, requirements: Sequence[str], on_line: Callable[[str], None]) -> str:
    """The image to start from, so that some packages are there; it is built if the engine doesn't have it.

    Several processes may do so at once: the image is then built more than once, and the first is kept.

    Args:
        engine: Where to look and to build.
        image: The image to build upon.
        requirements: Plain requirements: names, extras, versions and markers.
        on_line: Called with each line that tells of progress; not at all if there is nothing to build.

    Returns:
        ``image`` itself if nothing is required, else the name of the derived one.

    Raises:
        ImageMissing: The engine has no ``image``.
        UsageProblem: Something is no plain requirement.
        BuildFailed: The packages can't be installed. Nothing is left behind, and ``image`` is as it was.
    """
    if not requirements:
        return image
    wanted = sorted(set(requirements))
    base = engine.image_id(image)
    if base is None:
        raise ImageMissing(
            f"The Docker engine has no image '{image}'", "Build it with 'jupyter skills sandbox build' in a terminal"
        )
    name = derived_name(base, wanted)
    if engine.image_id(name) is None:
        _check(wanted)
        _build(engine, name, base, wanted, on_line)
    return name


def derived_images(engine: Engine) -> list[DerivedImage]:
    """All derived images, and what is left of builds that were ended from outside, sorted by name."""
    found = []
    for image in engine.images(DERIVED_LABEL):
        # An image that somebody built upon a derived one has its labels, but a name of its own.
        names = [name for name in image.names if name.startswith(f"{REPOSITORY}:")]
        if names or not image.names:
            found.append(
                DerivedImage(
                    names[0] if names else image.id,
                    image.labels.get(BASE_LABEL, ""),
                    tuple(json.loads(image.labels.get(REQUIREMENTS_LABEL, "[]"))),
                    image.size,
                )
            )
    return sorted(found, key=lambda image: image.name)


def _check(requirements: Iterable[str]) -> None:
    """Whoever calls has looked at these; but here is where an address would be fetched, or a folder's code run."""
    for text in requirements:
        try:
            plain = text.isprintable() and Requirement(text).url is None
        except (ValueError, RecursionError):
            plain = False
        if not plain:
            raise UsageProblem(
                f"'{text[:80]}' is no plain requirement", "Name packages alone, such as pandas 'numpy<3'"
            )


def _build(engine: Engine, name: str, base: str, wanted: Sequence[str], on_line: Callable[[str], None]) -> None:
    """Builds an image under a name of this build's own first: whoever else builds the same one is not disturbed."""
    build = uuid4().hex
    draft = f"{name}-{build}"
    context = {
        "Dockerfile": _RECIPE.replace("@KEY@", name.rpartition(":")[2]).replace("@BUILD@", build).encode(),
        "install.py": _INSTALLER,
        "requirements.txt": "".join(f"{text}\n" for text in wanted).encode(),
    }
    labels = {BASE_LABEL: base, REQUIREMENTS_LABEL: json.dumps(wanted)}
    said: list[str] = []
    try:
        with contextlib.closing(engine.build(draft, context, base, labels)) as lines:
            for line in map(clean_text, lines):
                said.append(line)
                del said[:-_KEPT]
                if not _STEPS.match(line):
                    on_line(line)
        _try(engine, draft)
        if engine.image_id(name) is None:
            engine.name_image(draft, name)
    except BuildFailed as error:
        raise _failure(wanted, said, error) from None
    finally:
        _sweep(engine, build, draft)


def _try(engine: Engine, image: str) -> None:
    """Starts Python with the new packages, which may run code of theirs: confined, as the kernel will be.

    Raises:
        BuildFailed: The kernel can't be imported any more.
    """
    output, errors = printed(engine, image, _TRIAL, _LIMITS, {})
    if not output.endswith(_FINE):
        last = clean_text(errors.decode(errors="replace")).strip().rpartition("\n")[2][:_KEPT]
        raise BuildFailed(f"the kernel does not start with them ({last or 'it said nothing'})", "Ask for others")


def _sweep(engine: Engine, build: str, draft: str) -> None:
    """Removes what a build leaves behind: its own name, and layers without one if it broke off."""
    deadline = time.monotonic() + _ENDED_WITHIN
    while True:
        left = [image for image in engine.images(f"{BUILD_LABEL}={build}") if draft in image.names or not image.names]
        kept = [image for image in left if not engine.remove_image(draft if image.names else image.id)]
        if not kept or time.monotonic() > deadline:
            return
        time.sleep(0.05)  # a build that was broken off still ends, and the engine offers nothing to await


def _failure(wanted: Sequence[str], said: Sequence[str], error: BuildFailed) -> BuildFailed:
    names = ", ".join(wanted[:_SHOWN]) + (f" and {len(wanted) - _SHOWN} more" if len(wanted) > _SHOWN else "")
    what = f"No image with {names} could be built"
    reason = _reason(said) or error.message
    if any(map(_NO_INDEX.match, said)):
        return BuildFailed(
            f"{what}: the package index could not be reached ({reason})",
            "Check that containers of the Docker engine reach it; the image in use stays as it is",
        )
    return BuildFailed(
        f"{what}: {reason}",
        "Ask for packages and versions that the package index has as wheels; the image in use stays as it is",
    )


def _reason(said: Sequence[str]) -> str:
    """What the installer gave as its reason: the last of its errors that says what is wrong."""
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    return next((line for line in reversed(errors) if not line.startswith(_NO_REASON)), "")
