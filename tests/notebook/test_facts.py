"""What a person is told of code, whatever the notebook holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.approval.request import ApprovalRequest
from jupyter_skills.notebook.consent.facts import facts_of, modules_of


def acts(*_: object) -> NoReturn:
    raise AssertionError("code of the notebook's objects ran")


class Acting(str):
    """A text that does something whenever it is used."""

    __slots__ = ()
    __eq__ = __format__ = acts  # type: ignore[assignment]
    __hash__ = str.__hash__


class Lying:
    """An object that does something when it is asked what it is."""

    __class__ = property(acts)  # type: ignore[assignment]


class Loading(ModuleType):
    """A module that does something when what it holds is asked for."""

    __dict__ = property(acts)  # type: ignore[assignment]


def function(module: Any, name: str = "f") -> Any:
    def made() -> None: ...

    made.__module__, made.__qualname__ = module, name
    return made


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (lambda: os, "os"),
        (lambda: os.path.join, f"{os.path.__name__}.join"),
        (lambda: Loading("lazy"), "lazy"),
        (lambda: function("m", "f"), "m.f"),
        (lambda: function("__main__"), ""),
        (lambda: function(Acting("m")), ""),
        (lambda: function("m", Acting("f")), ""),
        (lambda: function(Lying()), ""),
        (lambda: type("Class", (), {"__module__": Lying()}), ""),
        (Lying, ""),
        (int, ""),
    ],
)
def test_what_a_name_stands_for_is_told_without_running_anything(made: Callable[[], object], path: str) -> None:
    """The objects are made here, for pytest asks those that it is given what they are."""
    assert modules_of({"value": made()}, ["value"]) == ({"value": path} if path else {})


def test_code_that_ipython_can_not_transform_is_looked_at_as_it_stands() -> None:
    def broken(_: list[str]) -> NoReturn:
        raise ValueError("a transformer of the user's")

    shell = InteractiveShell()
    shell.input_transformers_post.append(broken)
    plain, magic = (facts_of(shell, ApprovalRequest("run_python", code)) for code in ("x = 1", "!rm x"))
    assert (plain.risks, plain.rows) == ((), (("binds", ("x",)),))
    assert magic.risks
