"""How tables cross: a pandas object as a zip of its columns, and what that can't hold as Parquet, on the way in only.

pyarrow trusts what a Parquet file says of itself. What comes out of the sandbox is therefore never read by it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import warnings
import zipfile
from typing import Any

from jupyter_skills.sandbox.inside.bounds import Pack, Packed, Refused, Room, cannot, check_size, is_a, library
from jupyter_skills.sandbox.inside.plain import Writer, read_json

_MARK = b"jupyter_skills"  # the entry of a Parquet file's metadata that says what it was made of
_NULLABLE = {"object", "string", "boolean", "Float32", "Float64"}
_NULLABLE |= {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_NUMERIC = tuple("biufcmM")  # the kinds of NumPy's dtypes that columns have as they are
_KEPT = _NULLABLE | {"str"}  # of pandas' own dtypes, those that a column arrives with


def pack_table(value: Any, limit: int, pack: Pack, *, outward: bool) -> Packed | None:
    """A table, or a column of one, as ``frame`` or ``parquet``; None if it is neither.

    Args:
        value: Of pandas, polars or pyarrow.
        limit: The most bytes it may take.
        pack: Packs what lies within it.
        outward: Whether it goes out of the sandbox.
    """
    if is_a(value, "pandas", "DataFrame", "Series"):
        size = value.memory_usage()
        check_size(int(size if _is_series(value) else size.sum()), limit)
        if not outward and _loses(value):
            with contextlib.suppress(TypeError):
                return "parquet", _as_parquet(value, limit)
        return "frame", _as_frame(value, limit, pack)
    if is_a(value, "polars", "DataFrame", "Series"):
        check_size(value.estimated_size(), limit)
    elif is_a(value, "pyarrow", "Table"):
        check_size(value.nbytes, limit)
    else:
        return None
    if not outward:
        return "parquet", _as_parquet(value, limit)
    return pack_table(_as_pandas(value), limit, pack, outward=True)


def read_frame(data: bytes, room: Room) -> object:
    """The pandas object that was made a ``frame``; the bytes may come from anyone, and raise all sorts."""
    pandas = library("pandas")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members) or (
            sum(member.file_size for member in members) > len(data)
        ):
            raise Refused("the data frame would unpack to more than its size")
        about = read_json(archive.read("about"), room)
        columns = [
            _to_column(kind, archive.read(str(number)), note, about["rows"], room)
            for number, (kind, note) in enumerate(about["columns"])
        ]
    depth, names = len(about["index"]), about["names"]
    index: Any = pandas.RangeIndex(about["rows"])
    if depth == 1:
        index = pandas.Index(columns[0], name=about["index"][0])
    elif depth:
        index = pandas.MultiIndex.from_arrays(columns[:depth], names=about["index"])
    room.take(about["rows"] * max(1, len(columns)))
    frame = pandas.DataFrame(dict(enumerate(columns[depth:])))
    frame = frame.set_axis(index) if len(frame.columns) else pandas.DataFrame(index=index)
    if len(names) > 1:
        frame.columns = pandas.MultiIndex.from_tuples(about["labels"], names=names)
    else:
        frame.columns = pandas.Index(about["labels"], name=names[0], tupleize_cols=False)
    return _only_column(frame, about["series"]) if about["series"] else frame


def read_parquet(data: bytes, _: Room) -> object:
    """The table that was made ``parquet``; the bytes must be the host's."""
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    table = parquet.read_table(arrow.BufferReader(data))
    metadata = dict(table.schema.metadata or {})
    origin, _dot, kind = metadata.pop(_MARK).decode().partition(".")
    table = table.replace_schema_metadata(metadata or None)
    if origin == "pyarrow":
        return table
    if origin == "polars":
        frame = library("polars").from_arrow(table)
        return frame.to_series() if kind == "Series" else frame
    library("pandas")
    frame = table.to_pandas()
    return _only_column(frame, kind) if kind.startswith("Series") else frame


def _as_parquet(value: Any, limit: int) -> bytes:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise cannot(f"a {_origin(value)} without the package pyarrow") from None
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about attributes that can't be written
            table = _as_arrow(value, arrow)
            check_size(table.nbytes, limit)
            metadata = {**(table.schema.metadata or {}), _MARK: _origin(value).encode()}
            parquet.write_table(table.replace_schema_metadata(metadata), buffer)
    except (arrow.ArrowException, NotImplementedError) as problem:
        raise cannot(f"a {_origin(value)} with such columns ({str(problem).splitlines()[0][:200]})") from None
    return buffer.getvalue()


def _as_arrow(value: Any, arrow: Any) -> Any:
    if is_a(value, "pyarrow", "Table"):
        return value
    frame = value.to_frame() if _is_series(value) else value
    return arrow.Table.from_pandas(frame) if is_a(frame, "pandas", "DataFrame") else frame.to_arrow()


def _as_pandas(value: Any) -> Any:
    try:
        importlib.import_module("pandas")
        return value.to_pandas()
    except ImportError:
        raise cannot(
            f"a {_origin(value)} without the packages pandas and pyarrow, which make a data frame of it,"
        ) from None


def _is_series(value: object) -> bool:
    return is_a(value, "pandas", "Series") or is_a(value, "polars", "Series")


def _origin(value: Any) -> str:
    """What a table was, such as ``polars.DataFrame``."""
    if is_a(value, "pyarrow", "Table"):
        return "pyarrow.Table"
    pandas = is_a(value, "pandas", "DataFrame", "Series")
    kind = "DataFrame" if not _is_series(value) else "Series unnamed" if pandas and value.name is None else "Series"
    return f"{'pandas' if pandas else 'polars'}.{kind}"


def _only_column(frame: Any, kind: str) -> Any:
    series = frame.iloc[:, 0]
    return series.rename(None) if kind.endswith("unnamed") else series


def _loses(value: Any) -> bool:
    """Whether a pandas object has columns, with names that Parquet takes, that would arrive as something simpler."""
    frame = value.to_frame() if _is_series(value) else value
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    kinds = [*frame.dtypes, *(level.dtype for level in levels)]
    return bool(frame.columns.is_unique) and not all(
        is_a(kind, "numpy", "dtype") or str(kind) in _KEPT or str(getattr(kind, "tz", "")) == "UTC" for kind in kinds
    )


def _as_frame(value: Any, limit: int, pack: Pack) -> bytes:
    pandas: Any = sys.modules["pandas"]
    single = _is_series(value)
    index, frame = value.index, value.to_frame() if single else value
    plain = type(index) is pandas.RangeIndex and index.equals(pandas.RangeIndex(len(index))) and index.name is None
    levels = [] if plain else [pandas.Series(index.get_level_values(level)) for level in range(index.nlevels)]
    columns = levels + [frame.iloc[:, number] for number in range(frame.shape[1])]
    written = [_from_column(column, limit, pack) for column in columns]
    about = {
        "rows": len(frame),
        "index": list(index.names)[: len(levels)],
        "labels": list(frame.columns),
        "names": list(frame.columns.names),
        "series": single and ("Series" if value.name is not None else "Series unnamed"),
        "columns": [(kind, note) for kind, _, note in written],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("about"), Writer(limit, pack).document(about))
        for number, (_, data, _) in enumerate(written):
            archive.writestr(zipfile.ZipInfo(str(number)), data)
    return buffer.getvalue()


def _from_column(column: Any, limit: int, pack: Pack) -> tuple[str, bytes, str]:
    """A column's kind, its bytes, and what it is to become beyond that: a dtype, ``utc`` or nothing."""
    pandas: Any = sys.modules["pandas"]
    note = str(column.dtype)
    if isinstance(column.dtype, pandas.DatetimeTZDtype):
        column, note = column.dt.tz_convert("UTC").dt.tz_localize(None), "utc"
    if getattr(column.dtype, "kind", "") in _NUMERIC and is_a(column.to_numpy(), "numpy", "ndarray"):
        array = column.to_numpy()
        if array.dtype == column.dtype and (packed := pack(array)) is not None:
            return *packed, note if note == "utc" else ""
    items = [None if item is pandas.NA or item is pandas.NaT else item for item in column.astype(object)]
    return "json", Writer(limit, pack).document(items), note if note in _KEPT else ""


def _to_column(kind: str, data: bytes, note: str, rows: int, room: Room) -> Any:
    pandas = library("pandas")
    items = room.read("npy", data) if kind == "npy" else read_json(data, room)
    # pandas makes objects of text and raw bytes, which take many times their size; as such they come in JSON.
    fits = type(items) is list if kind != "npy" else items.ndim == 1 and items.dtype.kind in _NUMERIC
    if not fits or len(items) != rows:
        raise Refused("the data frame has a column of the wrong length or type")
    # Before pandas 3, "str" stood for making text of everything, None too.
    known = _KEPT if hasattr(pandas, "col") else _NULLABLE
    column = pandas.Series(items, dtype=note if note in known else None)
    return column.dt.tz_localize("UTC") if note == "utc" else column
