"""The names of a look against what really happens."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_skills.look import Look, look

NAMES = "abcde"
START = {"a": 1, "b": [1, 2], "c": {"k": 1}, "d": 4, "e": "text"}


class Recorder(dict[str, Any]):
    """A namespace that notes what Python asks of it; ``global x`` in a function passes it by."""

    def __init__(self) -> None:
        super().__init__(START)
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.deleted: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name in START and name not in self.bound:
            self.read.add(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self.bound.add(name)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self.deleted.add(name)
        super().__delitem__(name)


def ran(code: str) -> Recorder:
    recorder = Recorder()
    exec(compile(code, "cell", "exec"), recorder)
    recorder.pop("__builtins__", None)
    recorder.bound.discard("__builtins__")
    return recorder


name = st.sampled_from(NAMES)
# Each of these runs to its end, whatever stands before it.
STRAIGHT = [
    "{x} = 1",
    "{x} = [{y} for {y} in (1, 2)]",
    "{x} = {{{y}: {z} for {y} in (1, 2) for {z} in (3,)}}",
    "{x} = {y} = 2",
    "{x}, *{y} = 1, 2, 3",
    "({x}, [{y}]) = 1, (2,)",
    "{x} = repr({y})",
    "{x} = (lambda {y}: {y})({z})",
    "{x} = (lambda {y}={z}: {y})()",
    "print(({x} := 3), end='')",
    "for {x} in (1, 2): {y} = 3",
    "for {x}, {y} in [(1, 2)]: pass",
    "def {x}({y}):\n    {z} = {y}\n    return {z}",
    "def {x}({y}=str({z})): return {y}",
    "def {x}(): return {x}",
    "class {x}:\n    {y} = 1\n    {z} = 2",
    "class {x}(object):\n    def {y}(self): return 1",
    "import json as {x}",
    "from math import pi as {x}, e as {y}",
    "import os.path as {x}",
    "with open('/dev/null') as {x}: {y} = 2",
    "match [1, 2]:\n    case [{x}, *q]: pass",
    "match dict(k=1, m=2):\n    case {{'k': {x}, **r}}: pass",
    "match 1:\n    case int() as {x}: pass",
    "{x} = 1\n{x} += 1",
    "{x} = 1\ndel {x}\n{x} = 2",
    "if True:\n    {x} = 1\nelse:\n    {x} = 2",
    "try:\n    {x} = 1\nfinally:\n    {y} = 2",
    "{x}: int = 1",
    "{x}: int",
    "async def {x}(): return {y}",
    "{x} = {{**dict(k={y})}}",
    "{x} = f'{{{y}}} {{{z}!r:>{{9}}}}'",
]
# These may raise, or run in part.
ROUGH = [
    "del {x}",
    "{x} += {y}",
    "{x}.append({y})",
    "{x}[0] = {y}",
    "if {x}:\n    {y} = 1",
    "while {x}:\n    {y} = 1\n    break\nelse:\n    {z} = 2",
    "try:\n    {x} = {y}.nothing\nexcept AttributeError as {z}:\n    pass",
    "try:\n    {x} = 1 / 0\nexcept Exception as {y}:\n    {z} = {y}",
    "def f():\n    global {x}\n    {x} = {y}\nf()",
    "def f():\n    global {x}\n    del {x}\nf()",
    "def f():\n    {x} = 1\n    def g():\n        nonlocal {x}\n        {x} = {y}\n    g()\nf()",
    "class A:\n    global {x}\n    {x} = {y}",
    "class A:\n    {x} = {x}\n    {y} = [{x} for {z} in (1,)]",
    "for {x} in {y}: {z} = {x}",
    "{x} = {y}",
    "({x} := {y})",
    "{x} = [({y} := n) for n in (1, 2)]",
    "[{z} for {x} in {y} if ({z} := {x})]",
    "raise ValueError({x})",
]


def filled(templates: list[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda template, x, y, z: template.format(x=x, y=y, z=z), st.sampled_from(templates), name, name, name
    )


def programs(templates: list[str]) -> st.SearchStrategy[str]:
    return st.lists(filled(templates), min_size=1, max_size=6).map("\n".join)


def without_shadowing(code: str) -> bool:
    """A comprehension or a parameter list that uses a name twice is no Python."""
    with contextlib.suppress(SyntaxError):
        compile(code, "cell", "exec")
        return True
    return False


@settings(max_examples=400, deadline=None)
@given(programs(STRAIGHT).filter(without_shadowing))
def test_names_of_code_that_runs_to_its_end_are_exactly_those_it_touches(code: str) -> None:
    try:
        recorder = ran(code)
    except Exception:  # noqa: BLE001 -- such as a class that is called for a number
        return
    found = look(code, START)
    assert set(found.binds) == recorder.bound - {"__annotations__"}, code
    assert set(found.deletes) == recorder.deleted, code
    assert recorder.read <= set(found.reads), code
    # Where the look can't tell what runs, or when, it says too much rather than too little.
    if not any(word in code for word in ("def ", "lambda", "class ", "del ", "for ", "match ")):
        assert set(found.reads) == recorder.read, code


@settings(max_examples=600, deadline=None)
@given(programs(STRAIGHT + ROUGH).filter(without_shadowing))
def test_no_name_is_touched_that_was_not_seen(code: str) -> None:
    recorder = Recorder()
    with contextlib.suppress(Exception):
        exec(compile(code, "cell", "exec"), recorder)
    found = look(code, START)
    after = {key: dict.__getitem__(recorder, key) for key in recorder if not key.startswith("__")}
    rebound = {key for key, value in after.items() if key not in START or value is not START[key]}
    missing = START.keys() - after.keys()
    assert rebound <= set(found.binds) | set(found.changes), code
    assert missing <= set(found.deletes), code
    if "global" not in code and ":=" not in code:  # with those, Python stores past the recorder
        assert recorder.read <= set(found.reads), code


@pytest.mark.parametrize(
    ("code", "binds", "deletes"),
    [
        ("import os.path", "os", ""),
        ("import os.path as p, sys", "p sys", ""),
        ("from os import path as p", "p", ""),
        ("[n for n in range(3) if (last := n)]", "last", ""),
        ("def f():\n    global g\n    g = 1\n    local = 2", "g f", ""),
        ("class A:\n    b = 1\n    def c(self): d = 2", "A", ""),
        ("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2", "f", ""),
        ("with a as b, c as (d, e): pass", "b d e", ""),
        ("for i, (j, *k) in a: pass", "i j k", ""),
        ("try: pass\nexcept E as q: f = q", "f", ""),
        ("try: pass\nexcept* E as a: pass", "", "a"),
        (
            "match a:\n    case {'k': k, **r} | [k, r]: pass\n    case C(x=y) as z: pass\n    case _: pass",
            "k r y z",
            "",
        ),
        ("del a, (b, [c])\ndel d.x, e[0]", "", "a b c"),
        ("a: int = 1\nb: int", "a", ""),
        ("lambda q: (q, (w := 1))", "", ""),
        ("async def f():\n    async with a as b: pass", "f", ""),
        ("a[0] = b.c = d = 1", "d", ""),
    ],
)
def test_each_way_to_bind_a_name_is_known(code: str, binds: str, deletes: str) -> None:
    found = look(code, set(NAMES))
    assert found.binds == tuple(binds.split())
    assert found.deletes == tuple(deletes.split())


def test_type_parameters_are_no_names_of_the_notebook() -> None:
    found = look("def f[T](a: T) -> T: return a\nclass C[*S]: pass\ntype A[K] = dict[K, int]\n")
    if sys.version_info < (3, 12):  # it is not Python yet
        assert not found.complete
        return
    assert found.binds == ("f", "C", "A")
    assert found.reads == ()


ANY_TEXT = st.text(alphabet=st.characters(), max_size=300)
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "import os",
                "os",
                ".",
                "system",
                "(",
                ")",
                "'",
                '"',
                "\n",
                " ",
                "    ",
                "=",
                "x",
                "[",
                "]",
                "{",
                "}",
                ":",
            ),
            *(
                "lambda",
                "def f",
                "class A",
                "async ",
                "await ",
                "for ",
                " in ",
                "if ",
                "else",
                "%",
                "!",
                "%%",
                "?",
                "\\",
            ),
            *(
                "get_ipython()",
                ".run_cell_magic(",
                "'time', '', ",
                "f'",
                "{x}",
                "@",
                "*",
                "**",
                "del ",
                "global x",
                ";",
            ),
            *(
                "\0",
                "\ud800",
                "\u202e",
                "\t",
                "try:",
                "except",
                " as ",
                "with ",
                "match x:",
                "case ",
                "_",
                "1",
                "e9",
                "...",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=1_000, deadline=None)
@given(ANY_TEXT | PIECES | programs(STRAIGHT + ROUGH))
def test_any_text_gives_a_look(code: str) -> None:
    found = look(code, {"x", "os"}, {"os": "os"})
    assert isinstance(found, Look)
    assert found.complete == (not found.hidden)
    assert bool(found.risks) or not found.hidden
    assert not any("failed with" in touch.what for touch in found.hidden), found.hidden
