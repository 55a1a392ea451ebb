"""Installs packages while a derived image is built: runs there once, as root, with the image's own ``python3``.

Usage: ``install.py FILE``, which names one package a line. They are passed to pip as words, not as its requirements
file, which could hold options. Lines that begin with ``ERROR:`` are the reason, as in pip.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

# Old versions of pip ignore what they don't know in the environment, but not on the command line.
_FOR_PIP = {
    "PIP_BREAK_SYSTEM_PACKAGES": "1",  # the system is a layer of an image
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}


def main() -> int:
    """Installs; returns the exit status."""
    wanted = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    for name in ("pip", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            print(f"ERROR: the image's python3 has no {name}")  # noqa: T201 -- its output is what it is for
            return 1
    # Asked for together with the packages, the kernel keeps its version, and all that it needs still fits it.
    kernel = f"ipykernel=={importlib.metadata.version('ipykernel')}"
    os.umask(0o022)  # another user will read what is installed
    options = ["--only-binary=:all:", "--no-cache-dir", "--progress-bar=off"]
    return subprocess.call(
        [sys.executable, "-m", "pip", "install", *options, "--", kernel, *wanted], env={**os.environ, **_FOR_PIP}
    )


if __name__ == "__main__":
    sys.exit(main())
