"""The tools that a model is offered, and what they do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from jupyter_skills.agent.answer import CodeRun
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Emit
from jupyter_skills.agent.executor import Code, Executor
from jupyter_skills.agent.prompt.system import skill_content
from jupyter_skills.agent.router import Router
from jupyter_skills.agent.shelf import Shelf
from jupyter_skills.agent.tool_calls import code_for
from jupyter_skills.agent.tool_names import LOAD_SKILL, READ_FILE, RUN_PYTHON, RUN_SHELL
from jupyter_skills.errors import SkillProblem
from jupyter_skills.execution.output import bounded, clean_text
from jupyter_skills.execution.result import Execution, GeneratedFile, Image, Language
from jupyter_skills.models.client import ToolCall
from jupyter_skills.skills.allowed import languages, parse
from jupyter_skills.skills.skill import Skill
from jupyter_skills.skills.tools.record import SkillTool, call_name
from jupyter_skills.words import first_rows

_LANGUAGES: dict[str, tuple[Language, str]] = {RUN_PYTHON: ("python", "code"), RUN_SHELL: ("shell", "command")}
_LONGEST_FILE = 64 * 1024
_MOST_ROWS = 30
STOPPED = "Stopped before it could finish."
"""What the model is told of a call that was given up."""

_CUT_SHORT = Execution("interrupted", error=STOPPED)
_NOT_BEGUN = Execution("interrupted", error="It did not run: nobody has consented to it.")
_LONGEST_PRINTED = 20_000


class _NoSense(Exception):
    """A call that can't be done, and what to tell the model about it."""


@dataclass(frozen=True)
class ToolResult:
    """What came of a call.

    Args:
        text: What the model is told.
        images: The pictures that its code displayed or left as files, for a model that sees.
    """

    text: str
    images: tuple[Image, ...] = ()


Keep = Callable[[GeneratedFile], GeneratedFile]


class Toolbox:
    """The tools of one turn.

    Args:
        shelf: The skills in force.
        router: Where code runs.
        emit: Told of each call.
        keep: Called with each file that code made; returns it, with ``saved_as`` set if it was saved. An
            ``OSError`` of it is noted, and the file stays in the answer.
    """

    def __init__(self, shelf: Shelf, router: Router, emit: Emit, keep: Keep = lambda file: file) -> None:
        self._shelf = shelf
        self._router = router
        self._emit = emit
        self._keep = keep
        self.code: list[CodeRun] = []
        self.files: dict[str, GeneratedFile] = {}
        self.images: list[Image] = []
        self.stopped = STOPPED
        """What the model is told of a call that was stopped; of one with code, with what it had printed."""

    def definitions(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's function form; the same bytes for the same skills.

        Those of a skill are among them once it is active; what active skills say in ``allowed-tools`` may
        leave some of the others out.

        Raises:
            SkillProblem: An active skill can't be read.
        """
        return self._own_definitions() + [
            _definition(called, tool.description + _hint(tool), deepcopy(dict(tool.parameters)))
            for called, (_, tool, _) in self._skill_tools().items()
        ]

    async def run(self, call: ToolCall) -> ToolResult:
        """Does what the model called for; a call that makes no sense is answered too.

        Raises:
            SandboxProblem: There is no sandbox to run the code in.
            ConsentUnavailable: There is nobody to ask whether the code may run.
        """
        skill_tools = self._skill_tools()
        try:
            if call.name in skill_tools:
                skill, tool, executor = skill_tools[call.name]
                return await self._run_code(executor, _skill_code(call, skill, tool, executor))
            arguments = _own_arguments(call, self._own_definitions(), skill_tools)
        except _NoSense as complaint:
            self._emit(CallStarted(call.name))
            self._emit(CallFinished(ok=False, result=str(complaint)))
            return ToolResult(str(complaint))
        if call.name in _LANGUAGES:
            language, key = _LANGUAGES[call.name]
            assert self._router.default is not None
            return await self._run_code(self._router.default, Code(call.name, language, arguments[key]))
        self._emit(CallStarted(call.name, " ".join(arguments.values())))
        try:
            result, ok = self._knowledge(call.name, arguments), True
        except SkillProblem as error:
            result, ok = str(error), False
        self._emit(CallFinished(ok, result))
        return ToolResult(result)

    def _own_definitions(self) -> list[dict[str, Any]]:
        tools = []
        if self._shelf.names:
            name = {"type": "string", "enum": self._shelf.names}
            path = {"type": "string", "description": "As load_skill lists it."}
            tools += [
                _function(LOAD_SKILL, "Get the instructions of a skill and the list of its files.", name=name),
                _function(READ_FILE, "Read one file of a skill.", skill=name, path=path),
            ]
        languages = self._languages()
        if "python" in languages:
            code = {"type": "string", "description": "The code; the value of a last expression is shown."}
            tools.append(_function(RUN_PYTHON, "Run Python; variables are kept from call to call.", code=code))
        if "shell" in languages:
            command = {"type": "string", "description": "For bash."}
            tools.append(_function(RUN_SHELL, "Run a shell command where run_python runs.", command=command))
        return tools

    def _languages(self) -> frozenset[str]:
        """What the model's own code may be written in."""
        offered = frozenset(self._router.default.languages if self._router.default else ())
        active = [parse(self._shelf.open(name).allowed_tools) for name in self._shelf.active]
        if not active or not all(active):  # a skill that says nothing narrows nothing
            return offered
        return offered & frozenset().union(*map(languages, active))

    def _skill_tools(self) -> dict[str, tuple[Skill, SkillTool, Executor]]:
        """The tools of active skills that may run somewhere, by the name that the model calls them by."""
        found: dict[str, tuple[Skill, SkillTool, Executor]] = {}
        for name in self._shelf.active:
            skill = self._shelf.open(name)
            executor = self._router.for_tools_of(self._shelf.entry(name), skill) if skill.tools else None
            if executor is not None:
                found.update({call_name(name, tool.name): (skill, tool, executor) for tool in skill.tools})
        return found

    def _knowledge(self, tool: str, arguments: dict[str, Any]) -> str:
        name = arguments["name" if tool == LOAD_SKILL else "skill"]
        skill = self._shelf.open(name)
        if tool == LOAD_SKILL:
            if not self._shelf.activate(name):
                return f"You have the instructions of '{name}' already; they have not changed."
            return skill_content(skill, self._router.default)
        path = arguments["path"]
        if folder := self._router.default.skill_folder(skill) if self._router.default else "":
            path = path.removeprefix(f"{folder}/")
        content = skill.read(path)
        text = content[:_LONGEST_FILE].decode(errors="replace")
        if path.lower().endswith(".md"):
            text = skill.filled(text, folder)
        if "\0" in text:
            return f"{path} is not text ({len(content):,} bytes)."
        cut = len(content) - _LONGEST_FILE
        return text + (f"\n… {cut:,} bytes left out …" if cut > 0 else "")

    async def _run_code(self, executor: Executor, code: Code) -> ToolResult:
        self._emit(CallStarted(code.tool, "", executor.place, code.language, code.text))
        began = time.monotonic()
        printed: list[str] = []

        def on_output(text: str) -> None:
            printed.append(text)
            self._emit(CallOutput(text))

        done, consent = None, "not needed" if executor.place != "live" else "not given"
        try:
            done, consent = await executor.run(code, self._shelf.in_use(), on_output)
            done = self._kept(done)
        finally:
            stopped = _NOT_BEGUN if consent == "not given" and not printed else _CUT_SHORT
            execution = done or replace(stopped, text=bounded(clean_text("".join(printed)), _LONGEST_PRINTED))
            self.code.append(
                CodeRun(
                    code=code.text,
                    language=code.language,
                    place=executor.place,
                    consent=consent,
                    digest=code.request.digest,
                    outcome=execution.outcome,
                    seconds=execution.seconds or time.monotonic() - began,
                    tool=code.tool,
                    skill=code.skill,
                    changes=execution.changes,
                )
            )
            result = _report(code.tool, execution)
            if done is None or done.outcome == "interrupted":
                self.stopped = result
            self._emit(CallFinished(execution.outcome == "ok", result, execution))
        if execution.outcome == "interrupted":
            await asyncio.sleep(0)  # code that has heard an interrupt is told of first; here it ends the turn
        pictures = (file.image for file in execution.files if file.image is not None)
        return ToolResult(result, (*execution.images, *pictures))

    def _kept(self, execution: Execution) -> Execution:
        kept: list[GeneratedFile] = []
        notes = list(execution.notes)
        for file in execution.files:
            try:
                kept.append(self._keep(file))
            except OSError as error:
                kept.append(file)
                notes.append(f"The file {file.path!r} could not be saved beside the notebook: {error.strerror}.")
        self.files.update((file.path, file) for file in kept)
        self.images += execution.images
        return replace(execution, files=tuple(kept), notes=tuple(notes))


def _hint(tool: SkillTool) -> str:
    return "" if tool.function else " It runs in the skill's folder, so name other files by their absolute paths."


def _function(name: str, description: str, /, **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return _definition(name, description, parameters)


def _definition(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _own_arguments(call: ToolCall, own: Sequence[dict[str, Any]], others: Iterable[str]) -> dict[str, str]:
    """The arguments of a call of one of our own tools, all of them text.

    Raises:
        _NoSense: There is no such tool, or it takes others.
    """
    wanted = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in own}
    if call.name not in wanted:
        names = ", ".join([*wanted, *others]) or "none"
        raise _NoSense(f"Error: there is no tool '{call.name}'. The tools are: {names}.")
    arguments, keys = _json_object(call), wanted[call.name]
    if not all(isinstance(arguments.get(key), str) for key in keys):
        raise _NoSense(f"Error: {call.name} takes the text arguments {', '.join(keys)}. Call it again.")
    return {key: arguments[key] for key in keys}


def _skill_code(call: ToolCall, skill: Skill, tool: SkillTool, executor: Executor) -> Code:
    """What a call of a skill's tool runs.

    Raises:
        _NoSense: Its arguments are not what the tool takes; nothing may run.
    """
    arguments, complaints = tool.checked(_json_object(call))
    if not complaints:
        try:
            code = code_for(skill, tool, arguments, executor.skill_folder(skill), executor.timeout)
        except (ValueError, SkillProblem) as error:
            complaints = [str(error)]
    if complaints:
        raise _NoSense(f"Error: {call.name} did not run. {'; '.join(complaints)}. Call it again.")
    return Code(call.name, "python", code, skill.name, skill.digest)


def _json_object(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
        json.dumps(arguments, ensure_ascii=False).encode()  # half of a surrogate pair is valid JSON, but no text
    except (ValueError, RecursionError) as error:
        raise _NoSense(
            f"Error: the arguments of {call.name} are not valid JSON ({str(error)[:200]}). Call it again."
        ) from None
    if not isinstance(arguments, dict):
        raise _NoSense(f"Error: the arguments of {call.name} are not a JSON object. Call it again.")
    return arguments


def _report(tool: str, execution: Execution) -> str:
    """What the model is told of code that ran: no times, so that the same run gives the same text."""
    parts = [f"{tool}: {execution.outcome}"]
    if execution.text.strip():
        parts.append(execution.text.rstrip())
    if execution.error:
        parts.append(f"Error:\n{execution.error}")
    if execution.images:
        parts.append("Figures shown to the user: " + ", ".join(f"{i.width}x{i.height} px" for i in execution.images))
    if execution.files:
        rows = [f"- {file.path} ({file.mime_type}, {file.size:,} bytes)" for file in execution.files]
        parts.append("Files made, and shown to the user:\n" + "\n".join(first_rows(rows, _MOST_ROWS)))
    if execution.changes:
        rows = [f"{change.happened} {change.name} ({change.from_to})" for change in execution.changes]
        parts.append(f"Variables: {'; '.join(first_rows(rows, _MOST_ROWS))}")
    parts += first_rows(execution.notes, _MOST_ROWS)
    if execution.state_lost:
        parts.append("All variables and files of earlier calls are gone.")
    return "\n\n".join(parts)
