"""Bytes from the sandbox that were made to hurt: each ends in one sentence, in bounded memory, and runs nothing."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import pathlib
import zipfile
from typing import Any

import numpy
import pandas
import PIL.Image
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_skills.sandbox.inside.plain import _TAGS
from jupyter_skills.sandbox.inside.values import decode, encode
from tests.sandbox.crossed import LIMIT

KINDS = ["text", "bytes", "json", "npy", "frame", "png"]

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
tags = st.sampled_from(sorted(_TAGS))


@pytest.mark.parametrize("kind", KINDS)
def test_more_bytes_than_the_limit_are_not_looked_at(kind: str) -> None:
    with pytest.raises(ValueError, match="takes 1,001 bytes, and the limit is 1,000"):
        decode(kind, b"1" * 1001, 1000, outward=True)


def npy(header: str, body: bytes = b"", version: int = 1) -> bytes:
    size = len(header.encode()).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + body


def described(descr: object, shape: object = (1,), order: object = False) -> str:
    return repr({"descr": descr, "fortran_order": order, "shape": shape})


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def about(columns: str = '[["npy",""]]', rows: str = "1", index: str = "[]", labels: str = '["a"]') -> bytes:
    fields = {"rows": rows, "index": index, "labels": labels, "columns": columns, "names": "[null]", "series": "false"}
    return ("{" + ",".join(f'"{name}":{content}' for name, content in fields.items()) + "}").encode()


def inflated_png() -> bytes:
    data = encode(PIL.Image.new("L", (1, 1)), LIMIT, outward=True)[1]
    return data[:16] + b"\0\1\0\0" * 2 + data[24:]


class Opened:
    def __reduce__(self) -> Any:
        return (pathlib.Path.touch, (pathlib.Path("opened-by-pickle"),))


def pickled() -> bytes:
    buffer = io.BytesIO()
    numpy.save(buffer, numpy.array([Opened()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


ONE = numpy.array([1])
COLLIDING = ",".join(str(number * (2**61 - 1)) for number in range(1, 3000))
HOSTILE: dict[str, tuple[str, bytes]] = {
    "unknown kind": ("pickle", b""),
    "no name": ("", b""),
    "text that is none": ("text", b"\xff"),
    "JSON that is none": ("json", b"{"),
    "two documents": ("json", b"1 2"),
    "deep lists": ("json", b"[" * 100_000),
    "deep dicts": ("json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "deep tags": ("json", b'{"~tuple":[' * 50_000 + b"]}" * 50_000),
    "brackets after a quote": ("json", b'["\\"", ' + b"[" * 10_000),
    "a quote without end": ("json", b"[" * 500 + b'"' + b"\\" * 100_000),
    "quotes without end": ("json", b"[" * 500 + b'"' + b'\\"' * 400_000),
    "endless digits": ("json", b"9" * 100_000),
    "hex that is none": ("json", b'{"~int":"xyz"}'),
    "a number for hex": ("json", b'{"~int":5}'),
    "list for a dict": ("json", b'{"~dict":[1]}'),
    "keys that can't be": ("json", b'{"~dict":[[[],1]]}'),
    "members that can't be": ("json", b'{"~set":[[]]}'),
    "keys with one hash": ("json", f'{{"~set":[{COLLIDING}]}}'.encode()),
    "dict keys with one hash": ("json", f'{{"~dict":[[{COLLIDING.replace(",", ",0],[")},0]]}}'.encode()),
    "a float by name": ("json", b'{"~float":"1.5"}'),
    "three parts": ("json", b'{"~complex":[1.0,2.0,3.0]}'),
    "text for parts": ("json", b'{"~complex":["1","2"]}'),
    "no date": ("json", b'{"~date":"2020-13-01"}'),
    "days without end": ("json", b'{"~timedelta":[99999999999,0,0]}'),
    "no decimal": ("json", b'{"~decimal":"1.5x"}'),
    "no base64": ("json", b'{"~bytes":"***"}'),
    "a kind within": ("json", b'{"~value":["pickle",""]}'),
    "a picture within": ("json", b'{"~value":["png",""]}'),
    "JSON within": ("json", b'{"~value":["json","MQ=="]}'),
    "terabytes": ("npy", npy(described("<f8", (10**12,)), b"\0" * 100)),
    "terabytes of nothing": ("npy", npy(described("V0", (10**12,)))),
    "sides that overflow": ("npy", npy(described("<f8", (2**40, 2**40)))),
    "a digit too many": ("npy", npy(described("<f8", (1,)).replace("1", "9" * 4000))),
    "negative sides": ("npy", npy(described("<i1", (-1, -1)), b"\0")),
    "true sides": ("npy", npy(described("<i1", (True,)), b"\0")),
    "no tuple": ("npy", npy(described("<i1", [1]), b"\0")),
    "too many sides": ("npy", npy(described("<i1", (1,) * 100), b"\0")),
    "objects": ("npy", npy(described("|O"), b"\0" * 8)),
    "objects in fields": ("npy", npy(described([("a", "<i4"), ("b", "|O")]), b"\0" * 12)),
    "overlapping objects": ("npy", npy(described({"names": ["a"], "formats": ["O"], "offsets": [0]}), b"\0" * 8)),
    "variable strings": ("npy", npy(described("T"), b"\0" * 16)),
    "a pickle": ("npy", pickled()),
    "a call in the header": ("npy", npy("{'descr': __import__('os').abort()}")),
    "a header cut off": ("npy", npy(described("<i1"))[:30]),
    "a long header": ("npy", npy(" " * 20_000 + described("<i1"), b"\0")),
    "a header of signs": ("npy", npy("-" * 9_990 + "1")),
    "a header of sums": ("npy", npy("1" + "+1" * 4_990)),
    "a header of brackets": ("npy", npy("[" * 9_990)),
    "a header with no keys": ("npy", npy("{}")),
    "bytes left over": ("npy", npy(described("<i1"), b"\0\0")),
    "another version": ("npy", npy(described("<i1"), b"\0", version=9)),
    "no array": ("npy", b""),
    "a zip bomb": ("frame", zipped({"about": about(), "0": b"\0" * 9_000_000}, zipfile.ZIP_DEFLATED)),
    "no zip": ("frame", b"PK"),
    "an empty zip": ("frame", zipped({})),
    "a column that is missing": ("frame", zipped({"about": about()})),
    "a column too short": ("frame", zipped({"about": about(rows="2"), "0": encode(ONE, LIMIT, outward=True)[1]})),
    "a column of raw bytes": ("frame", zipped({"about": about(), "0": npy(described("S2"), b"ab")})),
    "a column of nothing": ("frame", zipped({"about": about(rows="999999"), "0": npy(described("V0", (999_999,)))})),
    "rows without columns": ("frame", zipped({"about": about(columns="[]", rows="1000000000000", labels="[]")})),
    "negative rows": ("frame", zipped({"about": about(columns="[]", rows="-1", labels="[]")})),
    "more labels": ("frame", zipped({"about": about(labels='["a","b"]'), "0": encode(ONE, LIMIT, outward=True)[1]})),
    "more index levels": (
        "frame",
        zipped({"about": about(index='["a","b"]'), "0": encode(ONE, LIMIT, outward=True)[1]}),
    ),
    "a huge picture": ("png", inflated_png()),
    "a picture cut off": ("png", encode(PIL.Image.effect_noise((50, 50), 9), LIMIT, outward=True)[1][:300]),
    "another format": ("png", b"GIF89a" + b"\0" * 100),
}


@pytest.mark.parametrize(("kind", "data"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_end_in_one_sentence(
    kind: str, data: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(data) < LIMIT
    with pytest.raises(ValueError, match=r"^[^\n]{10,200}$") as caught:
        decode(kind, data, LIMIT, outward=True)
    assert type(caught.value) is ValueError
    assert not any(tmp_path.iterdir())


def test_parquet_is_refused_alone_and_within_a_container() -> None:
    table = pyarrow.table({"a": [1]})
    for value in (table, [table]):
        kind, data = encode(value, LIMIT, outward=False)
        assert decode(kind, data, LIMIT, outward=False) == value
        with pytest.raises(ValueError, match=r"no kind of value called 'parquet'|what no container can"):
            decode(kind, data, LIMIT, outward=True)


def test_many_small_arrays_may_not_take_more_together_than_one() -> None:
    part = npy(described("V0", (1_000_000,)))
    entry = f'{{"~value":["npy","{base64.b64encode(part).decode()}"]}}'
    with pytest.raises(ValueError, match="are left for it"):
        decode("json", f"[{','.join([entry] * 100)}]".encode(), LIMIT, outward=True)


def test_a_picture_of_too_many_pixels_is_named_with_the_bound() -> None:
    with pytest.raises(ValueError, match="4,294,967,296 pixels, and the limit is 40,000,000"):
        decode("png", inflated_png(), LIMIT, outward=True)


def test_bools_that_are_neither_become_true() -> None:
    back: Any = decode("npy", npy(described("|b1", (3,)), b"\0\1\7"), LIMIT, outward=True)
    assert back.tobytes() == b"\0\1\1"


@patient
@given(st.sampled_from(KINDS), st.binary())
def test_random_bytes_raise_nothing_but_value_errors(kind: str, data: bytes) -> None:
    for start in (b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n"):
        only_value_errors(kind, start + data)


FRAME = pandas.DataFrame({"n": [1, 2], "text": ["a", None], "when": pandas.date_range("2020", periods=2, tz="UTC")})
WHOLE = (numpy.zeros(2, "m8[h]"), FRAME.set_index("text"), [1, {2: (3.5, {b"x"}, FRAME)}], PIL.Image.new("L", (9, 9)))
SAMPLES = [encode(value, LIMIT, outward=True) for value in WHOLE]


@patient
@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5))
def test_damaged_bytes_raise_nothing_but_value_errors(
    sample: tuple[str, bytes], changes: list[tuple[float, int]]
) -> None:
    kind, data = sample
    damaged = bytearray(data)
    for where, byte in changes:
        damaged[int(where * (len(data) - 1))] = byte
    only_value_errors(kind, bytes(damaged))


descriptions = st.sampled_from(["<i4", "|O", "V0", "<U9", ">M8[ns]", "(3,)i4", "f4,O", "|b1", "S", "x"]) | st.text()


@patient
@given(descriptions | st.lists(st.tuples(st.text(), descriptions)), st.lists(st.integers(-1, 9)), st.binary())
def test_array_headers_raise_nothing_but_value_errors(descr: object, shape: list[int], body: bytes) -> None:
    header = described(descr, tuple(shape))
    assert ast.literal_eval(header)
    only_value_errors("npy", npy(header, body, version=3))


@patient
@given(st.recursive(documents, lambda inner: st.dictionaries(tags, inner | st.lists(inner), min_size=1, max_size=1)))
def test_made_up_tags_raise_nothing_but_value_errors(document: object) -> None:
    only_value_errors("json", json.dumps(document).encode())


def only_value_errors(kind: str, data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode(kind, data, LIMIT, outward=True)
