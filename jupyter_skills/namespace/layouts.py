"""What the objects of each class are made of, as far as it can be copied and given back."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import itertools
import logging
import operator
import pathlib
import random
import re
import sys
import types
import uuid
import weakref
from _thread import LockType, RLock
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jupyter_skills.namespace import classes
from jupyter_skills.namespace.arrays import Arrays, RandomNumbers
from jupyter_skills.namespace.budget import Budget
from jupyter_skills.namespace.classes import any_in, is_one_of, library
from jupyter_skills.namespace.containers import CONTAINERS
from jupyter_skills.namespace.frames import Clones, ExtensionArrays, Frames, Indexes
from jupyter_skills.namespace.kind import Kind
from jupyter_skills.namespace.objects import OBJECTS, Arguments, Attributes, Classes, Functions, Slots

# Objects of exactly these classes never change, or are no data.
_FIXED = (
    *(type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, range, slice, object),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern, re.Match),
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType),
    *(types.GenericAlias, types.UnionType, types.MappingProxyType, property, staticmethod, classmethod, super),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller, weakref.ref, functools.cached_property),
    type(functools.cache(len)),
)
# Likewise of these, and of all that are built upon them.
_FIXED_BASES = (types.ModuleType, enum.Enum, pathlib.PurePath, datetime.tzinfo)
_IMMUTABLE_BASES = (int, float, complex, str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)

# They have no contents that anyone would want back, but what holds one does more than keep data.
_SILENT = (LockType, RLock, logging.Logger)

_module_dict: Any = vars(types.ModuleType)["__dict__"]

# Packages of the standard library whose objects are data; others run the interpreter, or talk to something.
_DATA = frozenset(
    {
        *("_collections_abc", "abc", "argparse", "array", "builtins", "collections", "configparser"),
        *(
            "contextlib",
            "dataclasses",
            "datetime",
            "decimal",
            "enum",
            "functools",
            "ipaddress",
            "numbers",
            "statistics",
            "string",
        ),
        *("types", "typing"),
    }
)

# Objects of these packages run the notebook, or live by something outside of it: to put one back would break it.
_SERVICES = frozenset(
    {
        *("IPython", "PIL", "aiohttp", "altair", "anthropic", "bokeh", "boto3", "botocore", "comm", "dask"),
        *("debugpy", "distributed", "docker", "duckdb", "httpcore", "httpx", "ipykernel", "ipywidgets"),
        *("jupyter_client", "jupyter_core", "jupyter_server", "litellm", "matplotlib", "matplotlib_inline"),
        *("openai", "panel", "plotly", "psycopg", "psycopg2", "pymongo", "pyspark", "ray", "redis", "requests"),
        *("sqlalchemy", "tornado", "traitlets", "urllib3", "websockets", "zmq"),
    }
)

# Objects of these never change once they are there.
_FIXED_PACKAGES = ("jupyter_skills", "pyarrow")


@dataclass(frozen=True)
class Layout:
    """What objects of one class are made of.

    Args:
        owner: The class.
        kinds: The states that make up its objects' contents; none if these never change.
        reason: Why its objects can't be copied; empty if they can.
        is_whole: Whether its objects are a library's, to be given back wholly or not at all.
        is_silent: Whether nobody need be told that its objects aren't copied.
        accepts: Which of its objects this holds for; the others never change.
    """

    owner: type
    kinds: tuple[Kind, ...] = ()
    reason: str = ""
    is_whole: bool = False
    is_silent: bool = False
    accepts: Callable[[Any], bool] | None = None

    @cached_property
    def is_bulk(self) -> bool:
        """Whether its objects' contents are such as are copied at once, and may be large."""
        return any(kind.charges for kind in self.kinds)

    @property
    def is_fixed(self) -> bool:
        """Whether its objects never change."""
        return not self.kinds and not self.reason


class Layouts:
    """Finds out about each class once.

    Args:
        namespace: Whose functions and classes are followed.
        budget: What copies of arrays and frames may take.
    """

    def __init__(self, namespace: Mapping[str, Any], budget: Budget) -> None:
        self._namespace = namespace
        self._home = namespace.get("__name__")
        self._functions, self._classes = Functions(), Classes()
        self._tables: dict[type, Kind] = dict(CONTAINERS)  # of containers, and of what is built upon them
        self._exact: dict[int, Kind] = {id(kind): held for kind, held in (CONTAINERS | OBJECTS).items()}
        self._exact[id(random.Random)] = RandomNumbers(random.Random.getstate, random.Random.setstate)
        # Kinds of those that are built upon these classes; none if they never change.
        self._foreign: list[tuple[type, Kind | None]] = []
        self.known: dict[int, Layout] = {id(kind): Layout(kind) for kind in _FIXED}
        self.fixed: set[int] = set(self.known)
        self.arrays: Arrays | None = None
        if "numpy" in sys.modules:
            self._look_at_numpy(budget)
        for name, held in (("DataFrame", "_df"), ("Series", "_s")):
            self._exact.update({id(kind): Clones(held) for kind in library("polars", name)})

    def _look_at_numpy(self, budget: Budget) -> None:
        """Gets to know the classes of numpy and pandas, if they are imported whole."""
        for array in library("numpy", "ndarray"):
            self.arrays = self._tables[array] = self._exact[id(array)] = Arrays(sys.modules["numpy"], budget)
            frames = Frames(self.arrays, budget)
            self._foreign += [(kind, frames) for kind in library("pandas", "DataFrame", "Series")]
        self._foreign += [(kind, Indexes()) for kind in library("pandas", "Index")]
        self._foreign += [(kind, None) for kind in library("numpy", "number", "bool_", "character", "datetime64")]
        self._foreign += [(kind, None) for kind in library("numpy", "timedelta64", "dtype", "ufunc")]
        self._foreign += [(kind, None) for kind in library("pandas.api.extensions", "ExtensionDtype")]
        for name, held in (("Generator", "bit_generator"), ("RandomState", "_bit_generator")):
            self._exact.update({id(kind): _generator(held) for kind in library("numpy.random", name)})

    def finish(self) -> None:
        """Lets go of what only copying needs."""
        if self.arrays is not None:
            self.arrays.finish()

    def of(self, kind: type) -> Layout:
        """What objects of a class are made of."""
        found = self.known.get(id(kind))
        if found is None:
            found = self.known[id(kind)] = self._find(kind)
            if found.is_fixed:
                self.fixed.add(id(kind))
        return found

    def _find(self, kind: type) -> Layout:
        ids, package = classes.ids_of_bases(kind), classes.package_of(kind)
        if kind is types.FunctionType:
            return Layout(kind, (self._functions,), accepts=self._is_of_the_notebook)
        if any_in(ids, type):
            plain = is_one_of(kind, type, ABCMeta)
            return Layout(kind, (self._classes,), accepts=self._is_its_class) if plain else Layout(kind)
        if id(kind) in self._exact:
            return Layout(kind, (self._exact[id(kind)],))
        if any_in(ids, *_SILENT):
            return Layout(kind, reason="can't be copied", is_silent=True)
        if kind is types.ModuleType:
            names = Attributes(_module_dict, may_be_set=False)
            return Layout(kind, (names,), accepts=self._is_made_here)
        if any_in(ids, BaseException):
            return self._exception(kind)
        if any_in(ids, *_FIXED_BASES) or package in _FIXED_PACKAGES:
            return Layout(kind)
        for base, held in self._foreign:
            if any_in(ids, base):
                return Layout(kind, (held,) if held else (), is_whole=True)
        if package == "pandas" and any_in(ids, *library("pandas.api.extensions", "ExtensionArray")):
            return Layout(kind, (ExtensionArrays(),), is_whole=True)
        if package == "pandas" and (
            classes.module_of(kind).startswith("pandas._libs.") or any_in(ids, *_IMMUTABLE_BASES)
        ):
            return Layout(kind)
        return self._composed(kind, ids, package)

    def _exception(self, kind: type) -> Layout:
        """Exceptions: what they were made with and their attributes, but nothing of where they were raised."""
        descriptor = classes.dict_descriptor(kind)
        if descriptor is None or any(self._is_service(classes.package_of(one)) for one in classes.bases_of(kind)):
            return Layout(kind)
        slots = classes.slots_of(kind)
        parts = (Arguments(), *((Slots(slots),) if slots else ()), Attributes(descriptor, may_be_set=True))
        return Layout(kind, parts)

    def _composed(self, kind: type, ids: frozenset[int], package: str) -> Layout:
        """Objects of classes written in Python, and of such as are built upon containers."""
        bases = classes.bases_of(kind)
        base = next((one for one in (*self._tables, *_IMMUTABLE_BASES) if id(one) in ids), object)
        above = itertools.takewhile(lambda one: one is not base, bases)
        # Those of varying length can't have slots, and keep their attributes behind their items.
        is_varying = is_one_of(base, tuple, *_IMMUTABLE_BASES)
        if (
            any(self._is_service(classes.package_of(one)) for one in bases)
            or any("__buffer__" in classes.members_of(one) for one in above)
            or (not is_varying and classes.hides_state(kind, base))
            or (classes.has_dict(kind) and classes.dict_descriptor(kind) is None)
        ):
            return Layout(kind, reason="can't be copied")
        parts = [self._tables[base]] if base in self._tables else []
        slots, descriptor = classes.slots_of(kind), classes.dict_descriptor(kind)
        if slots:
            parts.append(Slots(slots))
        if descriptor is not None:
            parts.append(Attributes(descriptor, may_be_set=type(descriptor) is types.GetSetDescriptorType))
        return Layout(kind, tuple(parts), is_whole=package != self._home and package not in _DATA)

    def _is_service(self, package: str) -> bool:
        if package == self._home:
            return False
        return package in _SERVICES or (package in sys.stdlib_module_names and package not in _DATA)

    def _is_of_the_notebook(self, function: Any) -> bool:
        return function.__globals__ is self._namespace

    def _is_made_here(self, module: Any) -> bool:
        held = _module_dict.__get__(module)
        if type(held) is not dict or held is self._namespace or held.get("__spec__") is not None:
            return False
        return all(module is not one for one in list(sys.modules.values()))

    def _is_its_class(self, kind: Any) -> bool:
        return classes.module_of(kind) == self._home


def _generator(name: str) -> Kind:
    def read(thing: Any) -> Any:
        return getattr(thing, name).state

    def write(thing: Any, state: Any) -> None:
        getattr(thing, name).state = state

    return RandomNumbers(read, write)
