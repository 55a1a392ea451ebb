"""How one variable crosses between the user's kernel and the isolated one: as plain data, never as code.

Both ends use this file, and those it imports: the host passes their texts to the isolated kernel. They therefore
import nothing but the standard library; a value's own library is looked up among the modules that are loaded, and
one that a decoder needs is imported there. Nothing is unpickled, run or looked up by a path, and sizes are checked
before memory is taken. What comes out of the sandbox may have been made by anyone; what goes in is the user's own.
"""

from __future__ import annotations

import ast
import importlib
import io
import math
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

from jupyter_skills.sandbox.inside.bounds import Packed, Refused, Room, cannot, check_size, is_a, library
from jupyter_skills.sandbox.inside.plain import Writer, as_bytes, as_utf8, read_json
from jupyter_skills.sandbox.inside.tables import pack_table, read_frame, read_parquet

_LONGEST_HEADER = 10_000  # NumPy's own bound: a longer one could exhaust the parser
_MOST_PIXELS = 40_000_000
_PNG = b"\x89PNG\r\n\x1a\n"


def encode(value: object, limit: int, *, outward: bool) -> Packed:
    """A value as plain bytes.

    Some things arrive as something simpler. Instances of subclasses (named tuples, ``OrderedDict``, ``IntEnum``)
    arrive as the built-in type; ``bytearray`` and ``memoryview`` as bytes; a time zone as its offset from UTC,
    without ``fold``; pandas ``Timestamp`` and ``Timedelta`` without nanoseconds; a NumPy number within a container as
    a Python number, an array of no dimensions as a scalar, and a subclass of ``ndarray`` as an array; a figure as a
    picture of it. Data frames lose the frequency of an index, and that numbers were categories. Out of the
    sandbox, or without pyarrow, all categories arrive as plain values and times in UTC; the tables of polars and
    pyarrow come out as pandas' data frames.

    Args:
        value: What is to cross.
        limit: The most bytes it may take.
        outward: Whether it goes out of the sandbox.

    Returns:
        Its kind (``text``, ``bytes``, ``json``, ``npy``, ``frame``, ``png``, or inward ``parquet``) and its bytes.
        The same value makes the same bytes, as far as its library does.

    Raises:
        TypeError: It is nothing that can cross.
        ValueError: It is too large.
    """

    def pack(value: object) -> Packed | None:
        return _pack_array(value, limit) or pack_table(value, limit, pack, outward=outward)

    found = pack(value) or _pack_picture(value, limit)
    if found is None and issubclass(type(value), str):
        assert isinstance(value, str)
        check_size(str.__len__(value), limit)
        found = "text", as_utf8(value)
    elif found is None and issubclass(type(value), (bytes, bytearray, memoryview)):
        found = "bytes", as_bytes(value, limit)
    kind, data = found or ("json", Writer(limit, pack).document(value))
    check_size(len(data), limit)
    return kind, data


def decode(kind: str, data: bytes, limit: int, *, outward: bool) -> object:
    """The value that ``encode`` made these bytes of.

    Args:
        kind: What ``encode`` called it.
        data: Its bytes. Those that come out of the sandbox may be anyone's; ``parquet`` is refused among them.
        limit: The most bytes to accept. The memory that a value takes is a multiple of it: about thirty times for
            JSON made of nothing but brackets, three for arrays and data frames. A picture has a bound of its own.
        outward: Whether it came out of the sandbox.

    Raises:
        ValueError: The bytes are no such value, it is too large, or a package it needs is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about large pictures and odd headers; what counts is checked here
            return _read(kind, data, limit, _NESTED if outward else _NESTED_INWARD)
    except Refused as refusal:
        raise ValueError(str(refusal)) from None
    except Exception as problem:  # noqa: BLE001 -- decoders raise all sorts for bytes that were made to hurt them
        raise ValueError(f"the bytes received are no {kind} value ({type(problem).__name__})") from None


def _read(kind: str, data: bytes, limit: int, nested: dict[str, _Reader]) -> object:
    readers = _READERS | nested
    if not isinstance(kind, str) or kind not in readers:
        raise Refused(f"there is no kind of value called {ascii(kind)[:40]}")
    if len(data) > limit:
        raise Refused(f"the value takes {len(data):,} bytes, and the limit is {limit:,}")
    return readers[kind](data, Room(2 * limit + (1 << 20), nested))


def _pack_array(value: object, limit: int) -> Packed | None:
    return ("npy", _from_array(value, limit)) if is_a(value, "numpy", "ndarray", "generic") else None


def _from_array(value: Any, limit: int) -> bytes:
    if is_a(value, "numpy.ma", "MaskedArray"):
        raise cannot("a masked array (its mask would be lost; .filled() makes an array that has none)")
    numpy: Any = sys.modules["numpy"]
    array = numpy.asarray(value)
    if array.dtype.hasobject:
        raise cannot(f"a NumPy array of dtype {array.dtype}, which holds Python objects,")
    check_size(array.nbytes, limit)
    form = numpy.lib.format
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the version of the format, which is ours to know
        try:
            same = form.descr_to_dtype(form.dtype_to_descr(array.dtype)) == array.dtype
            form.write_array(buffer, array, allow_pickle=False)
        except ValueError:
            same = False
    if not same or buffer.tell() - array.nbytes > _LONGEST_HEADER:
        raise cannot(f"a NumPy array of dtype {str(array.dtype)[:80]}")
    return buffer.getvalue()


def _to_array(data: bytes, room: Room) -> Any:
    """An array; the header is read here, because NumPy's own reader takes memory for whatever one claims."""
    numpy = library("numpy")
    form = library("numpy.lib.format")
    if data[:6] != b"\x93NUMPY" or data[6] not in (1, 2, 3):
        raise Refused("the bytes received are no NumPy array")
    start = 10 if data[6] == 1 else 12
    size = int.from_bytes(data[8:start], "little")
    if size > _LONGEST_HEADER:
        raise Refused(f"the array has a header of {size:,} bytes, and the limit is {_LONGEST_HEADER:,}")
    header = ast.literal_eval(data[start : start + size].decode("utf-8" if data[6] == 3 else "latin-1"))
    shape, dtype = header["shape"], form.descr_to_dtype(header["descr"])
    if dtype.hasobject or dtype.kind not in "biufcmMSUV" or dtype.subdtype is not None:
        raise Refused(f"an array of dtype {ascii(str(dtype))[:80]} can't be received")
    if type(shape) is not tuple or not all(type(side) is int and side >= 0 for side in shape):
        raise Refused("the array has no possible shape")
    count = math.prod(shape)
    if count * dtype.itemsize != len(data) - start - size:
        claimed = f"{count * dtype.itemsize:,}" if count < 1 << 64 else "countless"
        raise Refused(f"the array claims {claimed} bytes and has {max(0, len(data) - start - size):,}")
    room.take(max(count, count * dtype.itemsize))
    if dtype.itemsize == 0 or count == 0:
        return numpy.zeros(shape, dtype)[()]
    array = numpy.frombuffer(data, dtype, count, start + size)
    # A bool with a byte other than 0 and 1 is neither true nor false.
    array = array.view("u1") != 0 if dtype.kind == "b" else array.copy()
    return array.reshape(shape, order="F" if header["fortran_order"] else "C")[()]


def _pack_picture(value: Any, limit: int) -> Packed | None:
    buffer = io.BytesIO()
    if is_a(value, "matplotlib.figure", "Figure"):
        value.savefig(buffer, format="png", metadata={"Software": None})
    elif is_a(value, "PIL.Image", "Image"):
        if math.prod(value.size) > _MOST_PIXELS:
            raise ValueError(f"the picture has {math.prod(value.size):,} pixels, and the limit is {_MOST_PIXELS:,}")
        try:
            (value.convert("RGB") if value.mode in ("CMYK", "YCbCr", "LAB", "HSV") else value).save(buffer, "PNG")
        except OSError:
            raise cannot(f"a picture of mode {value.mode}") from None
    else:
        return None
    return "png", buffer.getvalue()


def _to_picture(data: bytes, room: Room) -> object:
    """A PIL image, or the bytes where there is no PIL; a picture may take more memory than its file does."""
    if data[:8] != _PNG or data[12:16] != b"IHDR":
        raise Refused("the bytes received are no PNG picture")
    pixels = math.prod(struct.unpack(">II", data[16:24]))
    if pixels > _MOST_PIXELS:
        raise Refused(f"the picture has {pixels:,} pixels, and the limit is {_MOST_PIXELS:,}")
    try:
        image: Any = importlib.import_module("PIL.Image")
    except ImportError:
        return data
    with image.open(io.BytesIO(data), formats=["PNG"]) as picture:
        return picture.copy()


_Reader = Callable[[bytes, Room], object]
_NESTED: dict[str, _Reader] = {"npy": _to_array, "frame": read_frame}  # what may lie within other values, too
_NESTED_INWARD = _NESTED | {"parquet": read_parquet}
_READERS: dict[str, _Reader] = {
    "text": lambda data, _: data.decode("utf-8", "surrogatepass"),
    "bytes": lambda data, _: bytes(data),
    "json": read_json,
    "png": _to_picture,
}
