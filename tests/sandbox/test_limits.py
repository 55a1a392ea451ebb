"""What happens at each limit: it is named for what it was, and the next call works."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import psutil
import pytest

from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.kernel import IsolatedKernel

pytestmark = pytest.mark.docker

MIB = 1024 * 1024
GREEDY = "b = bytearray(3 * 2**30); b[::4096] = b'x' * len(b[::4096])"


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python", timeout: float = 30) -> Execution:
    return await sandbox.run(language, code, timeout=timeout, on_output=lambda _: None)


async def works(sandbox: IsolatedKernel) -> bool:
    return (await run(sandbox, "print('works')")).text == "works\n"


async def test_a_kernel_without_memory_is_said_to_have_run_out_of_it(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, GREEDY)
    assert (done.outcome, done.cause, done.state_lost) == ("died", "out_of_memory", True)
    assert done.error == (
        "The isolated kernel ran out of memory and was ended (the limit is 1g). "
        "Its variables and files are gone; the next call starts afresh."
    )
    assert await works(sandbox)


async def test_a_child_without_memory_is_named_while_the_kernel_lives(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "x = 1")
    done = await run(sandbox, f'python3 -c "{GREEDY}"', "shell")
    assert (done.outcome, done.cause, done.state_lost) == ("error", "out_of_memory", False)
    assert done.error == "exit status -9 (ended by SIGKILL)"
    assert done.notes == ("The memory limit (1g) was reached; a process was killed.",)
    assert (await run(sandbox, "x")).text == "1\n"


async def test_a_full_disk_is_named_once(sandbox: IsolatedKernel) -> None:
    full = await run(sandbox, "head -c 400M /dev/zero > /work/big", "shell")
    assert (full.outcome, full.cause) == ("error", "disk_full")
    assert "There is no room left in /work." in full.notes
    other = await run(sandbox, "1 / 0")
    assert (other.outcome, other.cause, other.notes) == ("error", "", ())
    assert (await run(sandbox, "rm big", "shell")).outcome == "ok"


async def test_more_files_than_the_disk_takes_are_a_full_disk(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "for number in range(10**6): open(str(number), 'w').close()", timeout=60)
    assert (done.outcome, done.cause) == ("error", "disk_full")
    assert "Of many files only 20,000 were looked at." in done.notes
    assert "19,000 more files were left in the sandbox." in done.notes
    assert len(done.files) == 1000
    assert await works(sandbox)


@pytest.mark.parametrize(
    ("language", "bomb"),
    [
        ("shell", ":(){ :|:& };: ; sleep 5"),
        ("shell", ":(){ setsid bash -c 'sleep 0.1; :' & :|:& };: ; sleep 5"),
        ("python", "import os\nwhile True: os.fork()"),
        (
            "python",
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        ),
    ],
    ids=["shell", "shell in sessions of their own", "fork", "threads"],
)
async def test_a_bomb_of_processes_is_named_and_the_next_call_works(
    sandbox: IsolatedKernel, language: Any, bomb: str
) -> None:
    done = await run(sandbox, bomb, language, timeout=2)
    assert done.outcome != "ok"
    assert "The limit of 128 processes and threads was reached." in done.notes
    assert await works(sandbox)


async def test_what_left_its_process_group_ends_with_its_command(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "setsid sleep 61 & sleep 61", "shell", timeout=0.5)
    assert (done.outcome, done.cause) == ("timeout", "deadline")
    assert (await run(sandbox, "cat /proc/[0-9]*/comm | grep -c sleep", "shell")).text == "0\n"


async def test_processes_that_the_limit_refused_don_t_cost_the_variables_if_there_is_room_again(
    sandbox: IsolatedKernel,
) -> None:
    await run(sandbox, "x = 1")
    many = await run(sandbox, "for i in $(seq 300); do sleep 20 & done; wait", "shell", timeout=5)
    assert "Resource temporarily unavailable" in many.text
    assert "The limit of 128 processes and threads was reached." in many.notes
    assert (await run(sandbox, "x")).text == "1\n"


FLOODS = {
    "300 prints of 1 MiB": ("python", "for _ in range(300): print('x' * 2**20)"),
    "one print of 300 MiB": ("python", "print('x' * 300 * 2**20)"),
    "a result of 300 MiB": ("python", "'x' * 300 * 2**20"),
    "an exception of 100 MiB": ("python", "raise ValueError('x' * 100 * 2**20)"),
    "a program in Python": (
        "python",
        "import subprocess; subprocess.run('head -c 300M /dev/zero | tr \"\\\\0\" x', shell=True)",
    ),
    "a program in the shell": ("shell", "head -c 300M /dev/zero | tr '\\0' x"),
}


@pytest.mark.parametrize(("language", "code"), FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_is_cut_and_marked_and_takes_no_memory(sandbox: IsolatedKernel, language: Any, code: str) -> None:
    await run(sandbox, "y = 1")
    before = psutil.Process().memory_info().rss
    done = await run(sandbox, code, language, timeout=60)
    assert done.state_lost is False
    assert len(done.text + done.error) < 70_000
    assert "left out" in done.text + done.error + "".join(done.notes)
    assert psutil.Process().memory_info().rss - before < 64 * MIB
    assert (await run(sandbox, "y")).text == "1\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [("python", "while True: print('y')"), ("python", "import subprocess; subprocess.run(['yes'])"), ("shell", "yes")],
    ids=["print", "yes from Python", "yes"],
)
async def test_an_endless_flood_ends_at_its_deadline(sandbox: IsolatedKernel, language: Any, code: str) -> None:
    done = await run(sandbox, code, language, timeout=1)
    assert (done.outcome, done.cause, done.state_lost) == ("timeout", "deadline", False)
    assert "left out" in done.text + "".join(done.notes)
    assert await works(sandbox)


async def test_of_20_000_displays_some_are_kept_and_the_rest_is_counted(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "from IPython.display import display\nfor number in range(20_000): display(number)")
    assert done.text.startswith("0\n1\n2\n")
    assert done.text.endswith("… 19,800 displays left out …\n")
    drawn = "from PIL import Image\nfor _ in range(100): display(Image.new('RGB', (3, 2)))"
    pictures = await run(sandbox, drawn)
    assert len(pictures.images) == 50
    assert pictures.notes == ("50 displays were left out.",)


async def test_a_hundred_calls_of_10_mib_leave_both_sides_as_they_were(sandbox: IsolatedKernel) -> None:
    inside = "int(open('/proc/self/statm').read().split()[1]) * 4096"
    flood = "print('x' * 10 * 2**20)"
    for _ in range(5):
        await run(sandbox, flood)
    before, there = psutil.Process().memory_info().rss, int((await run(sandbox, inside)).text)
    for _ in range(100):
        await run(sandbox, flood)
    assert psutil.Process().memory_info().rss - before < 20 * MIB
    assert int((await run(sandbox, inside)).text) - there < 20 * MIB


async def test_pictures_among_files_are_decoded_within_bounds(sandbox: IsolatedKernel) -> None:
    code = """
from PIL import Image
for number in range(60): Image.new("L", (8000, 4000)).save(f"{number:02}.png")
"""
    done = await run(sandbox, code, timeout=120)
    assert len(done.files) == 60
    assert 5 < sum(file.image is not None for file in done.files) < 20
    assert all(file.mime_type == "image/png" for file in done.files)


FORGERIES = {
    "idle": "get_ipython().kernel._publish_status('idle', 'shell')",
    "a question": (
        "kernel = get_ipython().kernel\n"
        "kernel.session.send(kernel.stdin_socket, 'input_request', {'prompt': 'Your API key', 'password': True}, "
        "kernel.get_parent('shell'), ident=b'relay')"
    ),
    "the next input": "get_ipython().set_next_input('print(1)', replace=True)",
    "a comm": "from comm import create_comm\ncreate_comm(target_name='jupyter.widget', data={})",
    "a display that changes another one": (
        "from IPython.display import HTML, update_display\nupdate_display(HTML('<b>'), display_id='x')"
    ),
    "an error": "get_ipython().kernel.send_response(get_ipython().kernel.iopub_socket, 'error', {'ename': 'X'})",
    "nonsense": "get_ipython().kernel.iopub_socket.send_multipart([b'x', b'<IDS|MSG>', b'', b'{', b'', b'', b''])",
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
async def test_forged_messages_are_inert(sandbox: IsolatedKernel, forgery: str) -> None:
    done = await run(sandbox, f"{forgery}\nimport time; time.sleep(0.2)\nprint('after')")
    assert (done.outcome, done.text, done.error, done.images) == ("ok", "after\n", "", ())
    assert await works(sandbox)


async def test_a_forged_reply_ends_the_call_and_the_next_one_interrupts_what_goes_on(sandbox: IsolatedKernel) -> None:
    code = """
kernel = get_ipython().kernel
content = {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
kernel.session.send(kernel.shell_stream, "execute_reply", content, kernel.get_parent("shell"), ident=b"relay")
kernel._publish_status("idle", "shell")
while True: pass
"""
    assert (await run(sandbox, code, timeout=10)).outcome == "ok"
    assert (await run(sandbox, "print('next')", timeout=1)).outcome == "timeout"
    assert await works(sandbox)


async def test_nobody_is_asked_for_input(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "input('Your key? ')")
    assert (done.outcome, "StdinNotImplementedError" in done.error) == ("error", True)


async def test_a_kernel_that_ends_itself_is_said_to_have_ended(sandbox: IsolatedKernel) -> None:
    done = await run(sandbox, "import os; os._exit(7)")
    assert (done.outcome, done.cause, done.state_lost) == ("died", "exited", True)
    assert done.error.startswith("The isolated kernel ended (exit status 7).")
    assert await works(sandbox)


HOSTILE = """
import asyncio, resource
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.sandbox.settings import DockerSandbox

async def main():
    sandbox = IsolatedKernel(DockerSandbox(audit="off"))
    await sandbox.run("python", "1", timeout=60, on_output=print)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await sandbox.run("python", CODE, timeout=60, on_output=lambda _: None)
    assert (await sandbox.run("python", "2", timeout=60, on_output=lambda _: None)).text == "2\\n", done
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    await sandbox.stop()

asyncio.run(main())
"""
MESSAGES = {
    "of many parts": "b'{\"data\": {\"text/plain\": [' + b'[],' * 9_000_000 + b'0]}}'",
    "of wide characters": "b'{\"data\": {\"text/plain\": \"' + '\\U0001f600'.encode() + b'x' * 27_000_000 + b'\"}}'",
    "too large to be taken": "b'{\"data\": {\"text/plain\": \"' + b'x' * 100_000_000 + b'\"}}'",
}


@pytest.mark.parametrize("content", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_made_to_take_memory_takes_little(content: str) -> None:
    code = f"""
kernel = get_ipython().kernel
session = kernel.session
header, parent = session.msg_header('display_data'), kernel.get_parent('shell')['header']
parts = [session.pack(part) for part in (header, parent, {{}})]
parts.append({content})
kernel.iopub_socket.send_multipart([b'display_data', b'<IDS|MSG>', session.sign(parts), *parts])
"""
    script = HOSTILE.replace("CODE", repr(code))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) < 300, "MiB more at the peak"


async def test_process_1_can_not_be_reached_from_the_kernel(sandbox: IsolatedKernel) -> None:
    code = """
import os, signal
for path in ("/proc/1/fd", "/proc/1/environ", "/proc/1/mem"):
    try:
        os.listdir(path) if path.endswith("fd") else open(path, "rb").read(1)
        print(path, "is open")
    except OSError as error:
        print(path, type(error).__name__)
os.kill(1, signal.SIGINT)
"""
    done = await run(sandbox, code)
    closed = [f"/proc/1/{name} PermissionError" for name in ("fd", "environ", "mem")]
    assert done.text.splitlines() == closed
    assert await works(sandbox)
