"""What runs inside the sandbox. The host sends the text of these files along: there is nothing of ours in an image.

They import the standard library, each other, and pyzmq, which ipykernel brings along; nothing else.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_LOADER = """
import sys, types
for package in {packages!r}:
    sys.modules[package] = types.ModuleType(package)
    sys.modules[package].__path__ = []
for name, text in {texts!r}.items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
module.main()
"""


@cache
def text_of(name: str) -> str:
    """The text of one of these files.

    Args:
        name: Its name without ``.py``.
    """
    return (_HERE / f"{name}.py").read_text(encoding="utf-8")


@cache
def texts(*names: str) -> list[str]:
    """The texts of some of these files, to be run one after another in one namespace.

    Args:
        *names: Of the files, each after those it imports names from, with lines such as
            ``from jupyter_skills.sandbox.inside.bounds import Room``, which are left out.
    """
    own = f"from {__name__}."
    return [
        "".join(line for line in text_of(name).splitlines(keepends=True) if not line.startswith(own)) for name in names
    ]


@cache
def program(*names: str) -> str:
    """Python that has these files as its modules, under the names they have here, and calls the last one's ``main``.

    Args:
        *names: Of the files, each after those it imports.
    """
    packages = [__name__.rsplit(".", level)[0] for level in (2, 1, 0)]
    return _LOADER.format(packages=packages, texts={f"{__name__}.{name}": text_of(name) for name in names})
