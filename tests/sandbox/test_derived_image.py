"""Images with packages installed, on a real Docker engine with a real package index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from jupyter_skills.errors import BuildFailed, ImageMissing, UsageProblem
from jupyter_skills.sandbox.docker.engine import Engine
from jupyter_skills.sandbox.docker.image.derived import derived_images, derived_name, ensure
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DEFAULT_IMAGE, DockerSandbox

pytestmark = pytest.mark.docker

Base = Callable[..., str]


@pytest.fixture
def base(engine: Engine) -> Iterator[Base]:
    """Called for an image of this test's own: the sandbox's with some more lines of a Dockerfile."""
    made: list[str] = []

    def make(*lines: str) -> str:
        name = f"jupyter-skills-test:{os.getpid()}-{len(made)}"
        made.append(name)
        recipe = "\n".join(["ARG BASE", "FROM ${BASE}", f"LABEL jupyter_skills.test={name}", *lines])
        for _ in engine.build(name, {"Dockerfile": recipe.encode()}, DEFAULT_IMAGE, {}):
            pass
        return name

    yield make
    ids = {engine.image_id(name) for name in made}
    for image in derived_images(engine):
        if image.base in ids:
            engine.remove_image(image.name)
    for name in made:
        engine.remove_image(name)


def leftovers(engine: Engine, image: str, *requirements: str) -> list[str]:
    """What the engine has of the image with these packages, with or without a name."""
    tag = derived_name(engine.image_id(image) or "", requirements).rpartition(":")[2]
    return [image.id for image in engine.images(f"jupyter_skills.derived={tag}")]


async def test_a_package_is_built_in_once_and_is_there_without_a_network(engine: Engine, base: Base) -> None:
    image = base()
    lines: list[str] = []
    name = ensure(engine, image, ["iniconfig"], lines.append)
    assert any("Successfully installed iniconfig" in line for line in lines)
    assert not any("Step" in line or "\n" in line for line in lines)
    built = engine.image_id(name)

    assert ensure(engine, image, ["iniconfig", "iniconfig"], pytest.fail) == name
    assert engine.image_id(name) == built

    kernel = IsolatedKernel(DockerSandbox(image=name))
    code = (
        "import iniconfig, os, socket\n"
        "print(iniconfig.__name__, os.getuid())\n"
        "try: socket.create_connection(('1.1.1.1', 53), 2)\n"
        "except OSError: print('no network')"
    )
    try:
        done = await kernel.run("python", code, timeout=30, on_output=lambda _: None)
    finally:
        await kernel.stop()
    assert (done.outcome, done.text) == ("ok", "iniconfig 10001\nno network\n")


def test_nothing_required_is_the_image_itself(engine: Engine) -> None:
    assert ensure(engine, "no-such-image:at-all", [], pytest.fail) == "no-such-image:at-all"


def test_the_name_tells_the_base_and_the_packages_but_not_their_order() -> None:
    name = derived_name("sha256:1", ["a", "b"])
    assert name.startswith("jupyter-skills-derived:")
    assert name == derived_name("sha256:1", ["b", "a", "a"])
    assert len({name, derived_name("sha256:2", ["a", "b"]), derived_name("sha256:1", ["ab"])}) == 3


def test_a_derived_image_says_what_it_is_and_can_be_removed(engine: Engine, base: Base) -> None:
    image = base()
    name = ensure(engine, image, ["six", "iniconfig; python_version < '3'"], lambda _: None)
    found = next(found for found in derived_images(engine) if found.name == name)
    assert found.base == engine.image_id(image)
    assert found.requirements == ("iniconfig; python_version < '3'", "six")
    assert found.size > 0
    assert engine.image_labels(name).items() >= engine.image_labels(image).items()
    assert engine.remove_image(name)
    assert engine.remove_image(name)
    assert leftovers(engine, image, *found.requirements) == []


def test_an_image_that_somebody_built_upon_a_derived_one_is_theirs(engine: Engine, base: Base) -> None:
    name = ensure(engine, base(), ["six"], lambda _: None)
    theirs = f"jupyter-skills-test:{os.getpid()}-theirs"
    for _ in engine.build(theirs, {"Dockerfile": b"ARG BASE\nFROM ${BASE}\nLABEL a=b"}, name, {}):
        pass
    try:
        assert theirs in [name for image in engine.images("jupyter_skills.derived") for name in image.names]
        assert theirs not in [image.name for image in derived_images(engine)]
    finally:
        engine.remove_image(theirs)


def test_a_package_that_is_nowhere_fails_with_the_installers_own_words(engine: Engine, base: Base) -> None:
    image = base()
    before = engine.image_id(image)
    with pytest.raises(BuildFailed) as raised:
        ensure(engine, image, ["six", "no-such-package-anywhere-at-all"], lambda _: None)
    assert "No matching distribution found for no-such-package-anywhere-at-all" in str(raised.value)
    assert "--base" not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert engine.image_id(image) == before
    assert leftovers(engine, image, "six", "no-such-package-anywhere-at-all") == []


def test_what_does_not_fit_the_kernel_is_not_installed(engine: Engine, base: Base) -> None:
    with pytest.raises(BuildFailed, match=r"Cannot install ipykernel==\S+ and tornado<6.3"):
        ensure(engine, base(), ["tornado<6.3"], lambda _: None)


def test_an_index_that_cannot_be_reached_is_not_taken_for_a_missing_package(engine: Engine, base: Base) -> None:
    image = base("ENV PIP_INDEX_URL=http://127.0.0.1:9/simple PIP_RETRIES=1")
    with pytest.raises(BuildFailed, match="the package index could not be reached"):
        ensure(engine, image, ["six"], lambda _: None)


def test_an_image_without_the_kernel_is_told_of(engine: Engine, base: Base) -> None:
    image = base("USER 0:0", "RUN python3 -m pip uninstall -y ipykernel", "USER 10001:10001")
    with pytest.raises(BuildFailed, match="the image's python3 has no ipykernel"):
        ensure(engine, image, ["six"], lambda _: None)


def test_a_package_that_spoils_the_kernel_is_not_kept(engine: Engine, base: Base) -> None:
    image = base("USER 0:0", "RUN echo 'import six' > /opt/kernel/zmq.py", "ENV PYTHONPATH=/opt/kernel")
    with pytest.raises(BuildFailed):
        ensure(engine, image, ["iniconfig"], lambda _: None)
    assert leftovers(engine, image, "iniconfig") == []


def test_a_missing_base_is_told_of(engine: Engine) -> None:
    with pytest.raises(ImageMissing, match="no-such-image:at-all"):
        ensure(engine, "no-such-image:at-all", ["six"], pytest.fail)


@pytest.mark.parametrize(
    "text", ["--index-url=https://example.org", "./six", "six @ file:///six.whl", "six\n-e .", "-r x", "six --pre", ""]
)
def test_what_is_no_plain_requirement_is_not_built(engine: Engine, text: str) -> None:
    with pytest.raises(UsageProblem, match="is no plain requirement"):
        ensure(engine, DEFAULT_IMAGE, [text], pytest.fail)


def test_two_processes_that_build_the_same_image_both_get_it(engine: Engine, base: Base) -> None:
    image = base()
    code = (
        "import sys\n"
        "from jupyter_skills.sandbox.docker.engine import Engine\n"
        "from jupyter_skills.sandbox.docker.image.derived import ensure\n"
        "print(ensure(Engine(), sys.argv[1], ['iniconfig'], lambda _: None))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, image], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate() for process in both]
    name = ensure(engine, image, ["iniconfig"], pytest.fail)
    assert said == [(f"{name}\n", "")] * 2
    assert len(leftovers(engine, image, "iniconfig")) == 1


def test_a_build_that_comes_second_gives_way_to_the_first(engine: Engine, base: Base) -> None:
    image = base()
    first: list[str | None] = []

    def build_meanwhile(_: str) -> None:
        if not first:
            first.append(engine.image_id(ensure(engine, image, ["six"], lambda _: None)))

    name = ensure(engine, image, ["six"], build_meanwhile)
    assert [engine.image_id(name)] == first == leftovers(engine, image, "six")


def test_a_build_that_breaks_off_does_not_disturb_another_one(engine: Engine, base: Base) -> None:
    image = base()
    broken_off: list[str] = []

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt(line)

    def break_off_meanwhile(line: str) -> None:
        if not broken_off:
            broken_off.append(line)
            with pytest.raises(KeyboardInterrupt):
                ensure(engine, image, ["six"], interrupt)

    name = ensure(engine, image, ["six"], break_off_meanwhile)
    assert leftovers(engine, image, "six") == [engine.image_id(name)]


def test_an_interrupt_ends_the_build_and_leaves_nothing(engine: Engine, base: Base) -> None:
    image = base()

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt):
        ensure(engine, image, ["six"], interrupt)
    assert leftovers(engine, image, "six") == []
