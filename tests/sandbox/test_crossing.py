"""Variables and files on their way into a real sandbox and out of it, whatever the code inside says of them."""

from __future__ import annotations

import gc
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy
import pandas
import PIL.Image
import psutil
import pyarrow
import pytest

from jupyter_skills.errors import SandboxFailed, SkillsError, UsageProblem
from jupyter_skills.execution.result import Execution
from jupyter_skills.sandbox.kernel import IsolatedKernel

pytestmark = pytest.mark.docker

MIB = 1024 * 1024


async def run(sandbox: IsolatedKernel, code: str, language: Any = "python") -> Execution:
    done = await sandbox.run(language, code, timeout=30, on_output=lambda _: None)
    assert done.outcome == "ok", done.error
    return done


def one_line(error: SkillsError) -> str:
    text = str(error)
    assert text.isprintable()
    assert len(text) < 600
    return text


async def refused(sandbox: IsolatedKernel, name: str) -> str:
    """The error of a variable that can't be fetched."""
    with pytest.raises(UsageProblem) as caught:
        await sandbox.receive(name)
    return one_line(caught.value)


async def test_python_s_own_values_cross_both_ways_and_can_be_used_there(sandbox: IsolatedKernel) -> None:
    values: dict[str, object] = {
        "text": "zwölf\n\x00\ud800",
        "number": 2**70,
        "real": -math.inf,
        "raw": bytes(range(256)),
        "nested": {"a": [1, (2.5, {3, 4}), None], ("k", 1): {"~tuple": date(2020, 1, 2)}},
        "array": numpy.arange(6, dtype="<f4").reshape(2, 3),
        "mixed": [numpy.arange(3), {"b": b"x"}],
    }
    for name, value in values.items():
        await sandbox.send(name, value)
    done = await run(sandbox, "print(len(text), number + 1, nested[('k', 1)], array.sum(), type(mixed[0]).__name__)")
    assert done.text == f"8 {2**70 + 1} {{'~tuple': datetime.date(2020, 1, 2)}} 15.0 ndarray\n"
    for name, value in values.items():
        assert repr(await sandbox.receive(name)) == repr(value)


async def test_a_value_is_a_copy_and_leaves_no_trace(sandbox: IsolatedKernel) -> None:
    mine = [1]
    await sandbox.send("theirs", mine)
    await run(sandbox, "theirs.append(2)")
    assert (await sandbox.receive("theirs"), mine) == ([1, 2], [1])
    left = await run(sandbox, "import os; print(os.listdir('/skills/.exchange'), '__jupyter_skills__' in globals())")
    assert (left.text, left.files) == ("[] False\n", ())


@pytest.mark.parametrize(
    ("value", "package"),
    [(pandas.DataFrame({"a": [1]}), "pandas"), (pyarrow.table({"a": [1]}), "pyarrow")],
    ids=["data frame", "table"],
)
async def test_a_package_that_the_sandbox_lacks_is_named_with_what_installs_it(
    sandbox: IsolatedKernel, value: object, package: str
) -> None:
    with pytest.raises(SandboxFailed) as caught:
        await sandbox.send("data", value)
    assert one_line(caught.value) == (
        f"'data' needs the package {package}, which the sandbox does not have. "
        f"Install it with '%skill sandbox install {package}', or send what 'data' is made of."
    )
    await sandbox.send("data", [1])
    assert await sandbox.receive("data") == [1]


async def test_a_figure_drawn_inside_comes_out_as_a_picture(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "from matplotlib.figure import Figure\nf = Figure((1, 2), dpi=50); f.subplots().plot([1, 2])")
    picture = await sandbox.receive("f")
    assert isinstance(picture, PIL.Image.Image)
    assert picture.size == (50, 100)


async def test_what_can_not_be_fetched_or_sent_says_why_in_one_line(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "def f(): ...\nlong = 'x' * 2000\nitself = []; itself.append(itself)")
    assert await refused(sandbox, "nothing") == (
        "There is no variable 'nothing' in the sandbox. Check what the code there has made."
    )
    assert "a value of type function can't cross the sandbox's border; numbers, text" in await refused(sandbox, "f")
    assert "a list that contains itself" in await refused(sandbox, "itself")
    sandbox._settings.file_limit = 1000
    assert "the value takes 2,000 bytes, and the limit is 1,000" in await refused(sandbox, "long")
    for value, words in ((len, "type builtin_function_or_method"), ("x" * 2000, "takes 2,000 bytes")):
        with pytest.raises(UsageProblem, match=words):
            await sandbox.send("long", value)
    sandbox._settings.file_limit = MIB
    assert await sandbox.receive("long") == "x" * 2000


HOSTILE = """
import datetime, numpy, os
class Liar:
    def __reduce__(self): return os.system, ("touch /tmp/opened",)
    __class__ = property(lambda self: numpy.ndarray)
    shape = nbytes = dtype = size = property(lambda self: 10**18)
    def __len__(self): return 10**18
    def __iter__(self): return iter(lambda: self, 0)
    def __getattr__(self, name): return self
    def __eq__(self, other): raise RuntimeError("first\\nsecond \x1b[31m" + "x" * 10_000)
    __call__ = __str__ = __repr__ = __bytes__ = __array__ = __getitem__ = items = lambda self, *_: self
class Dict(Liar, dict): ...
class List(Liar, list): ...
class Text(Liar, str): ...
class Array(Liar, numpy.ndarray): ...
class Day(Liar, datetime.datetime): ...
liar, a_dict, a_list, a_text = Liar(), Dict(a=1), List([1, 2]), Text("x")
an_array = numpy.arange(3).view(Array)
a_day = Day(2020, 1, 1)
"""


async def test_objects_that_lie_about_themselves_arrive_as_plain_values_or_not_at_all(sandbox: IsolatedKernel) -> None:
    await run(sandbox, HOSTILE)
    assert "__main__.Liar" in await refused(sandbox, "liar")
    assert "RuntimeError: first second xxx" in await refused(sandbox, "a_day")
    for name, value in (("a_dict", {"a": 1}), ("a_list", [1, 2]), ("a_text", "x")):
        back = await sandbox.receive(name)
        assert (type(back), back) == (type(value), value)
    array = await sandbox.receive("an_array")
    assert type(array) is numpy.ndarray
    assert array.tolist() == [0, 1, 2]


# Each is run when the kernel opens the file that it hands over; what it writes instead goes nowhere.
FILES = {
    "a symbolic link": "os.symlink('/etc/passwd', path)",
    "a pipe": "os.mkfifo(path)",
    "a folder": "os.mkdir(path)",
    "nothing": "pass",
    "ten gigabytes": "real(path, 'wb').truncate(10 << 30)",
    "garbage": "real(path, 'wb').write(os.urandom(9999))",
    "a pickle": "real(path, 'wb').write(pickle.dumps(Touch()))",
}
LYING_FILE = """
import builtins, os, pickle
class Touch:
    def __reduce__(self): return os.system, ("touch {marker}",)
real = builtins.open
def lying(path, *how, **more):
    if path != "/skills/.exchange/x":
        return real(path, *how, **more)
    {make}
    return real("/dev/null", "wb")
builtins.open = lying
x = [1, 2]
"""
HONEST = "builtins.open = real; import shutil; os.path.isdir(p := '/skills/.exchange') and shutil.rmtree(p)"


async def test_a_kernel_that_hands_over_another_file_gets_one_readable_error(
    sandbox: IsolatedKernel, tmp_path: Path
) -> None:
    marker = tmp_path / "opened"
    await sandbox.start()
    before = resident()
    for make in FILES.values():
        await run(sandbox, LYING_FILE.format(marker=marker, make=make))
        assert "'x' can't be fetched from the sandbox: " in await refused(sandbox, "x")
        await run(sandbox, HONEST)
        assert await sandbox.receive("x") == [1, 2]
    assert not marker.exists()
    assert resident() - before < 100 * MIB


def answering(value: str) -> str:
    """Code that puts another shell in the place of the one that the host asks for what it gets."""
    return f"""
Names = type("Names", (dict,), {{"pop": lambda *_: {value}}})
IPython.get_ipython = lambda: type("Shell", (), {{"user_ns": Names(x=[1, 2])}})
"""


def saying(text: str) -> str:
    return answering(f"type('Kind', (), {{'__repr__': lambda _: {text}}})()")


LIES = {
    "no such kind": answering("'pickle'"),
    "a kind that is kept inside": answering("'parquet'"),
    "another kind": answering("'npy'"),
    "no text": answering("{1: [2]}"),
    "a kind without end": answering("'x' * 10**7"),
    "brackets without end": saying("'[' * 10**6"),
    "signs without end": saying("'-' * 10**6 + '1'"),
    "code": saying("'__import__(\"os\").abort()'"),
    "an error for an answer": answering("1 / 0"),
    "no shell": "IPython.get_ipython = lambda: 1 / 0",
    "an error of many lines": "def lie(): raise ValueError('\\x1b[2J\\n' * 10**6)\nIPython.get_ipython = lie",
    "a shell of another kind": "IPython.get_ipython = lambda: type('Shell', (), {'user_ns': {'x': print}})",
}


async def test_a_kernel_that_lies_about_a_value_gets_one_readable_error(sandbox: IsolatedKernel) -> None:
    await run(sandbox, "import IPython; x = [1, 2]; honest = IPython.get_ipython")
    for lie in LIES.values():
        await run(sandbox, lie)
        assert "'x' can't be fetched from the sandbox" in await refused(sandbox, "x")
        await run(sandbox, "IPython.get_ipython = honest")
        assert await sandbox.receive("x") == [1, 2]


async def test_files_cross_with_their_bytes_and_paths(sandbox: IsolatedKernel) -> None:
    files = {
        "a.bin": bytes(range(256)) * 99,
        "deep/er/b.txt": b"b",
        "deep/with blanks, ü and 数.txt": b"c",
        "empty": b"",
    }
    await sandbox.put(files)
    for path, content in files.items():
        assert [(file.path, file.data) for file in await sandbox.get(path)] == [(path, content)]
    assert {file.path: file.data for file in await sandbox.get("deep")} == {
        path: content for path, content in files.items() if path.startswith("deep/")
    }
    assert [file.path for file in await sandbox.get("/work/deep/er/")] == ["deep/er/b.txt"]
    assert {file.path for file in await sandbox.get("")} == set(files)


async def test_a_file_that_was_put_is_given_back_only_when_code_changes_it(sandbox: IsolatedKernel) -> None:
    await sandbox.put({"data/in.txt": b"one"})
    assert (await run(sandbox, "print(open('data/in.txt').read())")).files == ()
    changed = await run(sandbox, "open('data/in.txt', 'a').write(' two');")
    assert [(file.path, file.data) for file in changed.files] == [("data/in.txt", b"one two")]
    await sandbox.put({"data/in.txt": b"three"})
    assert (await run(sandbox, "1")).files == ()


async def test_what_is_no_file_can_not_be_got_and_takes_no_memory_here(sandbox: IsolatedKernel) -> None:
    await sandbox.put({"kept/a": b"1" * 900, "kept/b": b"2" * 900})
    await run(sandbox, "ln -s /etc/passwd link; ln -s kept folder; ln -s /dev/zero zero; mkfifo pipe", "shell")
    await run(sandbox, "mkdir bare; truncate -s 10G sparse", "shell")
    before = resident()
    for path in (
        "missing",
        "link",
        "folder",
        "folder/a",
        "zero",
        "pipe",
        "bare",
        "../..",
        "../etc/passwd",
        "/etc/passwd",
    ):
        with pytest.raises(SandboxFailed) as caught:
            await sandbox.get(path)
        assert one_line(caught.value) == f"There is no file '{path}' in the sandbox. Paths are relative to its /work."
    sandbox._settings.file_limit = 1000
    for path, size in (("sparse", "10,737,418,240"), ("kept", "1,800")):
        with pytest.raises(SandboxFailed) as caught:
            await sandbox.get(path)
        assert one_line(caught.value).startswith(f"'{path}' has {size} bytes, over the limit of 1,000.")
    assert [file.size for file in await sandbox.get("kept/a")] == [900]
    assert resident() - before < 50 * MIB


def resident() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)
