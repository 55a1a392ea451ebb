"""Which names of a notebook's namespace are its user's."""

from __future__ import annotations

import re

from IPython.core.interactiveshell import InteractiveShell

# What IPython keeps in the namespace for itself: inputs, results, the status of the last command.
_IPYTHON = re.compile(r"_{1,3}|_i{1,3}|_i?\d+|_[oid]h|_exit_code|In|Out|exit|quit|get_ipython|__\w+__")


def users_names(shell: InteractiveShell) -> list[str]:
    """All but IPython's own; also those that ``%who`` hides, such as variables of a startup file."""
    return [name for name in list(shell.user_ns) if type(name) is str and not _IPYTHON.fullmatch(name)]
