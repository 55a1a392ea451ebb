"""What a person is told about code before it may run: what it would touch, as far as that can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from jupyter_skills.agent.called import Called, read_call
from jupyter_skills.approval.request import ApprovalRequest
from jupyter_skills.notebook.names import users_names
from jupyter_skills.words import first_names, first_rows, plain, shortened

if TYPE_CHECKING:
    from jupyter_skills.look import Look, Touch

_MOST_NAMES = 16
_MOST_TOUCHES = 8
_MOST_RISKS = 8
_LONGEST_WORDS = 200
_DIGEST_SHOWN = len("sha256:") + 12
_NAMES = ("reads", "changes", "binds", "deletes")
_TOUCHES = (
    ("files", "files"),
    ("network", "network"),
    ("programs", "processes"),
    ("installs", "installs"),
    ("secrets", "secrets"),
    ("not seen", "hidden"),
)
_NOT_SEEN = "not all of what it does can be seen from here"
_NOTHING = "nothing of yours that can be seen"

_module_dict: Any = vars(ModuleType)["__dict__"]  # a module's class may put a property in front of it


@dataclass(frozen=True)
class Facts:
    """What is shown below the question.

    Args:
        question: The question itself.
        risks: Why it is risky, the worst first; empty for plain computing.
        rows: What it would touch: a word for the kind, and what.
    """

    question: str
    risks: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def text(self) -> str:
        """All of it for a terminal."""
        width = max((len(kind) for kind, _ in self.rows), default=0)
        lines = [self.question, *(f"! {risk}" for risk in self.risks)]
        for kind, items in self.rows:
            lines += [f"{head:<{width}}  {item}" for head, item in zip([kind, *[""] * len(items)], items, strict=False)]
        return "\n".join(lines)


def facts_of(shell: InteractiveShell, request: ApprovalRequest) -> Facts:
    """What can be said of the code of a request.

    Args:
        shell: Where it would run.
        request: What is asked for.
    """
    called = read_call(request.code) if request.skill else None
    if called is not None:
        return _of_tool(shell, request, called)
    question = "Run this code in your kernel?"
    return _facts(question, (), look_at(shell, request.code))


def look_at(shell: InteractiveShell, code: str) -> Look:
    """The static look at code that would run in a shell."""
    from jupyter_skills.look import look

    names = users_names(shell)
    with suppress(Exception):  # such code does not run; the look takes it as it stands
        code = shell.transform_cell(code)
    return look(code, names, modules_of(shell.user_ns, names))


def modules_of(namespace: dict[str, Any], names: Sequence[str]) -> dict[str, str]:
    """The names that stand for modules, or for functions and classes of modules: ``{"pd": "pandas"}``.

    Nothing of the objects is run to find that out.
    """
    found: dict[str, str] = {}
    for name in names:
        value = namespace.get(name)
        if issubclass(type(value), ModuleType):
            path = _module_dict.__get__(value).get("__name__")
        elif type(value) in (FunctionType, BuiltinFunctionType, type):
            path = _path_of(value)
        else:
            path = None
        if type(path) is str and path:
            found[name] = path
    return found


def _path_of(value: Any) -> str | None:
    home = getattr(value, "__module__", None)  # which code can set to anything
    if type(home) is not str or home in ("__main__", "builtins"):
        return None
    own = value.__qualname__
    return f"{home}.{own}" if type(own) is str else None


def _of_tool(shell: InteractiveShell, request: ApprovalRequest, called: Called) -> Facts:
    """A skill's tool: the call says nothing of what the tool does, so its own text is looked at."""
    name = called.function or called.path
    question = f"Run the tool {_words(name)} of the skill {_words(request.skill)} in your kernel?"
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("skill", (f"{_words(request.skill)}, {request.skill_digest[:_DIGEST_SHOWN]}…",))
    ]
    values = [f"{key} = {value!r}" for key, value in called.arguments.items()] or [repr(word) for word in called.words]
    if values:
        rows.append(("arguments", tuple(first_rows([_words(value) for value in values], _MOST_TOUCHES))))
    if not called.function:
        rows.append(("programs", (f"runs {_words(called.path)} as a program of its own",)))
    if not (called.is_python and request.source):
        rows.append(("not seen", (f"what {_words(called.path)} does: it is not Python that can be read here",)))
        return Facts(question, (f"Runs {_words(called.path)}: {_NOT_SEEN}.",), tuple(rows))
    rows.append(("looked at", (f"{_words(called.path)}; the lines are numbered as there",)))
    from jupyter_skills.look import look

    found = _facts(question, tuple(rows), look(request.source, own=request.modules))
    return Facts(found.question, found.risks, tuple(row for row in found.rows if row[0] not in _NAMES))


def _facts(question: str, rows: tuple[tuple[str, tuple[str, ...]], ...], look: Look) -> Facts:
    more: list[tuple[str, tuple[str, ...]]] = []
    for kind in _NAMES:
        names = [_words(name) for name in getattr(look, kind)]
        if names:
            more.append((kind, (first_names(names, _MOST_NAMES),)))
    for kind, field in _TOUCHES:
        more += _touches(kind, getattr(look, field))
    risks = tuple(first_rows([_words(risk) for risk in look.risks], _MOST_RISKS))
    if not look.complete and not risks:
        risks = (f"{_NOT_SEEN.capitalize()}.",)
    return Facts(question, risks, (*rows, *(more or [("touches", (_NOTHING,))])))


def _touches(kind: str, touches: Sequence[Touch]) -> list[tuple[str, tuple[str, ...]]]:
    items = [_words(touch.what) + (f" (line {touch.line})" if touch.line else "") for touch in touches]
    return [(kind, tuple(first_rows(items, _MOST_TOUCHES)))] if items else []


def _words(text: str) -> str:
    """Words that a stranger may have chosen: one line, bounded, with nothing that steers what shows them."""
    return shortened(plain(" ".join(text.split())), _LONGEST_WORDS)
