"""What code would touch, seen without running it."""

from __future__ import annotations

import sys

import pytest

from jupyter_skills.look import Look, Touch, look
from jupyter_skills.look.seen import LONGEST, MOST_TOUCHES
from tests.conftest import NO_HANG
from tests.look.corpus import CALM, MODULES, NAMES, SEEN
from tests.look.evasions import EVASIONS


def looked(code: str) -> Look:
    return look(code, NAMES, MODULES)


@pytest.mark.parametrize(("code", "reads", "binds", "changes", "deletes"), CALM)
def test_ordinary_work_is_no_risk_and_its_names_are_told(
    code: str, reads: str, binds: str, changes: str, deletes: str
) -> None:
    found = looked(code)
    assert found.risks == ()
    assert found.complete
    assert (found.files, found.network, found.processes, found.installs, found.secrets) == ((), (), (), (), ())
    assert [name for name in found.reads if name not in MODULES] == reads.split()
    assert found.binds == tuple(binds.split())
    assert found.changes == tuple(changes.split())
    assert found.deletes == tuple(deletes.split())


@pytest.mark.parametrize(("code", "part", "what"), SEEN)
def test_what_is_only_read_or_made_is_told_and_no_risk(code: str, part: str, what: str) -> None:
    found = looked(code)
    assert what in [touch.what for touch in getattr(found, part)]
    assert found.risks == ()
    assert found.complete


@pytest.mark.parametrize(("risk", "code"), EVASIONS)
def test_what_is_dangerous_is_a_risk_however_it_is_written(risk: str, code: str) -> None:
    found = looked(code)
    assert any(sentence.startswith(risk) for sentence in found.risks), found
    if risk.startswith("Does what"):
        assert not found.complete


@pytest.mark.parametrize(("risk", "code"), EVASIONS)
def test_it_stays_a_risk_inside_of_a_function_and_where_the_notebook_is_not_known(risk: str, code: str) -> None:
    if code.startswith(("x = 1\n)", "a\0", "from os import *", "%", "get_ipython =")):
        return  # no Python, or no such thing in a function
    inside = "async def outer():\n" + "".join(f"    {line}\n" for line in code.split("\n")) + "await outer()\n"
    assert looked(inside).risks
    bare = look(inside)
    assert bare.risks or "pd." in code or "np." in code or "sns." in code or "plt." in code


def test_a_touch_names_the_thing_and_its_line_and_a_risk_cites_the_call() -> None:
    found = looked("import shutil\n\nshutil.rmtree('data')\ndf.to_csv('out.csv')\npd.read_csv('https://a.dev/a.csv')\n")
    assert found.files == (Touch("deletes 'data'", 3), Touch("writes 'out.csv'", 4))
    assert found.network == (Touch("pd.read_csv('https://a.dev/a.csv')", 5),)
    assert found.risks == (
        "Deletes files: shutil.rmtree('data') (line 3).",
        "Writes files, over those that are there: df.to_csv('out.csv') (line 4).",
        "Uses the network: pd.read_csv('https://a.dev/a.csv') (line 5).",
    )
    assert found.complete


def test_a_line_inside_of_a_cell_magic_is_that_of_the_cell() -> None:
    found = looked("get_ipython().run_cell_magic('time', '', 'a = 1\\nimport os\\nos.remove(a)\\n')\n")
    assert found.files == (Touch("deletes a", 4),)


def test_a_command_line_is_told_by_what_its_programs_do() -> None:
    found = looked("get_ipython().system('pip install a && rm b')")
    assert found.installs == (Touch("pip install a", 1),)
    assert found.files == (Touch("rm b", 1),)
    assert found.processes == (Touch("runs 'pip install a && rm b'", 1),)
    assert found.complete


def test_secrets_that_could_leave_are_told_as_that() -> None:
    found = looked("import requests\nk = os.environ['KEY']\nrequests.post('https://a.dev', data=k)\n")
    assert found.secrets == (Touch("reads os.environ", 2),)
    assert found.risks[0] == "Reads what may hold keys or passwords, and could send it away: os.environ (line 2)."


def test_the_worst_comes_first() -> None:
    found = looked("df.to_csv('a')\nimport subprocess\nsubprocess.run(['ls'])\nexec('1')\nos.remove('a')\n")
    assert [sentence.split(":")[0] for sentence in found.risks] == [
        "Deletes files",
        "Does what can't be seen from here",
        "Runs a program",
        "Writes files, over those that are there",
    ]


def test_reset_deletes_all_that_the_notebook_has() -> None:
    assert set(looked("get_ipython().run_line_magic('reset', '-f')").deletes) == NAMES


def test_a_notebook_name_is_what_the_notebook_says_it_is() -> None:
    assert look("rm('a')", {"rm"}, {"rm": "os.remove"}).files == (Touch("deletes 'a'", 1),)
    assert look("print('a')", {"print"}, {"print": "os.remove"}).files == (Touch("deletes 'a'", 1),)
    assert look("os.remove('a')", {"os"}, {}).files == (), "a name that is no module, such as a list's"
    assert look("os.remove('a')").files == look("os.remove('a')", {"os"}).files == (Touch("deletes 'a'", 1),)
    assert look("import helpers", (), {"h": "helpers.a"}).complete
    assert not look("import helpers").complete


def test_a_name_of_the_code_itself_is_not_read_from_the_notebook() -> None:
    assert look("x = 1\nprint(x)", {"x"}).reads == ()
    assert look("print(x)\nx = 1", {"x"}).reads == ("x",)
    assert look("if y:\n    x = 1\nprint(x)", {"x", "y"}).reads == ("y", "x")
    assert look("if y:\n    x = 1\nelse:\n    x = 2\nprint(x)", {"x", "y"}).reads == ("y",)
    assert look("def f():\n    return x\nx = 1", {"x"}).reads == ("x",)
    assert look("def f(x):\n    return x", {"x"}).reads == ()
    assert look("x = x + 1", {"x"}).reads == ("x",)
    assert look("print(len)", {"len"}).reads == ("len",)
    assert look("print(nowhere)").reads == ("nowhere",)


def test_a_copy_is_changed_without_its_original() -> None:
    assert look("d = df.copy()\nd['a'] = 1", {"df"}).changes == ()
    assert look("d = df\nd['a'] = 1", {"df"}).changes == ("df",)
    assert look("def f():\n    d = df\n    d.a.b = 1", {"df"}).changes == ("df",)
    assert look("def f(d):\n    d['a'] = 1\nf(df)", {"df"}).changes == ("df",)
    assert look("df = df.copy()\ndf['a'] = 1", {"df"}).changes == ()
    assert look("for key, value in df.items():\n    value.append(1)", {"df"}).changes == ("df",)


def test_what_strangers_wrote_is_shown_in_one_bounded_line() -> None:
    found = looked("os.remove('a\u202eb\\n\u200b" + "x" * 500 + "')\ndf.to_csv('\x1b[2J')\n")
    for text in (*found.risks, *(touch.what for touch in found.files)):
        assert not set(text) & set("\u202e\n\u200b\x1b")
        assert len(text) <= LONGEST * 4
    many = looked("\n".join(f"os.remove('{number}')" for number in range(1_000)))
    assert len(many.files) == MOST_TOUCHES + 1
    assert many.files[-1].what == f"and {1_000 - MOST_TOUCHES} more"
    assert many.risks[0].endswith("os.remove('2') (line 3) and 997 more.")


@NO_HANG
@pytest.mark.parametrize(
    "code",
    [
        *("(" * 10_000, "(" * 150 + ")" * 150, "-" * 50_000 + "1", "a" + ".b" * 20_000, "f" + "()" * 20_000),
        *("x=1\n" * 250_000, "a\0b", "x = '\ud800'", "\ud800", "\u2028", "lambda:" * 5_000 + "1", "@d\n" * 20_000),
        *("+".join(["x"] * 20_000), "not " * 10_000 + "x", "x if y else " * 5_000 + "z", "[" * 90 + "]" * 90),
        *("if x: pass\n" + "elif x: pass\n" * 4_000, "".join(" " * i + "if x:\n" for i in range(99)), "f'" + "{" * 99),
        *("\n".join(f"a{i} = a{i + 1}" for i in range(3_000)), "x = x + x\n" * 3_000, "!" * 60_000, "%" * 60_000),
        *("x = 'a'\n" + "x = x + x\n" * 40, "import a." + "a." * 10_000 + "a", "1" * 60_000, "\\\n" * 20_000),
        *("get_ipython().system('" + "ls | " * 700 + "')", "get_ipython().system('" + "x" * 60_000 + "')"),
        *("get_ipython().run_cell_magic('time', '', " * 30, "a.execute('select" + " " * 60_000 + ";x')"),
        *("from IPython.display import HTML\nHTML('" + "<" + " " * 60_000 + "')", "df.query('" + "@a" * 30_000 + "')"),
        *(" " * 60_000 + "!", "x = " * 10_000 + "1", "global a\n" * 5_000, "del " + "a," * 10_000 + "a"),
    ],
)
def test_no_code_hangs_or_breaks_it(code: str) -> None:
    assert isinstance(looked(code), Look)


@pytest.mark.parametrize("code", ["(" * 10_000 + ")" * 10_000, "-" * 5_000 + "1", "x = 1\n" * 250_000, "x = (", "a\0"])
def test_what_cannot_be_read_is_hidden(code: str) -> None:
    found = looked(code)
    assert not found.complete
    assert len(found.hidden) == len(found.risks) == 1
    assert found.hidden[0].line == 0


def test_a_deep_stack_makes_it_hidden_and_never_an_error() -> None:
    def deep(levels: int) -> Look:
        return deep(levels - 1) if levels else looked("[" * 60 + "]" * 60 + "\nprint(1)")

    limit = sys.getrecursionlimit()
    found = [deep(levels) for levels in range(limit - 400, limit - 60, 20)]
    assert any(not each.complete for each in found)


def test_a_magic_nested_in_a_magic_is_looked_at_only_so_far() -> None:
    code = "pass"
    for _ in range(8):
        code = f"get_ipython().run_cell_magic('time', '', {code!r})"
    assert not looked(code).complete


def test_a_line_that_a_carriage_return_ends_is_cited_as_a_line() -> None:
    found = looked("x = 1  # harmless\rimport os; os.remove('x')\r\nos.remove('y')")
    assert found.risks == ("Deletes files: os.remove('x') (line 2), os.remove('y') (line 3).",)


def test_a_call_of_python_s_own_that_nobody_knows_is_named() -> None:
    found = looked("import pydoc\npydoc.pipepager('x', 'ls')\n")
    assert found.hidden == (Touch("calls pydoc.pipepager, which is not known here", 2),)
