"""What is said of the changes that code made."""

from __future__ import annotations

import pytest

from tests.namespace.space import Space, kinds, told


def test_each_name_is_told_with_what_became_of_it_in_the_order_of_the_names() -> None:
    space = Space("a = 1; b = [1]; c = {1: 2}; d = 'text'")
    delta = space.run("a = 2; b.append(2); del d; e = True")
    assert told(delta) == [
        ("a", "rebound", "int 1", "int 2"),
        ("b", "mutated", "list, 1 item", "list, 2 items"),
        ("d", "deleted", "str, 4 characters", ""),
        ("e", "added", "", "bool True"),
    ]


def test_nothing_is_told_where_nothing_changed() -> None:
    space = Space("a = 10**6; b = [1]; c = float('nan'); import math; t = 'x' * 1000")
    assert told(space.run("a = 10**6; b.append(2); b.pop(); c = float('nan'); import math; t = 'x' * 1000")) == []


def test_what_is_equal_but_another_object_is_told_as_rebound() -> None:
    assert kinds(Space("a = [1]").run("a = [1]")) == {"a": "rebound"}
    assert kinds(Space("a = 1").run("a = True")) == {"a": "rebound"}
    assert kinds(Space("a = 0.0").run("a = -0.0")) == {"a": "rebound"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("None", "None"),
        ("True", "bool True"),
        ("3", "int 3"),
        ("0.5", "float 0.5"),
        ("10**30", "int, 100 bits"),
        ("'secret'", "str, 6 characters"),
        ("b'x'", "bytes, 1 byte"),
        ("'x' * 2_000_000", "str, 2,000,000 characters, 2.0 MB"),
        ("[1, 2, 3]", "list, 3 items"),
        ("(1,)", "tuple, 1 item"),
        ("{1, 2}", "set, 2 items"),
        ("{'a': 1}", "dict, 1 item"),
        ("__import__('collections').Counter('aab')", "Counter, 2 items"),
        ("lambda: 0", "function"),
        ("len", "function"),
        ("__import__('math')", "module"),
        ("int", "class"),
        ("object()", "object"),
        ("__import__('numpy').zeros((2, 3))", "ndarray, 2 x 3 float64"),
        ("__import__('numpy').zeros(3, 'i4')", "ndarray, 3 int32"),
        ("__import__('numpy').zeros((1000, 1000))", "ndarray, 1,000 x 1,000 float64, 8.0 MB"),
        ("__import__('numpy').float32(0.5)", "float32 0.5"),
        ("__import__('pandas').DataFrame({'a': [1], 'b': [2], 'c': [3]})", "DataFrame, 1 x 3"),
        ("__import__('pandas').Series([1, 2])", "Series, 2 values"),
    ],
)
def test_a_value_is_told_by_its_type_and_size_and_no_text_by_what_it_says(value: str, words: str) -> None:
    assert told(Space().run(f"x = {value}")) == [("x", "added", "", words)]


@pytest.mark.parametrize(
    ("setup", "code", "after"),
    [
        ("x = [1, 2]", "x[0] = 5", "list, 2 items, other items"),
        ("x = {'a': 1}", "x['a'] = 2", "dict, 1 item, other items"),
        ("x = {'a': [1]}", "x['a'].append(2)", "dict, 1 item, other contents"),
        ("x = bytearray(b'ab')", "x[0] = 0", "bytearray, 2 bytes, other values"),
        ("class Model: pass\nx = Model()", "x.fitted = True", "Model, other contents"),
        ("import numpy as np; x = np.zeros(2)", "x[0] = 1", "ndarray, 2 float64, other values"),
        ("import pandas as pd; x = pd.DataFrame({'a': [1]})", "x['b'] = 2", "DataFrame, 1 x 2, added: b"),
        (
            "import pandas as pd; x = pd.DataFrame({'a': [1]})",
            "x.rename(columns={'a': 'b'}, inplace=True)",
            "DataFrame, 1 x 1, added: b; removed: a",
        ),
        ("import pandas as pd; x = pd.DataFrame({'a': [1]})", "x['a'] = 7", "DataFrame, 1 x 1, other values"),
    ],
)
def test_where_type_and_size_stay_something_true_is_said(setup: str, code: str, after: str) -> None:
    [change] = Space(setup).run(code).changes
    assert (change.name, change.kind, change.after) == ("x", "mutated", after)


def test_every_name_that_reaches_what_changed_is_told() -> None:
    space = Space("inner = [1]; outer = {'a': (inner,)}; other = [1]; outermost = [outer]")
    assert list(kinds(space.run("inner.append(2)"))) == ["inner", "outer", "outermost"]


def test_names_from_strangers_code_are_told_in_one_short_line_in_which_nothing_acts() -> None:
    delta = Space().run("x = type('A\\x1b[2J\\n' + 'b' * 500, (), {})()")
    [change] = delta.changes
    assert change.after.startswith("A\\x1b[2J b")
    assert change.after.isprintable()
    assert len(change.after) < 60


def test_a_look_at_a_frame_is_no_change() -> None:
    space = Space("import pandas as pd; df = pd.DataFrame({'a': [1, 2], 'b': [0.5, None]}); df['c'] = 1; df['d'] = 2")
    delta = space.run(
        "df.values; df.sum(); df['a'].mean(); df.groupby('a').sum(); df.describe(); df.loc[0]; df.T; repr(df)"
    )
    assert told(delta) == []
