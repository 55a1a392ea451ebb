# ruff: noqa: D102 -- the tests' names say what they do
"""What every sandbox must do, as tests: whoever adds a kind of sandbox has them run against it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import tarfile
from collections.abc import Mapping

import pytest

from jupyter_skills.execution.result import Execution, Language
from jupyter_skills.sandbox.contract import ExchangingSandbox, StagedSkill

LANGUAGES: tuple[Language, ...] = ("python", "shell")
LONG: dict[Language, str] = {
    "python": "import time\nprint('on', flush=True)\ntime.sleep(60)",
    "shell": "echo on; sleep 60",
}
MUCH: dict[Language, str] = {
    "python": "print('x' * 10**6)",
    "shell": "head -c 1000000 /dev/zero | tr '\\0' x",
}
PICTURES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class SandboxContract:
    """Tests of a sandbox. A subclass gives the fixture ``sandbox``, which its tests may share.

    pytest-asyncio runs them, in its mode ``auto``. What a kind of sandbox can't do is declared, and then it is
    tested that this is made up for as well as can be.
    """

    interrupts = True
    """Whether code can be stopped with variables kept; otherwise they are lost, and that is said."""
    streams = True
    """Whether text comes while code runs; otherwise it comes all at once."""
    keeps_order = True
    """Whether the two streams, results and displays come in the order they were made; otherwise each of them does."""

    # What is kept

    async def test_variables_are_kept_from_call_to_call(self, sandbox: ExchangingSandbox) -> None:
        await run(sandbox, "kept = 41")
        done = await run(sandbox, "kept + 1")
        assert (done.outcome, done.text, done.state_lost) == ("ok", "42\n", False)

    async def test_top_level_await_and_magics_work(self, sandbox: ExchangingSandbox) -> None:
        assert (await run(sandbox, "import asyncio\nawait asyncio.sleep(0)\n%pwd")).text == "'/work'\n"

    async def test_python_and_shell_see_the_same_files(self, sandbox: ExchangingSandbox) -> None:
        await run(sandbox, "n = open('note.txt', 'w').write('from Python')")
        assert (await run(sandbox, "cat note.txt", "shell")).text == "from Python"

    async def test_it_is_the_same_one_from_another_event_loop(self, sandbox: ExchangingSandbox) -> None:
        await run(sandbox, "here = 1")
        done = await asyncio.to_thread(lambda: asyncio.run(run(sandbox, "here + 1")))
        assert done.text == "2\n"
        assert (await run(sandbox, "here + 2")).text == "3\n"

    # What comes out

    async def test_text_and_results_come_in_order(self, sandbox: ExchangingSandbox) -> None:
        code = "import sys\nprint('one', flush=True)\nprint('two', file=sys.stderr, flush=True)\nprint('three')\n4"
        text = (await run(sandbox, code)).text
        assert text == ("one\ntwo\nthree\n4\n" if self.keeps_order else "one\nthree\ntwo\n4\n")

    async def test_text_comes_while_the_code_runs(self, sandbox: ExchangingSandbox) -> None:
        if not self.streams:
            heard: asyncio.Queue[str] = asyncio.Queue()
            await sandbox.run("python", "print('first')\nprint('last')", timeout=60, on_output=heard.put_nowait)
            assert await heard.get() == "first\nlast\n"
            return
        for language in LANGUAGES:
            heard = asyncio.Queue()
            work = asyncio.create_task(sandbox.run(language, LONG[language], timeout=60, on_output=heard.put_nowait))
            assert "on" in await asyncio.wait_for(heard.get(), 30)
            assert not work.done()
            await cancelled(work)

    async def test_an_exception_is_an_outcome_in_compact_form(self, sandbox: ExchangingSandbox) -> None:
        done = await run(sandbox, "def f():\n    return 1 / 0\nf()")
        assert done.outcome == "error"
        assert done.error.endswith("ZeroDivisionError: division by zero")
        assert "\x1b" not in done.error
        assert (await run(sandbox, "print('still here')")).text == "still here\n"

    @pytest.mark.parametrize("code", ["def f(:\n", "import nothing_like_it", "raise SystemExit(3)"])
    async def test_code_that_can_not_run_says_why(self, sandbox: ExchangingSandbox, code: str) -> None:
        done = await run(sandbox, code)
        assert done.outcome == "error"
        assert any(name in done.error for name in ("SyntaxError", "ModuleNotFoundError", "SystemExit"))

    async def test_a_shell_command_fails_by_its_status(self, sandbox: ExchangingSandbox) -> None:
        done = await run(sandbox, "echo out; echo err >&2; exit 3", "shell")
        assert (done.outcome, done.text, done.error) == ("error", "out\nerr\n", "exit status 3")

    async def test_a_shell_command_does_not_wait_for_what_it_left_behind(self, sandbox: ExchangingSandbox) -> None:
        done = await run(sandbox, "sleep 59 & echo done", "shell", timeout=20)
        assert (done.outcome, done.text) == ("ok", "done\n")

    async def test_the_shell_prints_whatever_code_has_made_of_the_streams(self, sandbox: ExchangingSandbox) -> None:
        await run(sandbox, "import sys\nprinted = sys.stdout\nsys.stdout = None")
        assert (await run(sandbox, "echo still here", "shell")).text == "still here\n"
        await run(sandbox, "sys.stdout = printed")

    async def test_output_is_bounded_and_the_cut_is_marked(self, sandbox: ExchangingSandbox) -> None:
        for language in LANGUAGES:
            done = await run(sandbox, MUCH[language], language)
            assert done.outcome == "ok"
            assert len(done.text) < 70_000
            assert "left out" in done.text

    async def test_displayed_pictures_come_as_pictures(self, sandbox: ExchangingSandbox) -> None:
        data = base64.b64encode(picture("PNG")).decode()
        shown = f"import base64, IPython.display as d\nd.display(d.Image(data=base64.b64decode('{data}')))"
        done = await run(sandbox, shown)
        assert [(image.mime_type, image.width, image.height) for image in done.images] == [("image/png", 3, 2)]
        assert done.text == ""

    async def test_active_content_stays_behind(self, sandbox: ExchangingSandbox) -> None:
        done = await run(sandbox, "from IPython.display import HTML, display\ndisplay(HTML('<script>1</script>'))")
        assert "<script>" not in done.text
        assert done.images == ()

    # Files

    async def test_files_come_back_once_and_again_when_they_change(self, sandbox: ExchangingSandbox) -> None:
        first = await run(sandbox, "n = open('b.txt', 'w').write('b')")
        assert [(file.path, file.mime_type, file.data) for file in first.files] == [("b.txt", "text/plain", b"b")]
        assert (await run(sandbox, "1")).files == ()
        assert [file.data for file in (await run(sandbox, "n = open('b.txt', 'w').write('bb')")).files] == [b"bb"]

    @pytest.mark.parametrize("kind", PICTURES)
    async def test_a_picture_is_known_by_its_content(self, sandbox: ExchangingSandbox, kind: str) -> None:
        data = base64.b64encode(picture(kind)).decode()
        done = await run(sandbox, f"import base64\nn = open('drawn', 'wb').write(base64.b64decode('{data}'))")
        assert [(file.path, file.mime_type, file.image is not None) for file in done.files] == [
            ("drawn", PICTURES[kind], True)
        ]

    async def test_hostile_files_stay_inside(self, sandbox: ExchangingSandbox) -> None:
        code = """
        mkdir hostile; cd hostile; ln -s /etc/passwd link; ln -s / all; mkfifo pipe; truncate -s 10G sparse
        mkdir -p a/b; echo x > a/b/c; echo '<img>' > picture.png; echo x > 'back\\slash'
        echo x > "$(printf 'two\\nlines')"
        """
        done = await run(sandbox, code, "shell")
        assert [(file.path, file.mime_type, file.image) for file in done.files] == [
            ("hostile/a/b/c", "application/octet-stream", None),
            ("hostile/picture.png", "image/png", None),
        ]
        left = [note.split(" (")[0] for note in done.notes if "left in the sandbox" in note]
        assert sorted(left) == [
            "The file 'hostile/back\\\\slash'",
            "The file 'hostile/sparse'",
            "The file 'hostile/two\\nlines'",
        ]
        await run(sandbox, "rm -r hostile", "shell")

    async def test_files_are_put_in_and_taken_out(self, sandbox: ExchangingSandbox) -> None:
        large = bytes(range(256)) * 10_000  # more than one message holds
        await sandbox.put({"data/table.csv": b"1,2\n", "data/large.bin": large})
        done = await run(sandbox, "cat data/table.csv; wc -c < data/large.bin", "shell")
        assert done.text.split() == ["1,2", str(len(large))]
        assert done.files == (), "what was put there is no product"
        assert {file.path: file.data for file in await sandbox.get("data")} == {
            "data/large.bin": large,
            "data/table.csv": b"1,2\n",
        }

    async def test_values_cross_both_ways(self, sandbox: ExchangingSandbox) -> None:
        await sandbox.send("sent", {"a": [1, 2.5, "three"]})
        await run(sandbox, "sent['b'] = 'x' * 100_000")
        assert await sandbox.receive("sent") == {"a": [1, 2.5, "three"], "b": "x" * 100_000}

    # Skills

    async def test_skills_lie_in_folders_of_their_own(self, sandbox: ExchangingSandbox) -> None:
        await sandbox.stage([skill(name, {"helper.py": f"print('helper of {name}')\n"}) for name in ("one", "two")])
        done = await run(sandbox, "for s in one two; do python3 /skills/$s/helper.py; /skills/$s/run; done", "shell")
        assert done.text == "helper of one\nrun of one\nhelper of two\nrun of two\n"
        assert done.files == (), "a skill's files are nobody's product"

    async def test_a_skill_is_sent_again_only_when_it_has_changed(self, sandbox: ExchangingSandbox) -> None:
        def must_not_be_asked() -> bytes:
            raise AssertionError("the same digest was sent twice")

        before = skill("changing", {"old": ""})
        await sandbox.stage([before])
        await sandbox.stage([StagedSkill(before.name, before.digest, must_not_be_asked)])
        await sandbox.stage([skill("changing", {"new": ""})])
        assert (await run(sandbox, "ls /skills/changing", "shell")).text == "new\nrun\n"

    # Deadlines, deaths and calls that are given up

    async def test_code_that_takes_too_long_is_stopped(self, sandbox: ExchangingSandbox) -> None:
        await run(sandbox, "count = 1")
        done = await run(sandbox, "while True: count += 1", timeout=1)
        assert (done.outcome, done.cause, done.state_lost) == ("timeout", "deadline", not self.interrupts)
        assert ("Variables are kept" if self.interrupts else "Its variables and files are gone") in done.error
        assert (await run(sandbox, "'count' in dir()")).text == f"{self.interrupts}\n"

    async def test_code_that_heeds_no_interrupt_is_ended_and_that_is_said(self, sandbox: ExchangingSandbox) -> None:
        done = await run(sandbox, "sum(range(10**12))", timeout=1)
        assert (done.outcome, done.state_lost) == ("timeout", True)
        assert "Its variables and files are gone" in done.error
        assert (await run(sandbox, "1 + 1")).text == "2\n"

    async def test_a_shell_command_that_takes_too_long_is_ended_with_its_children(
        self, sandbox: ExchangingSandbox
    ) -> None:
        await run(sandbox, "kept = 7")
        done = await run(sandbox, "echo on; sleep 61 | sleep 61", "shell", timeout=1)
        assert (done.outcome, done.text, done.state_lost) == ("timeout", "on\n", False)
        assert await still_running(sandbox, "sleep 6[1]") == 0
        assert (await run(sandbox, "kept")).text == "7\n"

    async def test_a_kernel_that_dies_is_said_to_have_died_and_the_next_call_starts_afresh(
        self, sandbox: ExchangingSandbox
    ) -> None:
        await run(sandbox, "gone = 1")
        done = await run(sandbox, "import os; os._exit(1)")
        assert (done.outcome, done.state_lost) == ("died", True)
        assert "the next call starts afresh" in done.error
        assert (await run(sandbox, "'gone' in dir()")).text == "False\n"

    @pytest.mark.parametrize("language", LANGUAGES)
    async def test_a_call_that_is_given_up_leaves_it_usable(
        self, sandbox: ExchangingSandbox, language: Language
    ) -> None:
        await run(sandbox, "kept = 1")
        heard: asyncio.Queue[str] = asyncio.Queue()
        work = asyncio.create_task(sandbox.run(language, LONG[language], timeout=60, on_output=heard.put_nowait))
        if self.streams:
            await asyncio.wait_for(heard.get(), 30)
        else:
            await asyncio.sleep(1)  # nothing tells that it has begun
        await cancelled(work)
        done = await run(sandbox, "print('kept' in dir())")
        assert done.text == f"{self.interrupts}\n", "nothing of the other call is heard"
        assert done.state_lost is not self.interrupts
        assert await still_running(sandbox, "sleep 6[0]") == 0

    async def test_starting_and_stopping_twice_is_once(self, sandbox: ExchangingSandbox) -> None:
        await sandbox.start()
        await run(sandbox, "kept = 1")
        await sandbox.start()
        assert (await run(sandbox, "kept")).text == "1\n"
        await sandbox.stop()
        await sandbox.stop()
        assert (await run(sandbox, "'kept' in dir()")).text == "False\n"


async def run(sandbox: ExchangingSandbox, code: str, language: Language = "python", timeout: float = 60) -> Execution:
    """Runs code whose output nobody waits for."""
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


async def still_running(sandbox: ExchangingSandbox, pattern: str) -> int:
    """How many programs run whose command line has a pattern, which must not match itself."""
    count = f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o '{pattern}' | wc -l"
    # What was killed may take a moment to go.
    patiently = f"for i in $(seq 100); do left=$({count}); [ $left = 0 ] && break; sleep 0.02; done; echo $left"
    return int((await run(sandbox, patiently, "shell")).text)


async def cancelled(work: asyncio.Task[Execution]) -> None:
    """Gives a call up, and waits until it has ended."""
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(work, 20)
    assert work.cancelled()


def skill(name: str, files: Mapping[str, str]) -> StagedSkill:
    """A skill with some files, and with a program ``run``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, text in {**files, "run": f"#!/bin/sh\necho run of {name}\n"}.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            member.mode = 0o755 if path == "run" else 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
    return StagedSkill(name, f"{name}: {dict(files)}", buffer.getvalue)


def picture(kind: str) -> bytes:
    """A picture, three pixels wide and two high."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (3, 2)).save(buffer, kind)
    return buffer.getvalue()
