"""What ``%load_ext jupyter_skills`` puts into a shell, and what ``%unload_ext`` takes out again."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.notebook.completion import Matcher, matcher_for
from jupyter_skills.notebook.magics import SkillMagics
from jupyter_skills.notebook.session import Session, close
from jupyter_skills.notebook.transform import await_ask

_MAGICS = (("line", "skill"), ("line", "ask"), ("cell", "ask"))
_RIVAL = "jupyter-skills"


@dataclass
class _Loaded:
    """What a shell has from us, and what it had in the same places before."""

    session: Session
    magics: SkillMagics
    matcher: Matcher
    before: dict[tuple[str, str], Any] = field(default_factory=dict)


_loaded: dict[int, _Loaded] = {}


def load(shell: InteractiveShell) -> None:
    """Adds the magics, their settings and the transformer that lets ``%%ask`` await."""
    if id(shell) in _loaded:
        return
    _warn_of_rival()
    session = Session(shell)
    ours = _Loaded(session, SkillMagics(session), matcher_for(session))
    registered = shell.magics_manager.magics
    for kind, name in _MAGICS:
        if name in registered[kind]:
            ours.before[kind, name] = registered[kind][name]
    if ours.before:
        names = " and ".join(sorted({"%%" + name if kind == "cell" else "%" + name for kind, name in ours.before}))
        warnings.warn(
            f"{names} of another extension is replaced by jupyter_skills until '%unload_ext jupyter_skills'.",
            stacklevel=4,
        )
    shell.register_magics(ours.magics)
    configurables: list[Any] = shell.configurables
    configurables += [session.settings, session.limits, session.remote]
    shell.jupyter_skills = session  # type: ignore[attr-defined]  # where the rewritten %%ask cells look for it
    shell.input_transformers_cleanup.insert(0, await_ask)  # before those that would change the prompt
    if shell.Completer is not None:
        shell.Completer.custom_matchers.append(ours.matcher)
    _loaded[id(shell)] = ours


def unload(shell: InteractiveShell) -> None:
    """Leaves the shell as ``load`` found it, and ends the sandbox."""
    ours = _loaded.pop(id(shell), None)
    if ours is None:
        return
    registered = shell.magics_manager.magics
    for kind, name in _MAGICS:
        registered[kind].pop(name, None)
        if (kind, name) in ours.before:
            registered[kind][name] = ours.before[kind, name]
    shell.magics_manager.registry.pop(type(ours.magics).__name__, None)
    configurables: list[Any] = shell.configurables
    for part in (ours.session.settings, ours.session.limits, ours.session.remote, ours.magics):
        if part in configurables:  # IPython itself adds the magics
            configurables.remove(part)
    shell.input_transformers_cleanup.remove(await_ask)
    if shell.Completer is not None and ours.matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(ours.matcher)
    del shell.jupyter_skills  # type: ignore[attr-defined]
    close(ours.session)


def _warn_of_rival() -> None:
    """Another project installs a package of the same import name; whichever came last overwrote the other's files."""
    try:
        distribution(_RIVAL)
    except PackageNotFoundError:
        return
    warnings.warn(
        f"The distribution '{_RIVAL}' is another project that installs a package named jupyter_skills too. "
        f"Run 'pip uninstall {_RIVAL}', then 'pip install --force-reinstall jupyter-agent-skills'.",
        stacklevel=4,
    )
