"""How tables cross: pandas frames as they are, and what only Parquet can hold into the sandbox only."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy
import pandas
import pyarrow
import pytest

from jupyter_skills.sandbox.inside.values import encode
from tests.sandbox.crossed import LIMIT, crossed, without


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "small": numpy.array([1, 2, 3], "i1"),
            "real": [1.5, numpy.nan, 2],
            "text": ["a", None, "ü"],
            "truth": [True, False, True],
            "when": pandas.date_range("2020", periods=3),
            "where": pandas.date_range("2020", periods=3, tz="UTC"),
            "whole": pandas.array([1, None, 3], dtype="Int64"),
            "long": pandas.to_timedelta([1, 2, 3], unit="s"),
        },
        index=pandas.Index(["x", "y", "z"], name="key"),
    )


FRAMES = {
    "many dtypes": frame(),
    "several index levels": frame().set_index(["small", "text"]),
    "numbered columns": pandas.DataFrame(numpy.arange(6).reshape(2, 3)),
    "rows that were picked": pandas.DataFrame({"a": range(5)})[1::2],
    "levels of columns": pandas.DataFrame({("a", 1): [1], ("b", 2): [2]}),
    "columns of one name": pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
    "mixed types": pandas.DataFrame({"m": [1, "a", None, (2, 3)]}, dtype=object),
    "no rows": pandas.DataFrame({"a": numpy.zeros(0)}),
    "no columns": pandas.DataFrame(index=range(3)),
}


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize("value", FRAMES.values(), ids=FRAMES)
def test_data_frames_come_back_with_their_dtypes_and_index(value: pandas.DataFrame, outward: bool) -> None:
    for back in (crossed(value, "frame", outward=outward), crossed([value], "json", outward=outward)[0]):
        pandas.testing.assert_frame_equal(back, value, check_column_type=False)


@pytest.mark.parametrize("name", ["real", None, 5])
def test_series_come_back_with_their_name(name: Any) -> None:
    series = frame()["real"].rename(name)
    pandas.testing.assert_series_equal(crossed(series, "frame"), series)
    coded = frame()["text"].rename(name).astype("category")
    pandas.testing.assert_series_equal(crossed(coded, "parquet", outward=False), coded)


SIMPLER = {
    "categories": pandas.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True),
    "a time zone": pandas.date_range("2020", periods=2, tz="Europe/Berlin"),
    "types of Arrow": pandas.array([1.5, None], dtype="double[pyarrow]"),
    "periods": pandas.period_range("2020", periods=2, freq="M"),
}


@pytest.mark.parametrize("column", [column for name, column in SIMPLER.items() if name != "periods"])
def test_what_a_frame_would_simplify_goes_into_the_sandbox_as_parquet(column: Any) -> None:
    value = pandas.DataFrame({"c": column})
    pandas.testing.assert_frame_equal(crossed(value, "parquet", outward=False), value)


@pytest.mark.parametrize(
    "index", [pandas.CategoricalIndex(["x", "y"]), pandas.date_range("2020", periods=2, tz="Asia/Tokyo")]
)
def test_an_index_counts_among_the_columns(index: Any) -> None:
    value = pandas.DataFrame({"a": [1, 2]}, index=index)
    pandas.testing.assert_frame_equal(crossed(value, "parquet", outward=False), value, check_freq=False)


def test_out_of_the_sandbox_categories_arrive_as_values_and_times_in_utc() -> None:
    back = crossed(pandas.DataFrame({name: SIMPLER[name] for name in ("categories", "a time zone")}), "frame")
    assert list(back["categories"]) == ["lo", "hi"]
    assert list(back["a time zone"]) == list(SIMPLER["a time zone"])
    assert str(back["a time zone"].dt.tz) == "UTC"


def test_arrow_tables_arrive_as_tables_inside_and_as_data_frames_outside() -> None:
    table = pyarrow.table(
        {"n": [1, None], "words": pyarrow.array(["x", "y"]).dictionary_encode(), "lists": [[1], []], "t": [None, None]}
    )
    assert crossed(table, "parquet", outward=False).equals(table)
    back = crossed(table.select(["n", "words"]), "frame")
    assert (list(back["words"]), back["n"][0]) == (["x", "y"], 1)


def test_nothing_is_sent_as_parquet_where_there_is_no_pyarrow() -> None:
    made = "import pandas; made = pandas.DataFrame({'a': pandas.Categorical(['x', 'y'])});"
    assert without(["pyarrow"], f"{made} print(encode(made, 9999, outward=False)[0])") == "frame"
    assert without([], f"{made} print(encode(made, 9999, outward=False)[0])") == "parquet"
    code = "print(decode(*encode(made, 9999, outward=True), 9999, outward=True)['a'][1])"
    assert without(["pyarrow"], f"{made} {code}") == "y"


def test_an_arrow_table_without_pandas_says_what_it_lacks() -> None:
    code = "import pyarrow\ntry: encode(pyarrow.table({'a': [1]}), 9999, outward=True)\nexcept TypeError as e: print(e)"
    assert without(["pandas"], code).startswith("a pyarrow.Table without the packages pandas and pyarrow")


@pytest.mark.parametrize(
    ("value", "package"),
    [(frame(), "pandas"), (pyarrow.table({"a": [1]}), "pyarrow"), (numpy.arange(3), "numpy")],
)
def test_a_package_that_is_missing_is_named(value: object, package: str) -> None:
    kind, data = encode(value, LIMIT, outward=False)
    code = f"try: decode({kind!r}, {data!r}, 99999, outward=False)\nexcept ValueError as error: print(error)"
    assert without([package], code) == f"the value needs the package {package}, which can't be imported here"


@pytest.mark.parametrize(
    "value",
    [
        pandas.Index([1]),
        pandas.NaT,
        [pandas.NA],
        pandas.DataFrame({"a": [len]}),
        pandas.DataFrame({"a": SIMPLER["periods"]}),
    ],
    ids=["index", "NaT", "NA", "frame of objects", "periods"],
)
def test_what_cannot_cross_is_named_with_what_can(value: object) -> None:
    with pytest.raises(TypeError, match=r"can't cross the sandbox's border; numbers, text"):
        encode(value, LIMIT, outward=True)


def test_a_time_stamp_arrives_as_a_datetime() -> None:
    back = crossed(pandas.Timestamp("2020-01-02T03:04:05.000006007"))
    assert (type(back), back) == (datetime, datetime(2020, 1, 2, 3, 4, 5, 6))


LARGE = [
    pandas.DataFrame({"a": numpy.zeros(126)}),
    pandas.DataFrame({"a": ["x" * 2000]}),
    pandas.DataFrame({"a": pandas.Categorical(["x" * 2000])}),
    pyarrow.table({"a": numpy.zeros(126)}),
]


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize("value", LARGE)
def test_too_much_is_refused_with_both_sizes(value: object, outward: bool) -> None:
    with pytest.raises(ValueError, match=r"^the value takes (at least )?[1-9],?\d{3} bytes, and the limit is 1,000$"):
        encode(value, 1000, outward=outward)


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize(
    "value",
    [
        pandas.DataFrame({"a": numpy.arange(LIMIT // 8 - 1000)}),
        pandas.DataFrame({"a": numpy.zeros(LIMIT - 5000, "?")}),
        pandas.DataFrame({"a": ["text"] * (LIMIT // 16)}),
        pyarrow.table({"a": numpy.arange(LIMIT // 8 - 1000)}),
    ],
)
def test_what_just_fits_on_the_way_out_fits_on_the_way_in(value: Any, outward: bool) -> None:
    assert len(crossed(value, outward=outward)) == len(value)
