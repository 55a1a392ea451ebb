"""Values that cross within one process, and in interpreters that lack packages."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from jupyter_skills.sandbox.inside import texts
from jupyter_skills.sandbox.inside.values import decode, encode

LIMIT = 1 << 20
FILES = ("bounds", "plain", "tables", "values")

_WITHOUT = """
import json, sys
class Missing:
    def find_spec(name, path, target=None):
        if name in {missing!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
for text in json.load(sys.stdin):
    exec(text)
{code}
"""


def crossed(value: object, kind: str = "", *, outward: bool = True) -> Any:
    """What arrives of a value; checks that its bytes are the same each time."""
    found, data = encode(value, LIMIT, outward=outward)
    assert (found, data) == encode(value, LIMIT, outward=outward)
    assert found == (kind or found)
    return decode(found, data, LIMIT, outward=outward)


def without(missing: list[str], code: str) -> str:
    """What some code prints in an interpreter where packages can't be imported; the files' texts are run before it."""
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT.format(missing=missing, code=code)],
        input=json.dumps(texts(*FILES)),
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.strip() + ran.stderr.strip()[-300:]
