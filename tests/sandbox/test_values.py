"""How a variable crosses between the user's kernel and the isolated one."""

from __future__ import annotations

import ast
import collections
import enum
import json
import math
import pathlib
import sys
from datetime import UTC, date, datetime, time, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import numpy
import PIL.Image
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from jupyter_skills.sandbox.inside import texts
from jupyter_skills.sandbox.inside.plain import _TAGS
from jupyter_skills.sandbox.inside.values import encode
from tests.sandbox.crossed import FILES, LIMIT, crossed, without

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def same(left: object, right: object) -> bool:
    """Equality that also compares types and takes NaN for itself."""
    return ordered(left) == ordered(right)


def ordered(value: object) -> str:
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}{sorted(map(ordered, value))}"
    if isinstance(value, dict):
        return f"dict{[(ordered(key), ordered(content)) for key, content in value.items()]}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}{[ordered(item) for item in value]}"
    return repr(value)


keys = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.times().map(lambda moment: moment.replace(fold=0))
    | st.timedeltas()
    | st.datetimes(timezones=st.just(UTC) | st.none()).map(lambda moment: moment.replace(fold=0))
)
hashable = st.recursive(keys, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
tags = st.sampled_from(sorted(_TAGS))
documents = st.recursive(
    keys | st.decimals(allow_nan=True),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(hashable, inner)
        | st.dictionaries(st.text() | tags, inner)
        | st.sets(hashable)
    ),
    max_leaves=20,
)
# One key with a tilde in front may look like a tag, and is written differently for that.
keys = st.text().filter(lambda key: not key.startswith("~"))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
)


@patient
@given(documents)
def test_plain_python_values_come_back_as_they_were(value: object) -> None:
    assert same(crossed([value], "json"), [value])


@patient
@given(plain)
def test_a_json_document_stays_one(value: object) -> None:
    assert json.loads(encode([value], LIMIT, outward=True)[1]) == [value]


@given(st.text(st.characters(exclude_categories=())))
def test_text_crosses_even_with_half_a_surrogate_pair(text: str) -> None:
    assert crossed(text, "text") == text
    assert crossed([text], "json") == [text]


@pytest.mark.parametrize("value", [b"\0\xff", bytearray(b"ab"), memoryview(b"abcdef")[::2], b""])
def test_bytes_cross(value: Any) -> None:
    assert crossed(value, "bytes") == bytes(value)
    assert crossed([value], "json") == [bytes(value)]


@pytest.mark.parametrize("value", [2**1199, 2**1200, -(7**20_000), 0, -1], ids=int.bit_length)
def test_integers_of_any_size_cross(value: int) -> None:
    assert crossed(value) == value


@pytest.mark.parametrize("tag", sorted(_TAGS))
def test_a_dict_that_looks_like_a_tagged_value_comes_back_as_a_dict(tag: str) -> None:
    assert crossed({tag: [{tag: 1}]}) == {tag: [{tag: 1}]}
    assert crossed({tag: {tag: "x"}, "b": 1}) == {tag: {tag: "x"}, "b": 1}


def test_sets_make_the_same_bytes_in_every_process() -> None:
    words = {f"word{number}" for number in range(50)}
    code = "print(encode({f'word{n}' for n in range(50)}, 9999, outward=True)[1].decode())"
    assert without([], code) == encode(words, LIMIT, outward=True)[1].decode()


def test_the_texts_share_one_namespace_and_define_no_name_twice() -> None:
    given: list[str] = []
    for text in texts(*FILES):
        body = ast.parse(text).body
        targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
        targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
        given += {target.id for target in targets if isinstance(target, ast.Name)}
        given += [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        assert "jupyter_skills.sandbox" not in text
    assert len(given) == len(set(given)) > 30


class Level(enum.IntEnum):
    HIGH = 3


class Loud(str):
    def __str__(self) -> str:
        return "LOUD"


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Level.HIGH, 3),
        ([Loud("soft")], ["soft"]),
        (Loud("soft"), "soft"),
        (Point(1, 2), (1, 2)),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.defaultdict(list, {1: [2]}), {1: [2]}),
        (datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2020, 6, 30, 22, tzinfo=UTC)),
        (time(1, 2, tzinfo=UTC), time(1, 2, tzinfo=UTC)),
        (date.max, date.max),
        (timedelta(-1, 5), timedelta(-1, 5)),
        ([numpy.float64(0.5), numpy.int8(3), numpy.True_, numpy.str_("s")], [0.5, 3, True, "s"]),
    ],
)
def test_subclasses_arrive_as_the_type_they_extend(value: object, arrives: object) -> None:
    back = crossed(value)
    assert back == arrives
    assert type(back) is type(arrives)


ARRAYS = [
    *(numpy.arange(6).astype(code).reshape(2, 3) for code in "?bhilqBHILQefdgFDG"),
    numpy.arange(6, dtype=">i4"),
    numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
    numpy.arange(20)[::3],
    numpy.array(["a", "längere Wörter", ""]),
    numpy.array([b"ab", b"c"]),
    numpy.array(["2020-01-01", "NaT"], "M8[ns]"),
    numpy.array([1, 2], "m8[h]"),
    numpy.array([(1, 2.5, "x")], [("a", "i4"), ("größe", "f8"), ("c", "U3")]),
    numpy.zeros(2, [("a", "u1"), ("nested", [("b", "f4", (2, 2))])]),
    numpy.zeros((0, 5)),
    numpy.zeros((3, 0), "U4"),
    numpy.zeros(3, "V0"),
    numpy.array([b"\1\2", b"\3\4"], "V2"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_come_back_equal_with_their_dtype_and_may_be_changed(array: Any) -> None:
    for back in (crossed(array, "npy"), crossed({"a": [array]}, "json")["a"][0]):
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tobytes() == array.tobytes()
        assert back.flags.writeable


@pytest.mark.parametrize("value", [numpy.float32(0.1), numpy.int64(-3), numpy.datetime64("2020-01-01"), numpy.True_])
def test_numpy_scalars_come_back_as_scalars(value: Any) -> None:
    back = crossed(value, "npy")
    assert type(back) is type(value)
    assert back == value


def test_the_module_loads_no_package_until_a_value_needs_it() -> None:
    code = "encode([1, {2.5: 'x'}], 99, outward=True); print({'numpy', 'pandas', 'pyarrow', 'PIL'} & set(sys.modules))"
    assert without([], code) == "set()"


def test_a_figure_arrives_as_a_picture_of_it() -> None:
    figure = Figure(figsize=(1, 1), dpi=50)
    figure.subplots().plot([1, 2])
    assert crossed(figure, "png").size == (50, 50)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "I;16", "CMYK"])
def test_pictures_cross(mode: str) -> None:
    picture = PIL.Image.new(mode, (3, 2))
    back = crossed(picture, "png")
    assert back.size == (3, 2)
    assert back.mode == (mode if mode != "CMYK" else "RGB")


def test_a_picture_arrives_as_bytes_where_there_is_no_pil() -> None:
    data = encode(PIL.Image.new("L", (1, 1)), LIMIT, outward=True)[1]
    assert without(["PIL"], f"print(decode('png', {data!r}, 9999, outward=True)[:4])") == str(data[:4])


def itself(container: Any) -> Any:
    container.append({"again": (container,)})
    return container


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {2: value}
    return value


REFUSED = {
    "function": len,
    "_lambda": lambda: 1,
    "module": math,
    "TextIOWrapper": sys.__stdout__,
    "SimpleNamespace": SimpleNamespace(a=1),
    "type": int,
    "range": range(3),
    "generator": (x for x in ()),
    "Loop": itself([]),
    "deep": deep(101),
    "within": {"a": [len]},
    "key": {pathlib.Path: 1},
    "objects": numpy.array([None, {}], dtype=object),
    "object fields": numpy.zeros(1, [("a", "O")]),
    "objects within": [numpy.array([{}], dtype=object)],
    "masked": numpy.ma.masked_array([1, 2], [True, False]),
    "mode": PIL.Image.new("F", (1, 1)),
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_cannot_cross_is_named_with_what_can(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        encode(value, LIMIT, outward=True)
    assert "can't cross the sandbox's border; numbers, text" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math, "a value of type module "),
        (SimpleNamespace(), "types.SimpleNamespace"),
        (REFUSED["objects"], "dtype object"),
        (REFUSED["Loop"], "a list that contains itself"),
        (REFUSED["masked"], ".filled()"),
    ],
)
def test_a_refusal_says_what_it_was(value: object, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        encode(value, LIMIT, outward=True)
    assert words in str(caught.value)


def test_containers_within_the_depth_cross() -> None:
    assert crossed(['[{"\\'] * 1000) == ['[{"\\'] * 1000
    assert crossed(deep(100)) == deep(100)
    assert crossed([[]] * 1000) == [[]] * 1000


def test_what_is_written_twice_but_not_within_itself_crosses() -> None:
    shared = [1]
    assert crossed([shared, shared]) == [[1], [1]]


LARGE = [
    "ü" * 600,
    b"x" * 1001,
    list(range(1000)),
    {"a": b"x" * 900},
    {"a": "x" * 1001},
    numpy.zeros(126),
    [numpy.zeros(126)],
    PIL.Image.effect_noise((99, 99), 50),
]


@pytest.mark.parametrize("value", LARGE, ids=lambda value: type(value).__name__)
def test_too_much_is_refused_with_both_sizes(value: object) -> None:
    with pytest.raises(ValueError, match=r"^the value takes (at least )?[1-9],?\d{3} bytes, and the limit is 1,000$"):
        encode(value, 1000, outward=True)


FULL = [
    numpy.zeros(LIMIT - 128, "u1"),
    b"x" * LIMIT,
    "x" * LIMIT,
    ["x"] * (LIMIT // 4 - 1),
]


@pytest.mark.parametrize("value", FULL, ids=lambda value: type(value).__name__)
def test_what_just_fits_on_the_way_out_fits_on_the_way_in(value: Any) -> None:
    assert len(crossed(value)) == len(value)


def test_a_large_array_is_refused_before_it_is_copied() -> None:
    endless = numpy.broadcast_to(numpy.zeros(1), (1 << 50,))
    with pytest.raises(ValueError, match="9,007,199,254,740,992 bytes"):
        encode(endless, LIMIT, outward=True)
    with pytest.raises(ValueError, match="at least"):
        encode(["x" * LIMIT] * 1000, LIMIT, outward=True)
