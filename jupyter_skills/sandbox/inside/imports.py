"""Runs inside the isolated kernel, at its start: skills with modules of the same name don't get each other's.

Code that names one skill's folder imports that skill's modules, even if others of these names were imported before.
The host passes this file's text to the kernel; it may import nothing but the standard library.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

_SKILLS = "/skills"
_FOLDER = re.compile(rf"{_SKILLS}/([\w.-]+)")


def keep_apart(info: Any) -> None:
    """Called by IPython before each cell: forgets modules of other skills that stand in the way.

    Args:
        info: Has the cell's source as ``raw_cell``.
    """
    named = {os.path.join(_SKILLS, skill) for skill in _FOLDER.findall(info.raw_cell or "")}
    for folder in named:
        try:
            own = {name.removesuffix(".py") for name in os.listdir(folder)}
        except OSError:
            continue
        for name, module in list(sys.modules.items()):
            other = _FOLDER.match(_file_of(module)) if name.partition(".")[0] in own else None
            if other and other[0] != folder:
                del sys.modules[name]
                if other[0] not in named:
                    sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != other[0]]


def _file_of(module: object) -> str:
    try:
        return str(object.__getattribute__(module, "__dict__").get("__file__"))  # some fail when they are asked
    except AttributeError:  # one that has none
        return ""
