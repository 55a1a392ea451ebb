"""What a class is, found out without running anything of it or of its metaclass."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

_HEAP_TYPE = 1 << 9
_POINTER = 8

_mro = type.__dict__["__mro__"]
_members = type.__dict__["__dict__"]
_name = type.__dict__["__name__"]
_module = type.__dict__["__module__"]
_flags = type.__dict__["__flags__"]
_basicsize = type.__dict__["__basicsize__"]
_dictoffset = type.__dict__["__dictoffset__"]
_weakrefoffset = type.__dict__["__weakrefoffset__"]


def bases_of(kind: type) -> tuple[type, ...]:
    """A class and all it inherits from, in the order in which they are asked."""
    found: tuple[type, ...] = _mro.__get__(kind)
    return found


def is_one_of(kind: type, *those: type) -> bool:
    """Whether a class is one of these; to compare them would ask the class of the class."""
    return any(kind is one for one in those)


def ids_of_bases(kind: type) -> frozenset[int]:
    """The ids of a class and of all it inherits from."""
    return frozenset(map(id, bases_of(kind)))


def any_in(ids: frozenset[int], *those: type) -> bool:
    """Whether one of these classes has one of these ids."""
    return any(id(one) in ids for one in those)


def members_of(kind: type) -> Mapping[str, Any]:
    """What a class itself defines."""
    found: Mapping[str, Any] = _members.__get__(kind)
    return found


def name_of(kind: type) -> str:
    """A class's name."""
    return str(_name.__get__(kind))


def module_of(kind: type) -> str:
    """The module that a class says it is of; empty if what it says is no text."""
    try:
        found = _module.__get__(kind)
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def package_of(kind: type) -> str:
    """The first part of that module's name."""
    return module_of(kind).partition(".")[0]


def library(name: str, *attributes: str) -> tuple[type, ...]:
    """Classes of a library, as far as it is imported and has them."""
    module = sys.modules.get(name)
    held = module.__dict__ if type(module) is types.ModuleType or isinstance(module, types.ModuleType) else {}
    return tuple(held[one] for one in attributes if isinstance(held.get(one), type))


def dict_descriptor(kind: type) -> Any | None:
    """What gives an object its ``__dict__``, as the interpreter made it: a class may put a property in front of it."""
    for base in bases_of(kind):
        found = members_of(base).get("__dict__")
        if is_one_of(type(found), types.GetSetDescriptorType, types.MemberDescriptorType):
            return found
    return None


def has_dict(kind: type) -> bool:
    """Whether objects of a class have a ``__dict__``, be it out of reach."""
    return bool(_dictoffset.__get__(kind))


def slots_of(kind: type) -> tuple[Any, ...]:
    """The descriptors of the slots that classes written in Python have."""
    return tuple(
        member
        for base in bases_of(kind)
        if _flags.__get__(base) & _HEAP_TYPE
        for name, member in members_of(base).items()
        if type(member) is types.MemberDescriptorType and name != "__weakref__"
    )


def hides_state(kind: type, base: type) -> bool:
    """Whether objects of a class hold more than what its base has, a ``__dict__`` and slots: a part made in C.

    Args:
        kind: The class.
        base: The class below it whose contents are known.
    """
    known = _basicsize.__get__(base) + _POINTER * len(slots_of(kind))
    for offset in (_dictoffset, _weakrefoffset):
        known += _POINTER * (offset.__get__(kind) > 0 and not offset.__get__(base))
    return bool(_basicsize.__get__(kind) > known)
