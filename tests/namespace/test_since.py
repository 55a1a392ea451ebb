"""What the user did after the code ran is theirs: undo leaves it alone unless forced."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jupyter_skills.namespace.history import History
from tests.namespace.space import PLENTY, Space, kinds

SINCE = "it has been changed since"
IMPORTS = """
import types
import numpy as np, pandas as pd
from collections import OrderedDict, defaultdict, deque
class Model:
    def __init__(self): self.seen = []
class Slotted:
    __slots__ = ("a", "b")
def function(held=[]): return held
"""
FRAME = "x = pd.DataFrame({'a': [1, 2], 'b': ['u', 'v']})"
TEXTS = "x = pd.Series(['u', 'v'], dtype='category')"

# How x is made, what the code does, what the user does then.
MUTATED = [
    (FRAME, "x.loc[0, 'a'] = 9", "x['mine'] = [7, 8]"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.loc[1, 'a'] = 8"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.loc[1, 'b'] = 'mine'"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.columns = ['a', 'mine']"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.index = [5, 6]"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.index.name = 'mine'"),
    (FRAME, "x.loc[0, 'a'] = 9", "x.drop(index=1, inplace=True)"),
    (FRAME, "x.loc[0, 'a'] = 9", "x['a'] = x['a'].astype('int32')"),
    ("x = pd.Series([1, 2])", "x[0] = 5", "x[1] = 7"),
    (TEXTS, "x[0] = 'v'", "x[1] = 'u'"),
    ("x = np.arange(6.0)", "x[0] = 1", "x[3] = 5"),
    ("x = np.arange(6.0)", "x[0] = 1", "x.shape = (2, 3)"),
    ("x = np.arange(6.0)[::2]", "x[0] = 1", "x[1] = 5"),
    ("x = np.array([[1], [2]], dtype=object)", "x[0] = None", "x[1] = 5"),
    ("x = np.arange(2_000_000)", "x[0] = 1", "x[1_234_567] = 5"),
    ("x = np.broadcast_to(np.arange(3), (4, 3)).base.copy()", "x[0] = 1", "x[1] = 5"),
    ("x = [1]", "x.append(2)", "x[0] = 5"),
    ("x = [[1]]", "x.append([2])", "x[1].append('precious')"),
    ("x = list(range(50_000))", "x.append(2)", "x[7] = -5"),
    ("x = {'a': 1}", "x['b'] = 2", "x['a'] = 'mine'"),
    ("x = OrderedDict(a=1, b=2)", "x['c'] = 2", "x.move_to_end('a')"),
    ("x = defaultdict(list)", "x[1]", "x.default_factory = dict"),
    ("x = {1}", "x.add(2)", "x.add(3)"),
    ("x = deque([1])", "x.append(2)", "x.append(3)"),
    ("x = bytearray(3)", "x[0] = 1", "x[1] = 1"),
    ("x = Model()", "x.a = 1", "x.a = 'mine'"),
    ("x = Slotted()", "x.a = 1", "x.b = 2"),
    ("x = function", "x.a = 1", "x.b = 2"),
    ("x = function", "x.__defaults__ = ([1],)", "x.__defaults__ = ([2],)"),
    ("x = Model", "x.a = 1", "x.a = 2"),
    ("x = ValueError('old')", "x.args = ('new',)", "x.args = ('mine',)"),
    ("x = types.ModuleType('x')", "x.a = 1", "x.b = 2"),
    ("x = np.random.default_rng(1)", "x.random()", "x.random()"),
]


@pytest.mark.parametrize("user_too", [True, False])
@pytest.mark.parametrize(("setup", "code", "user"), MUTATED)
def test_what_was_changed_since_is_left_alone_unless_forced(setup: str, code: str, user: str, user_too: bool) -> None:
    space = Space(f"{IMPORTS}\n{setup}")
    delta = space.run(code)
    assert kinds(delta)["x"] == "mutated"
    if user_too:
        space.do(user)
        assert dict(space.undo(delta).left)["x"] == SINCE
        forced = space.undo(delta, force=True)
        assert forced.left == ()
        assert "x" in forced.again
    else:
        undone = space.undo(delta)
        assert (undone.left, undone.again) == ((), ())
    assert [change.name for change in space.run("pass").changes] == []


MADE = [
    ("x = pd.DataFrame({'a': [1, 2]})", "x['mine'] = [7, 8]"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.loc[1, 'a'] = 8"),
    ("x = np.arange(3)", "x[1] = 5"),
    ("x = [1]", "x.append('precious')"),
    ("x = {'a': {'b': []}}", "x['a']['b'].append('precious')"),
    ("x = Model()", "x.seen.append('precious')"),
    ("x = (Model(), 1)", "x[0].seen.append('precious')"),
    ("class x: pass", "x.a = 1"),
    ("def x(held=[]): return held", "x().append(1)"),
]


@pytest.mark.parametrize("before", ["", "x = [0]"])
@pytest.mark.parametrize(("code", "user"), MADE)
def test_what_the_code_made_and_the_user_has_changed_since_stays(code: str, user: str, before: str) -> None:
    space = Space(f"{IMPORTS}\n{before}")
    delta = space.run(code)
    space.do(user)
    mine = space["x"]
    undone = space.undo(delta)
    assert (undone.given_back, undone.left) == ((), (("x", SINCE),))
    assert space["x"] is mine
    forced = space.undo(delta, force=True)
    assert forced.again == ("x",)
    assert space.names.get("x") == ([0] if before else None)


@pytest.mark.parametrize(("code", "user"), MADE)
def test_what_the_code_made_and_the_user_only_looked_at_is_taken_back(code: str, user: str) -> None:
    space = Space(IMPORTS)
    delta = space.run(code)
    space.do("text = repr(x), str(type(x)), [*dir(x)]")
    copy.deepcopy(space["x"])
    assert space.undo(delta).left == ()
    assert "x" not in space.names


def test_only_the_names_that_reach_what_was_changed_since_are_left_alone() -> None:
    space = Space("inner = [1]; a = [inner]; b = [2]; both = [inner, b]")
    delta = space.run("inner.append(2); b.append(3)")
    space.do("inner.append('mine')")
    undone = space.undo(delta)
    assert [left.name for left in undone.left] == ["inner", "a", "both"]
    assert [change.name for change in undone.given_back] == ["b"]
    assert (space["inner"], space["b"]) == ([1, 2, "mine"], [2])


def test_a_name_is_taken_back_though_what_was_there_before_has_changed_since() -> None:
    space = Space("data = [1]")
    delta = space.run("other = {'data': data}")
    space.do("data.append('mine')")
    assert space.undo(delta).left == ()
    assert space["data"] == [1, "mine"]
    assert "other" not in space.names


def test_reading_a_frame_is_no_change() -> None:
    space = Space(f"{IMPORTS}\n{FRAME}; x['c'] = 1; x['d'] = 2")
    delta = space.run("x['e'] = 3; made = x.copy()")
    space.do("for one in (x, made): one['a'], one.describe(), one.values, repr(one), one.sum(numeric_only=True)")
    space.do("for one in (x, made): one.loc[0], one.index.is_unique, one.sort_values('a'), one.groupby('b').sum()")
    assert space.undo(delta).left == ()


def test_what_is_left_of_one_execution_does_not_hold_up_the_one_before() -> None:
    space, history = Space("a = [0]; b = [0]"), History(1 << 20)
    history.push(space.run("a.append(1); b.append(1)"))
    history.push(space.run("a.append(2)"))
    space.do("a.append('mine')")
    undone: Any = history.undo(space.names)
    assert undone.left == (("a", SINCE),)
    undone = history.undo(space.names)
    assert undone.left == (("a", SINCE),)
    assert (space["a"], space["b"]) == ([0, 1, 2, "mine"], [0])


@pytest.mark.parametrize("seconds", [0.2, PLENTY])
def test_large_arrays_are_looked_at_as_far_as_there_is_time(seconds: float) -> None:
    space = Space(f"{IMPORTS}\nx = [0]")
    delta = space.run("x = np.zeros(10_000_000)", seconds=seconds)
    space.do("x += 1")
    assert space.undo(delta).left == (("x", SINCE),)


def test_without_time_to_look_it_is_given_back() -> None:
    space = Space("x = [1]")
    delta = space.run("x = [2]", seconds=0)
    space.do("x.append(3)")
    assert space.undo(delta).left == ()
    assert space["x"] == [1]


@pytest.mark.parametrize(
    ("setup", "code", "check"),
    [
        ("x = ValueError([1])", "x.args[0].append(2); x.add_note('n'); x.z = 1", "x.args == ([1],) and not vars(x)"),
        ("x = KeyError(1)", "x.args = (2,)", "x.args == (1,)"),
        ("x = types.ModuleType('x'); x.a = [1]", "x.a.append(2); x.b = 1", "x.a == [1] and not hasattr(x, 'b')"),
        ("x = Model; x.options = {'a': 1}", "x.options['a'] = 2; x.z = 1", "x.options == {'a': 1}"),
        ("class Q: pass\nx = Model()", "x.__class__ = Q", "type(x) is Model and x.seen == []"),
        ("class Q(Model): pass\nx = Model()", "x.__class__ = Q; x.seen.append(1)", "type(x) is Model and not x.seen"),
    ],
)
def test_these_are_given_back_as_well(setup: str, code: str, check: str) -> None:
    space = Space(f"{IMPORTS}\n{setup}")
    delta = space.run(code)
    assert kinds(delta)["x"] == "mutated"
    assert space.undo(delta).left == ()
    assert eval(check, space.names)


def test_modules_of_libraries_are_not_looked_into() -> None:
    space = Space("import json, numpy as np")
    delta = space.run("json.mine = 1; del json.mine; json.other = 1")
    assert (delta.changes, delta.uncovered) == ((), ())
    space.do("del json.other")
