"""What the isolated kernel bounds before it sends it: tried on a real kernel, outside of a container."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import queue
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from jupyter_skills.sandbox.inside import outlet
from tests.sandbox.test_output import picture

CHARACTERS, DISPLAYS, BYTES = 30_000, 200, 1_000_000
HEAD, TAIL = 20_000, 10_000
MIB = 1024 * 1024

INSTALL = f"""
exec({Path(outlet.__file__).read_text(encoding="utf-8")!r}, module := {{}})
module["install"](get_ipython(), characters={CHARACTERS}, displays={DISPLAYS}, bytes={BYTES})
del module
"""
# Address space for what the code needs itself and half a gigabyte; the loaded libraries come on top.
LITTLE_MEMORY = """
import re, resource
used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 512 * 1024 * 1024,) * 2)
"""


class Ran:
    """What one execution sent."""

    def __init__(self, messages: list[dict[str, Any]], reply: dict[str, Any]) -> None:
        self.messages = messages
        self.reply = reply

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [message["content"] for message in self.messages if message["msg_type"] in kinds]

    def stream(self, name: str) -> str:
        return "".join(content["text"] for content in self.of("stream") if content["name"] == name)

    @property
    def out(self) -> str:
        return self.stream("stdout")

    @property
    def plain(self) -> list[str]:
        return [content["data"].get("text/plain", "") for content in self.of("display_data", "execute_result")]


class Kernel:
    """A kernel and its one client."""

    def __init__(self, manager: AsyncKernelManager, client: AsyncKernelClient) -> None:
        self.manager = manager
        self.client = client

    async def run(self, code: str) -> Ran:
        return await self.rest(self.client.execute(code))

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.client.get_iopub_msg(), 60)

    async def rest(self, request: str) -> Ran:
        messages = []
        while True:
            message = await self.next()
            if message["parent_header"].get("msg_id") == request:
                messages.append(message)
                if message["content"].get("execution_state") == "idle":
                    break
        while (reply := await asyncio.wait_for(self.client.get_shell_msg(), 60))["parent_header"]["msg_id"] != request:
            pass
        return Ran(messages, reply["content"])

    async def interrupted(self, request: str) -> Ran:
        await self.manager.interrupt_kernel()
        return await self.rest(request)

    async def until_printed(self) -> None:
        while (await self.next())["msg_type"] != "stream":
            pass

    async def until_quiet(self) -> None:
        """Until nothing has come for so long that the budget must be spent."""
        with contextlib.suppress(queue.Empty):
            while True:
                await self.client.get_iopub_msg(timeout=0.5)

    def memory(self) -> int:
        """Resident, in bytes, as the system counts it."""
        pid = self.manager.provisioner.pid  # type: ignore[union-attr]
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.fixture
async def bare() -> AsyncIterator[Kernel]:
    """A kernel as it comes."""
    manager = AsyncKernelManager()
    # Within pytest ipykernel would not watch the file descriptors.
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    silence = asyncio.subprocess.DEVNULL
    await manager.start_kernel(env=env, stdout=silence, stderr=silence)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    yield Kernel(manager, client)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


@pytest.fixture
async def kernel(bare: Kernel) -> Kernel:
    """A kernel with the outlet."""
    assert (await bare.run(INSTALL)).reply["status"] == "ok"
    return bare


@pytest.fixture
async def poor(kernel: Kernel) -> Kernel:
    """A kernel with the outlet that has half a gigabyte to spare."""
    await kernel.run(LITTLE_MEMORY)
    return kernel


def cut(text: str) -> str:
    """What should come of a text that is over the budget."""
    return f"{text[:HEAD]}\n… {len(text) - HEAD - TAIL:,} characters left out …\n{text[-TAIL:]}"


async def usable(kernel: Kernel) -> bool:
    return (await kernel.run("print(40 + 2)")).out == "42\n"


# Streams.


async def test_small_output_comes_byte_for_byte(kernel: Kernel) -> None:
    code = (
        r"import sys; print('10%\r50%\r100%', end='\r\n'); print('\x1b[31mrot\x00 技能\b'); sys.stdout.writelines('ab')"
    )
    assert (await kernel.run(code)).out == "10%\r50%\r100%\r\n\x1b[31mrot\x00 技能\b\nab"


async def test_small_output_and_displays_come_in_order(kernel: Kernel) -> None:
    ran = await kernel.run("for n in range(3):\n    print(n)\n    display(n)\n'last'")
    order = [content.get("text") or content["data"]["text/plain"] for content in ran.of("stream", "display_data")]
    assert order == ["0\n", "0", "1\n", "1", "2\n", "2"]
    assert ran.plain[-1] == "'last'"


@pytest.mark.parametrize("size", [HEAD, HEAD + 1, CHARACTERS])
async def test_output_that_is_just_within_the_budget_has_no_gap(kernel: Kernel, size: int) -> None:
    assert (await kernel.run(f"for n in range({size}): print(n % 10, end='')")).out == ("0123456789" * size)[:size]


async def test_one_character_more_makes_a_gap_of_one(kernel: Kernel) -> None:
    assert (await kernel.run(f"print('x' * {CHARACTERS}, end='y')")).out == cut("x" * CHARACTERS + "y")


async def test_the_first_output_comes_while_the_code_runs(kernel: Kernel) -> None:
    request = kernel.client.execute("print('first')\nwhile True: pass")
    await kernel.until_printed()
    await kernel.manager.interrupt_kernel()
    await kernel.rest(request)


async def test_a_loop_that_prints_300_mib_is_cut(poor: Kernel) -> None:
    ran = await poor.run("for n in range(300): print('x' * (1024 * 1024))")
    assert ran.out == cut(("x" * MIB + "\n") * 300)
    assert await usable(poor)


async def test_300_mib_in_one_print_are_cut(poor: Kernel) -> None:
    ran = await poor.run("print('start')\nprint('x' * (300 * 1024 * 1024))\nprint('end')")
    assert ran.out == cut("start\n" + "x" * (300 * MIB) + "\nend\n")
    assert await usable(poor)


async def test_many_small_prints_are_cut(kernel: Kernel) -> None:
    whole = "".join(f"{n}\n" for n in range(100_000))
    assert (await kernel.run("for n in range(100_000): print(n)")).out == cut(whole)


async def test_empty_prints_cost_nothing_after_the_budget_is_spent(kernel: Kernel) -> None:
    before = kernel.memory()
    ran = await kernel.run(f"print('x' * {CHARACTERS + 5})\nfor n in range(500_000): print(end='')")
    assert ran.out == cut("x" * (CHARACTERS + 5) + "\n")
    assert kernel.memory() - before < 5 * MIB


async def test_stderr_is_cut_likewise(poor: Kernel) -> None:
    ran = await poor.run("import sys\nfor n in range(300): print('e' * (1024 * 1024), file=sys.stderr)")
    assert ran.stream("stderr") == cut(("e" * MIB + "\n") * 300)
    assert ran.out == ""


async def test_both_streams_share_one_budget(kernel: Kernel) -> None:
    ran = await kernel.run("import sys\nfor n in range(50_000): print(n); print(-n, file=sys.stderr)")
    total = len(ran.out) + len(ran.stream("stderr"))
    assert CHARACTERS < total < CHARACTERS + 100
    assert (ran.out + ran.stream("stderr")).count("characters left out") == 1
    assert ran.out.endswith("\n49999\n")
    assert ran.stream("stderr").endswith("\n-49999\n")


@pytest.mark.parametrize(
    "code",
    [
        "!head -c 50000000 /dev/zero | tr '\\0' x",
        "import subprocess; _ = subprocess.run('head -c 50000000 /dev/zero | tr \"\\\\0\" x', shell=True)",
        "import os\nfor n in range(50): os.write(1, b'x' * 1_000_000);",
    ],
    ids=["!", "subprocess", "os.write"],
)
async def test_what_programs_print_is_cut(poor: Kernel, code: str) -> None:
    assert (await poor.run(code)).out == cut("x" * 50_000_000)
    assert await usable(poor)


async def test_an_endless_loop_that_is_interrupted_ends_with_its_last_words(poor: Kernel) -> None:
    request = poor.client.execute("n = 0\nwhile True:\n    print(n)\n    n += 1")
    await poor.until_printed()
    await poor.until_quiet()
    ran = await poor.interrupted(request)
    assert ran.reply["ename"] == "KeyboardInterrupt"
    gap, *numbers = ran.out.strip().splitlines()
    assert "characters left out" in gap
    last = [int(number) for number in numbers[1:]]
    assert last == list(range(last[0], last[0] + len(last)))
    assert await usable(poor)


async def test_a_forked_process_is_bounded_too(kernel: Kernel) -> None:
    ran = await kernel.run(
        "import multiprocessing\n"
        "def flood():\n    for n in range(50): print('x' * 1_000_000)\n    __import__('sys').stdout.flush()\n"
        "child = multiprocessing.get_context('fork').Process(target=flood)\nchild.start(); child.join()"
    )
    assert ran.out == "x" * HEAD + "\n… what follows is left out …\n"


async def test_each_execution_has_the_whole_budget(kernel: Kernel) -> None:
    for _ in range(3):
        assert (await kernel.run(f"print('x' * {CHARACTERS * 2}, end='')")).out == cut("x" * CHARACTERS * 2)


async def test_cells_within_a_cell_have_no_budget_of_their_own(kernel: Kernel) -> None:
    code = "for n in range(100): get_ipython().run_cell(\"print('x' * 5_000, end='')\")"
    assert (await kernel.run(code)).out == cut("x" * 500_000)


async def test_what_a_thread_prints_after_the_end_is_bounded(poor: Kernel) -> None:
    await poor.run(
        "import threading\ngo, gone = threading.Event(), threading.Event()\n"
        "def flood():\n    go.wait()\n    for n in range(300): print('x' * (1024 * 1024))\n    gone.set()\n"
        "threading.Thread(target=flood).start()\n"
        "__import__('asyncio').get_running_loop().call_later(0.2, go.set)\nawait __import__('asyncio').sleep(0)"
    )
    text = ""
    while "left out" not in text:
        message = await poor.next()
        text += message["content"].get("text", "") if message["msg_type"] == "stream" else ""
    assert text == "x" * HEAD + "\n… what follows is left out …\n"
    assert (await poor.run("gone.wait(30)")).plain == ["True"]
    assert await usable(poor)


async def test_a_stream_of_the_codes_own_is_left_alone(kernel: Kernel) -> None:
    ran = await kernel.run(
        "import io, sys\nold, sys.stdout = sys.stdout, io.StringIO()\nprint('x' * 100_000)\n"
        "text, sys.stdout = sys.stdout.getvalue(), old\nlen(text)"
    )
    assert (ran.plain, ran.out) == (["100001"], "")


async def test_the_end_comes_even_if_the_stream_was_replaced(kernel: Kernel) -> None:
    ran = await kernel.run(f"import io, sys\nprint('x' * {CHARACTERS * 2}, end='')\nsys.stdout = io.StringIO()")
    assert ran.out == cut("x" * CHARACTERS * 2)


async def test_captured_output_is_whole(kernel: Kernel) -> None:
    await kernel.run("%%capture got\nprint('x' * 100_000)\ndisplay(1)")
    assert (await kernel.run("len(got.stdout), len(got.outputs)")).plain == ["(100001, 1)"]


async def test_memory_does_not_grow_with_what_was_printed(kernel: Kernel) -> None:
    code = "for n in range(10): print('x' * (1024 * 1024))"
    await kernel.run(code)
    before = kernel.memory()
    for _ in range(40):
        await kernel.run(code)
    assert kernel.memory() - before < 20 * MIB


async def test_only_text_can_be_written(kernel: Kernel) -> None:
    assert (await kernel.run("__import__('sys').stdout.write(b'x')")).reply["ename"] == "TypeError"


# Displays.


async def test_pictures_and_results_come_as_they_are(kernel: Kernel) -> None:
    data = picture()
    ran = await kernel.run(f"from IPython.display import Image\ndisplay(Image(data={data!r}))\nImage(data={data!r})")
    for content in ran.of("display_data", "execute_result"):
        assert base64.b64decode(content["data"]["image/png"]) == data


async def test_kinds_that_nobody_shows_are_not_sent(kernel: Kernel) -> None:
    ran = await kernel.run(
        "from IPython.display import *\n"
        "display(HTML('<b>'), SVG('<svg/>'), JSON({}), Javascript('x'), Markdown('*a*'))\n"
        "display({'text/html': 'only'}, raw=True)\n"
        "handle = display(1, display_id=True)\nhandle.update(2)\nclear_output()"
    )
    assert {kind for content in ran.of("display_data") for kind in content["data"]} == {"text/plain"}
    assert len(ran.plain) == 6
    assert not ran.of("update_display_data", "clear_output", "comm_open")
    assert ran.out == ""


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(20_000): display(n)",
        "import threading\ndef show():\n    for n in range(5_000): display(n)\n"
        "threads = [threading.Thread(target=show) for _ in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()",
        "import sys\nfor n in range(20_000): sys.displayhook(n)",
    ],
    ids=["loop", "threads", "results"],
)
async def test_20_000_displays_are_cut_to_the_limit(poor: Kernel, code: str) -> None:
    ran = await poor.run(code)
    assert len(ran.plain) == DISPLAYS
    assert ran.out == "… 19,800 displays left out …\n"
    assert (await poor.run("display(1)")).plain == ["1"]


async def test_displays_hold_no_more_than_so_many_bytes_together(kernel: Kernel) -> None:
    ran = await kernel.run(
        "from IPython.display import Image\nprint('a')\n"
        "for n in range(10): display({'image/png': b'\\x89PNG' + bytes(200_000)}, raw=True)"
    )
    assert len(ran.of("display_data")) == 3
    assert ran.out == "a\n\n… 7 displays left out …\n"


async def test_a_picture_that_is_too_large_is_left_out_and_its_text_comes(kernel: Kernel) -> None:
    ran = await kernel.run("display({'image/png': bytes(300 * 1024 * 1024), 'text/plain': 'a figure'}, raw=True)")
    assert [content["data"] for content in ran.of("display_data")] == [{"text/plain": "a figure"}]
    assert ran.out == "… 1 display left out …\n"


async def test_a_long_text_is_cut_in_the_middle(poor: Kernel) -> None:
    ran = await poor.run("display({'text/plain': 'x' * (100 * 1024 * 1024)}, raw=True)")
    assert ran.plain == [cut("x" * 100 * MIB)]


@pytest.mark.parametrize(
    ("code", "start"),
    [
        ("'x' * (100 * 1024 * 1024)", "'xxx"),
        ("bytes(100 * 1024 * 1024)", "b'\\x00"),
        ("class Wide:\n    def __repr__(self): return 'x' * (100 * 1024 * 1024)\nWide()", "xxx"),
        ("['x' * (10 * 1024 * 1024)] * 10", "['xxx"),
    ],
    ids=["str", "bytes", "own", "list"],
)
async def test_a_result_with_a_huge_repr_is_cut(poor: Kernel, code: str, start: str) -> None:
    [plain] = (await poor.run(code)).plain
    assert plain.startswith(start)
    assert "characters left out" in plain
    assert len(plain) < CHARACTERS + 100
    assert await usable(poor)


@pytest.mark.parametrize("value", ["'a\\n'", "b'a'", "[1, 'b', (2.5, None)]", "{'k': {1}}", "print", "1_000"])
async def test_short_results_look_as_ever(bare: Kernel, value: str) -> None:
    before = (await bare.run(value)).plain
    await bare.run(INSTALL)
    assert (await bare.run(value)).plain == before


async def test_figures_drawn_at_the_end_belong_to_their_execution(kernel: Kernel) -> None:
    ran = await kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nfor n in range(2): plt.figure().gca()")
    assert ["image/png" in content["data"] for content in ran.of("display_data")] == [True, True]


# Errors.


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('x' * (100 * 1024 * 1024))",
        "raise KeyError('x' * (100 * 1024 * 1024))",
        "try: raise ValueError('x' * (100 * 1024 * 1024))\nexcept ValueError as e: raise RuntimeError('y') from e",
        "e = ValueError('y'); e.add_note('x' * (100 * 1024 * 1024)); raise e",
        "class Wide(Exception):\n    def __str__(self): return 'x' * (20 * 1024 * 1024)\nraise Wide",
        "exec('x ' * (5 * 1024 * 1024))",
        "await __import__('asyncio').sleep(0); raise ValueError('x' * (100 * 1024 * 1024))",
    ],
    ids=["value", "key", "cause", "note", "own", "syntax", "async"],
)
async def test_a_huge_message_is_cut(poor: Kernel, code: str) -> None:
    ran = await poor.run(code)
    [error] = ran.of("error")
    for content in (error, ran.reply):
        assert len(content["evalue"]) < CHARACTERS + 100
        assert len("\n".join(content["traceback"])) < CHARACTERS + 100
    assert ran.reply["status"] == "error"
    assert await usable(poor)


async def test_an_ordinary_error_looks_as_ever(bare: Kernel) -> None:
    code = "def f():\n    return 1 / 0\nf()"
    await bare.run("import asyncio")
    [before] = (await bare.run(code)).of("error")
    await bare.run(INSTALL)
    [after] = (await bare.run(code)).of("error")
    assert {**before, "traceback": 0} == {**after, "traceback": 0}
    assert len(before["traceback"]) == len(after["traceback"])


async def test_endless_recursion_is_an_error_like_any_other(poor: Kernel) -> None:
    ran = await poor.run("def f(): g()\ndef g(): f()\nf()")
    assert ran.reply["ename"] == "RecursionError"
    assert len("\n".join(ran.reply["traceback"])) < CHARACTERS + 100


async def test_tracebacks_are_counted(kernel: Kernel) -> None:
    ran = await kernel.run(
        "for n in range(300):\n    try: 1 / 0\n    except ZeroDivisionError: get_ipython().showtraceback()"
    )
    assert len(ran.of("error")) == DISPLAYS


# The rest.


async def test_nothing_is_sent_for_the_next_cell_or_the_pager(kernel: Kernel) -> None:
    ran = await kernel.run("get_ipython().set_next_input('x')\nprint?")
    assert (ran.reply["status"], ran.reply["payload"]) == ("ok", [])


async def test_the_users_names_stay_as_they_are(bare: Kernel) -> None:
    names = r"[n for n in dir() if not __import__('re').fullmatch(r'_*(i*|i?\d+)', n)]"
    before = (await bare.run(names)).plain
    await bare.run(INSTALL)
    assert (await bare.run(names)).plain == before


def test_the_outlet_imports_nothing_but_the_standard_library() -> None:
    imported = [
        line.split()[1].partition(".")[0]
        for line in Path(outlet.__file__).read_text().splitlines()
        if line[:5] in ("impor", "from ")
    ]
    assert set(imported) <= set(sys.stdlib_module_names)
