"""What is given back of each type: the same object, with the contents it had."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.namespace.space import Space, kinds

IMPORTS = """
import array, dataclasses, enum, functools, random, types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
import numpy as np
import pandas as pd

class Plain: pass

class Slotted:
    __slots__ = ("a", "b", "__weakref__")

class Half(Slotted):
    __slots__ = ("c", "__dict__")

@dataclasses.dataclass(frozen=True)
class Frozen:
    items: list

class Estimator:
    def __init__(self, depth=3): self.depth = depth
    def fit(self, x):
        self.coef_ = np.asarray(x) * 2.0
        self.history_ = [self.depth]
        return self

class Named(list): pass
class Mapped(dict): pass
class Text(str): pass
class Color(enum.Enum):
    RED = 1
Point = namedtuple("Point", "x y")
class Measured(np.ndarray): pass
class Table(pd.DataFrame):
    _metadata = ["unit"]
    @property
    def _constructor(self): return Table
"""

PLAIN = [
    ("x = [1, [2], 3]", "x[1].append(5); x.reverse()"),
    ("x = {'b': 1, 'a': 2}", "x['b'] = x.pop('b'); x['c'] = 3"),
    ("x = {(1, 2): {'k': [1]}}", "x[1, 2]['k'] = 0; x[3] = 4"),
    ("x = OrderedDict(a=1, b=2, c=3)", "x.move_to_end('a')"),
    ("x = OrderedDict(a=1, b=2, c=3)", "x.popitem(last=False); x['d'] = 1"),
    ("x = defaultdict(list, a=[1])", "x['a'].append(2); x['b'].append(1)"),
    ("x = defaultdict(list, a=[1])", "x.default_factory = None"),
    ("x = Counter('abca')", "x.update('aaz'); del x['b']"),
    ("x = ChainMap({'a': 1}, {'b': 2})", "x['b'] = 5; x.maps.append({})"),
    ("x = UserDict(a=1)", "x['b'] = 5"),
    ("x = {1, (2, 3), 'a'}", "x.discard(1); x.add(9)"),
    ("x = deque([1, 2, 3], maxlen=3)", "x.append(4); x.rotate(1)"),
    ("x = bytearray(b'abc')", "x[0] = 90; x.extend(b'more')"),
    ("x = array.array('d', [1.0, float('nan')])", "x[0] = 5; x.append(2)"),
    ("x = array.array('u', 'abc')", "x[0] = 'z'"),
    ("x = ([1], [2])", "x[0].append(3)"),
    ("x = Point([1], 2)", "x.x.append(3)"),
    ("x = Named([1, 2]); x.title = ['t']", "x.append(3); x.title.append(4); x.new = 1"),
    ("x = Mapped(a=1); x.title = 't'", "x['b'] = 2; del x.title"),
    ("x = Text('abc'); x.note = [1]", "x.note.append(2); x.more = 1"),
    ("x = Plain(); x.a = [1]", "x.a.append(2); x.b = 3; x.c = x"),
    ("x = Plain(); x.a = 1", "x.__dict__ = {'other': 1}"),
    ("x = Slotted(); x.a = [1]", "x.a.append(2); x.b = 3"),
    ("x = Slotted(); x.a = [1]", "del x.a"),
    ("x = Half(); x.a = 1; x.c = [1]; x.d = 2", "x.a = 2; x.c.append(1); x.e = 5; del x.d"),
    ("x = Frozen([1])", "x.items.append(2); object.__setattr__(x, 'items', None)"),
    ("x = types.SimpleNamespace(a=1, b=[2])", "x.b.append(1); x.c = 1; del x.a"),
    ("x = functools.partial(max, [1], key=None)", "x.args[0].append(1); x.keywords['z'] = 1"),
    ("x = {Color.RED: [1]}", "x[Color.RED].append(2)"),
    ("x = Estimator().fit([1, 2])", "x.fit([3, 4, 5]); x.depth = 9"),
    ("x = Estimator()", "x.fit([3, 4, 5])"),
    ("x = Estimator().fit([1, 2])", "x.coef_ *= 3; x.history_.clear()"),
    ("x = random.Random(5)", "x.random()"),
]

ARRAYS = [
    ("x = np.arange(6)", "x[2] = 70"),
    ("x = np.array([1.0, np.nan, -0.0])", "x[1] = 0"),
    ("x = np.arange(6).reshape(2, 3)", "x *= 2; x.shape = (3, 2)"),
    ("x = np.asfortranarray(np.arange(6.0).reshape(2, 3))", "x[:, 1] = 0"),
    ("x = np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)", "x[0] = 7"),
    ("x = np.arange(10)[::-2]", "x[0] = 99"),
    ("x = np.arange(5)", "x.sort(); x[::-1].sort()"),
    ("x = np.array(3.5)", "x[()] = 4"),
    ("x = np.zeros((0, 3))", "x.shape = (3, 0)"),
    ("x = np.zeros(3, 'c16')[::2]", "x[0] = 1j"),
    ("x = np.array(['a', 'bcd'])", "x[0] = 'z'"),
    ("x = np.array(['2020-01-01', 'NaT'], 'M8[ns]')", "x[1] = '2021-01-01'"),
    ("x = np.array([True, False])", "x[:] = True"),
    ("x = np.zeros(3, [('a', 'i4'), ('b', 'f8')])", "x['b'] = np.pi; x[0] = (1, 2)"),
    ("x = np.zeros(3, np.dtype([('a', 'i1'), ('b', 'f8')], align=True))", "x['b'][1] = 5"),
    ("x = np.array([[1], {'a': 2}, None], dtype=object)", "x[0].append(5); x[1]['b'] = x; x[2] = 1"),
    ("x = np.array(['a', 'longer'], dtype=np.dtypes.StringDType())", "x[0] = 'changed'"),
    ("x = np.ma.masked_array([1, 2, 3], [0, 1, 0])", "x[0] = np.ma.masked; x.data[2] = 9; x.fill_value = 5"),
    ("x = np.arange(4).view(Measured); x.unit = ['m']", "x[0] = 5; x.unit.append('s')"),
    ("x = np.matrix([[1, 2], [3, 4]])", "x[0, 0] = 7"),
    ("x = np.rec.array([(1, 2.0)], names='a,b')", "x.a[0] = 4"),
    ("x = np.arange(4); x.flags.writeable = False", "x.flags.writeable = True; x[0] = 5"),
    ("x = np.arange(4)", "x[0] = 5; x.flags.writeable = False"),
    ("base = np.arange(4); x = base[1:]; x.flags.writeable = False", "base[:] = 0"),
    ("x = np.arange(4)", "x.resize((6,), refcheck=False); x[5] = 1"),
    ("x = np.arange(4)", "x.dtype = 'u8'; x[0] = 9"),
    ("x = np.random.default_rng(1)", "x.random()"),
    ("x = np.random.RandomState(1)", "x.rand()"),
]

FRAMES = [
    ("x = pd.DataFrame({'a': [1, 2], 'b': [0.5, None]})", "x.loc[0, 'a'] = 9"),
    ("x = pd.DataFrame({'a': [1, 2], 'b': [0.5, None]})", "x['c'] = x.a; del x['b']"),
    ("x = pd.DataFrame({'a': [3, 1]}); x['b'] = [1, 2]; x['c'] = [5, 6]", "x.sort_values('a', inplace=True)"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x['a'] = x['a'].astype('float64')"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.index = [1.0, 2.0]"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.index.name = 'row'; x.columns.name = 'column'"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.columns = ['z']"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.drop(0, inplace=True)"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.loc[5] = 7"),
    ("x = pd.DataFrame({'a': [1, 2]}); x.attrs['source'] = ['file']", "x.attrs['source'].append(1); x.attrs['n'] = 2"),
    ("x = pd.DataFrame({'a': [1, 2]})", "x.flags.allows_duplicate_labels = False"),
    ("x = pd.DataFrame({'a': ['x', None]})", "x.loc[1, 'a'] = 'y'"),
    ("x = pd.DataFrame({'a': pd.Series(['x', [1]], dtype=object)})", "x.loc[1, 'a'].append(2); x.loc[0, 'a'] = 5"),
    ("x = pd.DataFrame({'a': pd.Categorical(['x', 'y'])})",
     "x['a'] = x['a'].cat.add_categories('z'); x.loc[0, 'a'] = 'z'"),
    ("x = pd.DataFrame({'a': pd.array([1, None], dtype='Int64')})", "x.loc[1, 'a'] = 4"),
    ("x = pd.DataFrame({'a': pd.to_datetime(['2020-01-01']).tz_localize('UTC')})",
     "x.loc[0, 'a'] += pd.Timedelta('1D')"),
    ("x = pd.DataFrame({'a': [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 'x'), (2, 'x')], names=['i', 'j']))",
     "x.index.names = ['k', 'l']; x.loc[(1, 'x'), 'a'] = 0"),
    ("x = pd.DataFrame()", "x['a'] = [1]"),
    ("x = pd.Series([1.0, None], name='s')", "x[1] = 4; x.name = 't'"),
    ("x = pd.Series([1, 2], index=['a', 'b'])", "x['c'] = 3"),
    ("x = pd.Series(['x', 'y'], dtype='category')", "x[0] = 'y'"),
    ("x = pd.Index([1, 2])", "x.name = 'n'"),
    ("x = pd.MultiIndex.from_tuples([(1, 2)])", "x.names = ['a', 'b']"),
    ("x = pd.Categorical(['a', 'b'])", "x[0] = 'b'"),
    ("x = pd.array([1, None])", "x[1] = 5"),
    ("x = pd.to_datetime(['2020-01-01']).array.copy()", "x[0] = pd.Timestamp('2021-01-01')"),
    ("x = pd.interval_range(0, 2).array.copy()", "x[0] = pd.Interval(5, 6)"),
    ("x = Table({'a': [1]}); x.unit = ['m']", "x['b'] = 1; x.unit.append('s'); x.note = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("setup", "code"), PLAIN + ARRAYS + FRAMES)
def test_it_is_the_same_object_with_the_same_contents_again(setup: str, code: str) -> None:
    space = Space(IMPORTS + setup)
    x, before = space["x"], frozen(space["x"])
    delta = space.run(code)
    assert kinds(delta)["x"] == "mutated"
    assert frozen(space["x"]) != before
    undone = space.undo(delta)
    assert undone.left == ()
    assert undone.again == ()
    assert space["x"] is x
    assert frozen(x) == before
    assert kinds(space.run("pass")) == {}


@pytest.mark.parametrize(("setup", "code"), PLAIN + ARRAYS + FRAMES)
def test_it_is_given_back_also_where_the_name_was_lost(setup: str, code: str) -> None:
    space = Space(IMPORTS + setup)
    x, before = space["x"], frozen(space["x"])
    delta = space.run(f"{code}; x = None")
    assert space.undo(delta).left == ()
    assert space["x"] is x
    assert frozen(x) == before


def frozen(thing: Any) -> Any:
    """Something that is equal only for things that nobody can tell apart."""
    about: tuple[Any, ...] = ()
    if isinstance(thing, np.ndarray):
        plain = thing.view(np.ndarray)
        if plain.dtype == object:
            about = ([repr(one) for one in plain.ravel().tolist()],)
        elif plain.dtype.kind == "T":
            about = (plain.tolist(),)
        else:
            about = (plain.tobytes(),)
        about += (plain.shape, plain.strides, plain.dtype, plain.flags.writeable)
    elif isinstance(thing, pd.DataFrame | pd.Series):
        about = (thing.to_dict(), thing.index.names, thing.index.dtype)
        about = (*map(repr, about), repr(thing.attrs), thing.flags.allows_duplicate_labels)
        about += (str(thing.dtypes), repr(thing.columns) if isinstance(thing, pd.DataFrame) else thing.name)
        return type(thing), about, repr(getattr(thing, "unit", None)), hasattr(thing, "note")
    elif isinstance(thing, pd.Index | pd.api.extensions.ExtensionArray):
        return type(thing), repr(thing)
    elif isinstance(thing, np.random.Generator):
        return repr(thing.bit_generator.state)
    elif isinstance(thing, np.random.RandomState):
        return repr(thing.get_state())
    elif isinstance(thing, functools.partial):
        return repr((thing.func, thing.args, thing.keywords))
    elif hasattr(thing, "getstate"):
        return thing.getstate()
    elif isinstance(thing, dict | list | set | bytearray | tuple | str | deque):
        about = (repr(thing), list(thing), getattr(thing, "default_factory", None))
    elif hasattr(thing, "tobytes"):
        about = (thing.tobytes(),)
    about += (repr(getattr(thing, "items", None)),) if type(thing).__name__ == "Frozen" else ()
    slots = {name: repr(getattr(thing, name, "none")) for name in ("a", "b", "c")}
    attributes = {name: repr(value) for name, value in vars(thing).items()} if hasattr(thing, "__dict__") else {}
    return type(thing), about, copy.copy(attributes), slots


def test_the_order_of_a_dict_is_given_back() -> None:
    space = Space("x = {'b': 1, 'a': 2}")
    space.undo(space.run("x['b'] = x.pop('b')"))
    assert list(space["x"]) == ["b", "a"]


def test_a_view_and_its_array_are_given_back_together_and_stay_one() -> None:
    space = Space("import numpy as np; x = np.arange(10.0); v = x[2:5]; w = x.reshape(2, 5)[:, ::2]")
    space.undo(space.run("v *= 100; x[0] = -1"))
    assert space["x"].tolist() == list(range(10))
    space["v"][0] = 7
    assert space["x"][2] == 7
    assert space["w"][0, 1] == 7


def test_views_alone_are_given_back_through_each_other() -> None:
    space = Space("import numpy as np; v = np.arange(10.0)[1:]; w = v[::-1]; z = v[2:4]")
    delta = space.run("w[:] = 0")
    assert set(kinds(delta)) == {"v", "w", "z"}
    assert space.undo(delta).left == ()
    assert space["v"].tolist() == list(range(1, 10))
    assert space["z"].tolist() == [3, 4]


def test_many_views_of_one_array_take_one_copy() -> None:
    space = Space("import numpy as np; x = np.zeros(100_000); v = [x[n:] for n in range(50)]")
    assert space.take().size < 2 * space["x"].nbytes


def test_an_array_shown_many_times_over_takes_as_much_as_it_has() -> None:
    space = Space("import numpy as np; x = np.arange(3.0); v = np.broadcast_to(x, (10**9, 3))")
    snapshot = space.take()
    assert snapshot.size < 10_000
    space.do("x[0] = 5")
    delta = snapshot.compare(space.names, space.watched())
    space.undo(delta)
    assert space["v"][10**8].tolist() == [0, 1, 2]


def test_a_frame_keeps_its_index_and_a_copy_made_by_the_code_keeps_its_own_values() -> None:
    space = Space("import pandas as pd; x = pd.DataFrame({'a': [1, 2]}); index = x.index; kept = []")
    delta = space.run("x.loc[0, 'a'] = 9; y = x.head(1)")
    space.do("mine = y")
    space.undo(delta)
    assert space["x"].index is space["index"]
    assert space["mine"]["a"].tolist() == [9]
    space.do("x.loc[1, 'a'] = 5; x['b'] = 1")
    assert space["x"].to_dict("list") == {"a": [1, 5], "b": [1, 1]}
    assert pickle.loads(pickle.dumps(space["x"])).equals(space["x"])


def test_a_file_that_is_mapped_into_memory_is_not_copied(tmp_path: Any) -> None:
    space = Space("import numpy as np")
    space["x"] = np.memmap(tmp_path / "file", "f8", "w+", shape=(4,))
    space.do("y = x[1:]; z = np.asarray(x)")
    assert {one.name: one.reason for one in space.take().uncovered} == dict.fromkeys("xyz", "can't be copied")


@pytest.mark.parametrize(
    "value",
    [
        "5", "'text'", "b'x'", "None", "range(3)", "1j", "len", "int", "__import__('math')", "slice(1)",
        "__import__('datetime').datetime.now()", "__import__('pathlib').Path('a')", "__import__('decimal').Decimal(1)",
        "__import__('re').compile('a')", "__import__('uuid').uuid4()", "np.float64(1)", "np.dtype('f8')",
        "pd.Timestamp(0)",
        "pd.NaT", "pd.NA", "pd.offsets.Day(1)", "ValueError('x')", "Color.RED", "np.add", "functools.lru_cache(len)",
        "__import__('pyarrow').table({'a': [1]})", "(1, 'a', (2,))", "frozenset({1})",
    ],
)  # fmt: skip
def test_what_never_changes_needs_no_copy(value: str) -> None:
    snapshot = Space(f"{IMPORTS}\nx = {value}").take()
    assert snapshot.uncovered == ()


@pytest.mark.parametrize(
    "value",
    [
        "iter([1])", "(n for n in [1])", "open(__import__('os').devnull)", "memoryview(bytearray(3))", "zip([1])",
        "__import__('socket').socket()", "__import__('threading').Thread()",
        "__import__('sqlite3').connect(':memory:')",
        "__import__('io').BytesIO()", "__import__('itertools').count()", "np.zeros(1, [('a', 'O')])",
        "np.zeros(1, 'i4,i4')[0]",
        "__import__('matplotlib.figure').figure.Figure()", "__import__('os').environ", "np.nditer([1])",
    ],
)  # fmt: skip
def test_what_can_not_be_copied_is_named(value: str) -> None:
    space = Space(f"{IMPORTS}\nx = {value}")
    assert [(one.name, one.reason) for one in space.take().uncovered] == [("x", "can't be copied")]


def test_locks_and_loggers_are_nobodys_data() -> None:
    space = Space("import threading, logging; x = [threading.Lock(), threading.RLock(), logging.getLogger('a')]")
    assert space.take().uncovered == ()
