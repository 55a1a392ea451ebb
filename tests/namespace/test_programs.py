"""Whatever code does to a namespace, undoing it gives back equal values, the same objects and the same aliases."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_skills.namespace.history import History
from tests.namespace.space import Space, kinds

NAMES = "abcde"
IMPORTS = "import numpy as np, pandas as pd\nfrom collections import deque\nclass N: pass"
STEPS = [
    "{a} = []",
    "{a} = {{}}",
    "{a} = {{1, 'x'}}",
    "{a} = deque([1])",
    "{a} = bytearray(3)",
    "{a} = N()",
    "{a} = {n}",
    "{a} = {b}",
    "{a} = ({b}, {c})",
    "{a} = [{b}, {c}]",
    "{a} = lambda held={b}: held",
    "{a} = np.arange(6.0).reshape(2, 3)",
    "{a} = np.array([{n}, None], dtype=object)",
    "{a} = pd.DataFrame({{'x': [1, 2], 'y': ['u', 'v']}})",
    "{a} = {b}[1:]",
    "{a} = {b}['x']",
    "{a} = {b}.copy()",
    "{a}.append({b})",
    "{a}.extend([{b}, {n}])",
    "{a}.add({n})",
    "{a}.pop()",
    "{a}.clear()",
    "{a}.reverse()",
    "{a}.update(z={b})",
    "{a}[0] = {b}",
    "{a}['x'] = {b}",
    "{a}['y'] = {n}",
    "{a}[...] = {n}",
    "{a}.fill({n})",
    "{a}.ravel()[::2] = {n}",
    "{a}.loc[0, 'x'] = {n}",
    "{a}.columns = ['x', 'z']",
    "{a}.index.name = 'i'",
    "{a}.to = {b}",
    "{a}.shape = (3, 2)",
    "{a}.__defaults__[0].append({b})",
    "del {a}",
    "del {a}[0]",
    "del {a}['x']",
    "del {a}.to",
]
steps = st.builds(
    lambda step, a, b, c, n: step.format(a=a, b=b, c=c, n=n),
    st.sampled_from(STEPS),
    *[st.sampled_from(NAMES)] * 3,
    st.integers(0, 9),
)
programs = st.lists(steps, max_size=12)


@given(programs, programs, programs)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_undo_gives_back_what_was_there(setup: list[str], first: list[str], second: list[str]) -> None:
    space, history = Space(IMPORTS), History(1 << 30)
    run(space, setup)
    states = []
    for program in (first, second):
        before = state(space)
        snapshot = space.take()
        assert snapshot.uncovered == ()
        run(space, program)
        after = state(space)
        delta = snapshot.compare(space.names, space.watched())
        states.append(before)
        history.push(delta)
        assert set(kinds(delta)) == {name for name in {*before, *after} if before.get(name) != after.get(name)}
        if not delta.changes:
            states.pop()
    for before in reversed(states):
        undone = history.undo(space.names)
        assert undone is not None
        assert undone.left == ()
        assert undone.again == ()
        assert state(space) == before


def run(space: Space, program: list[str]) -> None:
    """Runs what of a program can be run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in program:
            with contextlib.suppress(Exception):
                space.do(step)


def state(space: Space) -> dict[str, Any]:
    """For each name something that is equal only if all it reaches is, and is the same objects."""
    return {name: shown(thing, {}) for name, thing in space.names.items() if name in NAMES}


def shown(thing: Any, met: dict[int, int]) -> Any:
    if isinstance(
        thing, int | float | str | pd.Index | types.EllipsisType | type(None) | type | types.ModuleType | np.generic
    ):
        return type(thing).__name__, repr(thing)
    if id(thing) in met:
        return "met", met[id(thing)]
    met[id(thing)] = len(met)
    about: Any
    if isinstance(thing, list | tuple | deque):
        about = [shown(one, met) for one in thing]
    elif isinstance(thing, dict):
        about = [(shown(key, met), shown(value, met)) for key, value in thing.items()]
    elif isinstance(thing, set):
        about = sorted(map(repr, thing))
    elif isinstance(thing, bytearray):
        about = bytes(thing)
    elif isinstance(thing, np.ndarray):
        cells = [shown(one, met) for one in thing.ravel().tolist()] if thing.dtype == object else thing.tobytes()
        about = thing.shape, thing.strides, str(thing.dtype), cells
    elif isinstance(thing, pd.Series):
        about = [shown(one, met) for one in thing.tolist()], thing.index.tolist(), thing.name, str(thing.dtype)
    elif isinstance(thing, pd.DataFrame):
        cells = [[shown(one, met) for one in thing.iloc[:, place].tolist()] for place in range(thing.shape[1])]
        about = (
            cells,
            thing.index.tolist(),
            thing.columns.tolist(),
            [str(one) for one in thing.dtypes],
            thing.index.name,
        )
        about = *about, shown(vars(thing).get("to"), met)
    elif isinstance(thing, types.FunctionType):
        about = shown(thing.__defaults__, met), shown(vars(thing), met)
    else:
        about = shown(vars(thing), met)
    return type(thing).__name__, id(thing), about
