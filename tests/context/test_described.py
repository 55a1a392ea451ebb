"""What a model sees of each kind of value."""

from __future__ import annotations

import argparse
import base64
import dataclasses
import datetime
import io
import linecache
import subprocess
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import PIL.Image
import pydantic
import pytest
from matplotlib.figure import Figure

from jupyter_skills.context.described import describe
from jupyter_skills.context.parts import Document, Part, Picture
from jupyter_skills.context.secrets import Redactor
from tests.conftest import NO_HANG

PNG = io.BytesIO()
PIL.Image.new("RGB", (4, 3), "red").save(PNG, "PNG")
LIMIT = 8_100  # of a value, with the line that says how much is left out


def told(value: object, name: str = "x") -> str:
    """The one text that a value is described by."""
    [text] = describe(name, value)
    assert isinstance(text, str)
    return text


def seen(value: object, name: str = "x") -> Picture:
    [picture] = describe(name, value)
    assert isinstance(picture, Picture)
    assert PIL.Image.open(io.BytesIO(picture.image.data)).size == (picture.image.width, picture.image.height)
    return picture


@pytest.mark.parametrize("text", ["", "a\r\n b \n", "{x}", "x" * 100_000, "\ud800", "secret"])
def test_text_is_whole_and_untouched(text: str) -> None:
    assert describe("text", text) == [text]


def test_text_that_its_name_gives_away_as_a_secret_is_not_shown() -> None:
    assert told("q7Xw2Lk9ZpR4", "settings.api_key") == "[redacted: settings.api_key]"
    assert told("q7Xw2Lk9ZpR4", 'config["password"]') == '[redacted: config["password"]]'
    assert told("the", "token") == "the"
    assert told("q7Xw2Lk9ZpR4", "len(api_key)") == "q7Xw2Lk9ZpR4"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (-0.5, "-0.5"),
        (True, "True"),
        (None, "None"),
        (2j, "2j"),
        pytest.param(10**5_000, "an integer of 16,610 bits", id="large"),
        (Decimal("1.50"), "1.50"),
        (np.float64(3.1), "3.1"),
        (np.int8(3), "3"),
        (np.bool_(True), "True"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (pd.Timestamp("2024-02-29 12:00"), "2024-02-29 12:00:00"),
        (Path("a/b.csv"), str(Path("a/b.csv"))),
        (b"abc", "bytes x: 3 bytes"),
        (PNG.getvalue(), f"bytes x: {len(PNG.getvalue())} bytes, a PNG image"),
        (bytearray(12_345), "bytearray x: 12.3 kB"),
        (range(5), "range(0, 5)"),
    ],
)
def test_plain_values_are_what_they_print(value: object, text: str) -> None:
    assert told(value) == text


def test_a_data_frame_is_its_schema_and_its_first_rows() -> None:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=1_200, unit="ns"),
            "city": ["Wien\nGraz", None] * 600,
            "price": np.linspace(0, 1, 1_200),
            "password": ["hunter2x"] * 1_200,
        }
    )
    text = told(frame, "df")
    assert text.startswith("DataFrame df: 1,200 rows x 4 columns, ")
    assert "\n  when      datetime64[ns]  1,200 non-null\n" in text
    assert "600 non-null" in text
    assert "\nfirst 5 rows:\n   when " in text
    assert "Wien\\nGraz" in text
    assert "hunter2x" not in text
    assert "[redacted: password]" in text
    assert len(text.splitlines()) == 1 + 4 + 1 + 1 + 5


@pytest.mark.parametrize(
    ("frame", "texts"),
    [
        (pd.DataFrame(), ["0 rows x 0 columns"]),
        (pd.DataFrame(np.zeros((2, 500))), ["2 rows x 500 columns", "… and 440 more columns", "first 2 rows"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["1 row x 2 columns", "first row:"]),
        (pd.DataFrame({"a": [1]}, index=pd.Index(["k"], name="key")), ["index: Index key", "\nk  1"]),
        (pd.DataFrame({("a", "b"): [1]}), ["  a / b  int64"]),
        (pd.DataFrame({"a": [["x" * 10_000]]}), ["…"]),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), ["  a  category  2 non-null"]),
        (pd.DataFrame({3: [pd.NA], "t": [pd.NaT]}), ["<NA>", "NaT", "0 non-null"]),
    ],
)
def test_frames_of_all_shapes_are_described(frame: pd.DataFrame, texts: list[str]) -> None:
    text = told(frame)
    assert all(each in text for each in texts), text
    assert len(text) < LIMIT


def test_series_and_indexes_are_described() -> None:
    text = told(pd.Series([1.5, np.nan, 3], name="v"), "s")
    assert text.startswith("Series s: 3 values, float64, 2 non-null; min 1.5, mean 2.25, max 3, std ")
    assert text.endswith("\n0  1.5\n1  NaN\n2  3")
    assert "… and 90 more" in told(pd.Series(range(100)))
    assert told(pd.RangeIndex(3), "i") == "RangeIndex i: 3 values, int64\n0, 1, 2"
    assert told(pd.MultiIndex.from_tuples([("a", 1)]), "i").endswith("\na / 1")
    row = told(pd.Series({"user": "ana", "password": "hunter2x"}))
    assert "ana" in row
    assert "hunter2x" not in row
    assert "hunter2x" not in told(pd.Series(["hunter2x"], name="api_key"))
    assert "hunter2x" not in told(pd.Series(["hunter2x"]), "api_key")


@NO_HANG
def test_a_frame_of_ten_million_rows_is_not_copied() -> None:
    frame = pd.DataFrame(np.broadcast_to(np.float32(1), (10_000_000, 40)), copy=False)
    text = told(frame)  # which a copy of would be 1.6 GB
    assert "10,000,000 rows x 40 columns" in text
    assert "10,000,000 non-null" in text
    assert "nulls not counted" in text
    assert "10,000,000" in told({"df": frame})
    assert "10,000,000" in told(frame[0])
    assert "10,000,000" in told(frame.index)


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (
            np.arange(6).reshape(2, 3),
            ["array x: shape (2, 3), int64, 48 bytes", "mean 2.5", "[[0, 1, 2],\n [3, 4, 5]]"],
        ),
        (np.array([1.0, np.nan, np.inf]), ["1 NaN", "1 infinite", "[1, NaN, inf]"]),
        (
            np.linspace(0, 1, 10_000),
            ["shape (10000,)", "min 0, mean 0.5, max 1, std 0.28", "0 NaN", "first values: 0, "],
        ),
        (np.linspace(0, 1, 10_000).reshape(100, 100)[::2, ::3].T, ["shape (34, 50)", "min 0, "]),
        (np.full((3, 2_000_000), 7, np.uint8), ["min 7, mean 7, max 7, std 0"]),
        (np.full(10, np.nan), ["10 NaN"]),
        (np.array(5), ["shape ()", "\n5"]),
        (np.array([]), ["shape (0,)", "[]"]),
        (np.array([True, False]), ["1 true"]),
        (np.array(["a", "b"]), ["['a', 'b']"]),
        (np.array(["2024-01-01"] * 3, "M8[D]"), ["min 2024-01-01", "'2024-01-01'"]),
        (np.array([None, {}], object), ["[None, {}]"]),
        (np.array([1 + 2j]), ["(1+2j)"]),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), ["MaskedArray", "1 masked", "[1, 3]"]),
        (np.array([(1, "hunter2x")], [("n", int), ("token", "U9")]), ["n: 1, token: [redacted: token]"]),
    ],
)
def test_an_array_is_its_shape_and_statistics_and_a_small_one_is_whole(array: Any, texts: list[str]) -> None:
    text = told(array)
    assert all(each in text for each in texts), text
    assert len(text) < 1_000


def test_statistics_are_those_of_numpy() -> None:
    array = np.random.default_rng(1).normal(1e6, 1, 3_000_000)
    assert f"mean {array.mean():.6g}" in told(array)
    assert f"std {array.std():.6g}" in told(array)


def test_a_figure_is_a_picture_and_stays_as_it_was() -> None:
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        figure, axes = plt.subplots(2, 2, figsize=(6, 4), dpi=72, facecolor="red")
        before = (figure.dpi, tuple(figure.get_size_inches()), figure.get_facecolor(), type(figure.canvas))
        for value in (figure, axes[0, 0], axes):
            picture = seen(value, "fig")
            assert picture.label == "figure fig"
            assert (picture.image.width, picture.image.height) == (600, 400)
        assert (figure.dpi, tuple(figure.get_size_inches()), figure.get_facecolor(), type(figure.canvas)) == before
        assert plt.fignum_exists(figure.number)
        plt.close(figure)


def test_a_huge_figure_is_drawn_small() -> None:
    image = seen(Figure(figsize=(200, 100))).image
    assert max(image.width, image.height) <= 1568


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "HSV", "F", "I", "I;16", "YCbCr"])
def test_an_image_of_pillow_is_a_picture(mode: str) -> None:
    image = PIL.Image.new(mode, (2_000, 10))
    picture = seen(image)
    assert picture.label == "image x"
    assert picture.image.mime_type == "image/png"
    assert picture.image.width == 1568
    assert image.size == (2_000, 10)


class ShowsItself:
    def __init__(self, **given: Any) -> None:
        self.given = given


class ShowsPng(ShowsItself):
    def _repr_png_(self) -> Any:
        return self.given["png"]


class ShowsBundle(ShowsItself):
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.given["bundle"]


@pytest.mark.parametrize(
    "value",
    [
        ShowsPng(png=PNG.getvalue()),
        ShowsPng(png=base64.b64encode(PNG.getvalue()).decode()),
        ShowsPng(png=(PNG.getvalue(), {"width": 4})),
        ShowsBundle(bundle={"image/png": PNG.getvalue(), "text/plain": "x"}),
        ShowsBundle(bundle=({"image/png": base64.b64encode(PNG.getvalue()).decode()}, {})),
    ],
)
def test_what_shows_itself_as_a_picture_is_one(value: object) -> None:
    assert seen(value).image.width == 4


@pytest.mark.parametrize(
    "value",
    [ShowsPng(png=b"no picture"), ShowsPng(png=None), ShowsBundle(bundle={"text/html": "x"}), ShowsBundle(bundle=None)],
)
def test_what_only_says_so_is_described_by_its_repr(value: object) -> None:
    assert told(value) == repr(value)


def test_what_fails_to_draw_itself_is_described_by_its_repr_and_why() -> None:
    value = ShowsPng()
    assert told(value) == f"{value!r}\n(It can't be drawn: KeyError: 'png'.)"


def sample(a: int, b: str = "x") -> int:
    """Adds."""
    return a + len(b)


class Sample:
    """A class."""

    def method(self) -> int:
        return 1


def test_functions_classes_and_methods_are_their_source() -> None:
    assert told(sample).startswith('def sample(a: int, b: str = "x") -> int:\n    """Adds."""\n')
    assert told(Sample).startswith("class Sample:\n")
    assert told(Sample().method) == "def method(self) -> int:\n    return 1"


def test_without_a_source_there_are_signature_and_documentation() -> None:
    assert told(len, "len").startswith("function len(obj, /)\n\nReturn the number of items")
    assert told(str.join).startswith("function str.join(self, iterable, /)")
    made: dict[str, Any] = {}
    exec("def f(a, *, b=1):\n    'Does it.'", made)
    assert told(made["f"]) == "function f(a, *, b=1)\n\nDoes it."
    assert (
        told(type("Made", (), {"__doc__": "Of nothing.", "part": 1})) == "class Made()\n\nOf nothing.\n\ndefines part"
    )
    assert told(pd.DataFrame).startswith("class DataFrame(data=None, ")
    assert told(subprocess.Popen).startswith("class Popen(args, ")
    assert "(its source is too long to show)\n\nExecute a child program" in told(subprocess.Popen)
    assert "ufunc" in told(np.add) or "add" in told(np.add)


def test_what_cells_define_has_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython keeps the cells in ``linecache``, under names of files that there are not."""
    cells = [
        "class Point:\n    x: int = 0\n",
        "import dataclasses\n\n@dataclasses.dataclass\nclass Point:\n    x: int = 0\n    y: int = 0\n\n"
        "def f():\n    return 1\n",
    ]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        name = f"<cell {number}>"
        entry = (len(cell), None, cell.splitlines(keepends=True), name)
        monkeypatch.setitem(linecache.cache, name, entry)
        exec(compile(cell, name, "exec"), namespace)
    assert told(namespace["f"]) == "def f():\n    return 1"
    assert told(namespace["Point"]) == "@dataclasses.dataclass\nclass Point:\n    x: int = 0\n    y: int = 0"


def test_modules_and_exceptions_are_short() -> None:
    assert told(np).startswith(f"module numpy {np.__version__}: ")
    assert told(types.ModuleType("bare")) == "module bare"
    try:
        sample(1, b=None)  # type: ignore[arg-type]
    except TypeError as error:
        text = told(error)
    assert text.startswith("Traceback (most recent call last):\n")
    assert "in sample\n" in text
    assert text.endswith("TypeError: object of type 'NoneType' has no len()")
    assert told(ValueError("never raised")) == "ValueError: never raised"


@dataclasses.dataclass
class Settings:
    host: str
    api_key: str
    hidden: int = dataclasses.field(default=1, repr=False)


class Model(pydantic.BaseModel):
    name: str
    password: str
    token: pydantic.SecretStr


Pair = namedtuple("Pair", "a secret")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [1, 2]}, "{'a': 1, 'b': [1, 2]}"),
        ({}, "{}"),
        ([], "[]"),
        ((1,), "(1,)"),
        (set(), "set()"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
        (deque([1]), "deque([1])"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (defaultdict(list, {1: [2]}), "defaultdict({1: [2]})"),
        ({"a": 1}.keys(), "dict_keys(['a'])"),
        ([np.float64(1.5), pd.DataFrame({"a": [1]})], "[1.5, <DataFrame: 1 row x 1 column>]"),
        ([np.zeros(500), np.arange(3)], "[<array: shape (500,), float64>, array([0, 1, 2], int64)]"),
        ({"password": "hunter2x", "PASSWORD": None}, "{'password': '[redacted: password]', 'PASSWORD': None}"),
        ({"a": {"auth": {"token": "hunter2x"}}}, "{'a': {'auth': {'token': '[redacted: token]'}}}"),
        (Settings("h", "hunter2x"), "Settings(host='h', api_key=[redacted: api_key])"),
        (Pair(1, "hunter2x"), "Pair(a=1, secret=[redacted: secret])"),
        (types.SimpleNamespace(a=1, token="t"), "SimpleNamespace(a=1, token=[redacted: token])"),
        (argparse.Namespace(a=1), "Namespace(a=1)"),
        (
            Model(name="n", password="hunter2x", token=pydantic.SecretStr("t")),
            "Model(name='n', password=[redacted: password], token=SecretStr('**********'))",
        ),
    ],
)
def test_containers_and_records_show_what_is_in_them_but_no_secrets(value: object, text: str) -> None:
    assert told(value) == text


def test_what_is_left_out_of_a_container_is_counted() -> None:
    assert told(list(range(1_000_000))).endswith("… and 999,900 more,\n]")
    assert "… and 70 more" in told({"k": list(range(100))})
    assert "(9,000 more characters)" in told(["x" * 10_000])
    assert told([b"x" * 1_000]) == "[<1,000 bytes>]"
    assert len(told({i: {j: ["y" * 900] * 50 for j in range(50)} for i in range(500)})) < LIMIT


def test_a_container_within_itself_ends() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert told(endless) == "[1, <itself>]"
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert "…" in told(deep)


class Describes:
    def __init__(self, given: object) -> None:
        self.given = given

    def __repr__(self) -> str:
        return "its repr"

    def _repr_llm_(self) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


PICTURE = seen(PIL.Image.new("RGB", (4, 3)))


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("as I want", ["as I want"]),
        ("y" * 20_000, ["y" * 20_000]),
        (PICTURE, [PICTURE]),
        (["a", PICTURE, Document(b"", "application/pdf", "d")], ["a", PICTURE, Document(b"", "application/pdf", "d")]),
        ({"text/plain": "plain", "text/html": "<b>"}, ["plain"]),
        ({"text/plain": "plain", "text/markdown": "**md**"}, ["**md**"]),
        ({"image/png": PICTURE.image.data}, [PICTURE]),
        ({"image/png": base64.b64encode(PICTURE.image.data).decode(), "text/plain": "p"}, [PICTURE]),
        (PICTURE.image, [PICTURE]),
    ],
)
def test_an_object_says_itself_how_it_wants_to_be_described(given: object, parts: list[Part]) -> None:
    assert describe("x", Describes(given)) == parts


@pytest.mark.parametrize("given", [None, 3, [], ["a", 3], {"text/html": "x"}, {"image/png": "no"}])
def test_nonsense_of_it_gives_the_usual_description_and_a_note(given: object) -> None:
    assert "".join(map(str, describe("x", Describes(given)))) == (
        "its repr\n(The _repr_llm_ of x gave neither text nor a picture.)"
    )


def test_an_error_of_it_gives_the_usual_description_and_a_note() -> None:
    assert "".join(map(str, describe("x", Describes(ValueError("why"))))) == (
        "its repr\n(The _repr_llm_ of x raised ValueError: why.)"
    )


def test_the_class_itself_is_its_source_whatever_its_objects_say() -> None:
    assert told(Describes).startswith("class Describes:\n")


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("never")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class PretendsAll:
    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


class Long:
    def __repr__(self) -> str:
        return "z" * 10_000_000


class OddMeta(type):
    @property
    def __module__(cls) -> Any:  # type: ignore[override]
        raise RuntimeError("no module")


class OddKind(metaclass=OddMeta):
    pass


class LiesAboutItsClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class BadLength(dict[str, int]):
    def __len__(self) -> int:
        raise RuntimeError("no length")


@pytest.mark.parametrize(
    "made",  # pytest would look at the values themselves
    [
        Hostile,
        PretendsAll,
        Long,
        OddKind,
        LiesAboutItsClass,
        lambda: BadLength(a=1),
        lambda: [Hostile(), LiesAboutItsClass()],
        lambda: {1: Long()},
    ],
    ids=range(8),
)
def test_a_hostile_value_is_never_an_error_and_never_long(made: Callable[[], object]) -> None:
    value = made()
    text = told(value)
    assert 0 < len(text) < LIMIT


def test_a_repr_that_raises_gives_one_line_that_says_so() -> None:
    assert told(Hostile()) == "(Hostile x can't be described: RuntimeError: never.)"
    assert told([Hostile()]) == "[<Hostile: its repr raises RuntimeError>]"


def test_a_long_repr_is_cut_in_the_middle_with_the_gap_marked() -> None:
    assert "\n… 9,992,001 characters left out …\n" in told(Long())


def test_an_interrupt_while_a_value_is_looked_at_passes_through() -> None:
    class Stops:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        describe("x", Stops())


class StandIn:
    """Frames of polars, by the little of them that is used: the library itself is no part of this project's tests."""

    def __init__(self, rows: int = 1_200) -> None:
        self.columns, self.dtypes, self.shape = ["city", "password"], ["String", "String"], (rows, 2)

    def to_series(self, position: int) -> Any:
        return types.SimpleNamespace(null_count=lambda: position)

    def estimated_size(self) -> int:
        return 38_400

    def __getitem__(self, part: Any) -> Any:
        return types.SimpleNamespace(
            head=lambda count: types.SimpleNamespace(rows=lambda: [("Wien", "hunter2x")] * count)
        )

    def collect_schema(self) -> Any:
        return dict(zip(self.columns, self.dtypes, strict=True))


def of_polars(name: str) -> Any:
    return type(name, (StandIn,), {"__module__": "polars.dataframe.frame"})()


def test_frames_of_polars_are_described_likewise_and_lazy_ones_not_computed() -> None:
    assert told(of_polars("DataFrame"), "df").splitlines()[:5] == [
        "DataFrame df (polars): 1,200 rows x 2 columns, 38.4 kB",
        "  city      String  1,200 non-null",
        "  password  String  1,199 non-null",
        "first 5 rows:",
        "city  password",
    ]
    assert "hunter2x" not in told(of_polars("DataFrame"))
    assert told(of_polars("LazyFrame"), "q").startswith("LazyFrame q: 2 columns, not computed\n  city ")


KEY = "q7Xw2Lk9ZpR4vN8tB3mYc5Hd"
REDACTOR = Redactor({"MY_KEY": KEY})


class Says:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Raises:
    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_llm_(self) -> object:
        raise ValueError(self.text)


def documented(text: str) -> Any:
    made = types.FunctionType(compile("None", "<nowhere>", "eval"), {})
    made.__doc__ = text
    return made


@pytest.mark.parametrize(
    ("most", "made"),
    [
        (40, lambda text: pd.DataFrame({"a": [text]})),
        (40, lambda text: pd.DataFrame({text: [1]})),
        (40, lambda text: pd.DataFrame({"a": [1]}, index=[text])),
        (40, lambda text: pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([(text, 1)]))),
        (40, lambda text: pd.DataFrame({"a": [[text]]})),
        (40, lambda text: pd.DataFrame({"a": [Says(text)]})),
        (40, lambda text: pd.Series([text])),
        (40, lambda text: pd.Series([1], index=[text])),
        (40, lambda text: pd.Index([text])),
        (200, lambda text: np.array([text])),
        (200, lambda text: np.array([text, None], object)),
        (200, lambda text: np.array([(text,)], [("f", "U300")])),
        (1_000, lambda text: [text]),
        (1_000, lambda text: {text: 1}),
        (1_000, lambda text: {"a": {"b": (text,)}}),
        (1_000, lambda text: types.SimpleNamespace(a=text)),
        (200, lambda text: [Says(text)]),
        (5_333, Says),
        (5_333, lambda text: Says(text + "." * 1_000_000)),
        (5_333, lambda text: ValueError(text)),
        (2_000, documented),
        (300, Raises),
    ],
    ids=range(22),
)
def test_nothing_is_cut_within_a_secret(most: int, made: Callable[[str], object]) -> None:
    for before in range(most - 30, most + 3):
        parts = describe("x", made("." * before + KEY + "." * 5_000), REDACTOR.redact)
        text = "".join(map(str, parts))
        assert KEY[:4] not in text
        assert KEY[-4:] not in text


def test_nor_within_one_at_the_end_of_a_long_repr() -> None:
    for text in ("." * 1_000_000, "." * 10_000):
        for after in range(2_660 - len(KEY), 2_670):
            assert KEY[-4:] not in describe("x", Says(f"{text}{KEY}{'.' * after}"), REDACTOR.redact)[0]


def test_nor_where_what_stands_for_many_is_much_shorter() -> None:
    long = Redactor({"K": f"{KEY}{'=' * 5_000}{KEY[::-1]}"})
    secret = f"{KEY}{'=' * 5_000}{KEY[::-1]}"
    for value in (Says(secret * 50), [secret * 50], pd.Series([secret * 50]), Says("." * 9_000 + secret * 50)):
        [text] = describe("x", value, long.redact)
        assert isinstance(text, str)
        assert "[redacted: K]" in text
        assert "==" not in text


@pytest.mark.parametrize(
    "value", [KEY, [KEY], {KEY: 1}, Says(KEY), b"in " + KEY.encode(), Describes(KEY), ValueError(KEY)]
)
def test_what_is_not_cut_holds_no_secret_either(value: object) -> None:
    [text] = describe("x", value, REDACTOR.redact)
    assert isinstance(text, str)
    assert KEY not in text


def test_none_of_the_libraries_is_imported_for_a_value_that_is_not_theirs() -> None:
    code = (
        "import sys; from jupyter_skills.context.described import describe\n"
        "class C:\n    pass\n"
        "for value in (1, 'a', [1], {'a': C()}, C(), C, len, sys, ValueError(), b'x', None): describe('x', value)\n"
        "print([name for name in ('numpy', 'pandas', 'matplotlib', 'polars', 'IPython') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
