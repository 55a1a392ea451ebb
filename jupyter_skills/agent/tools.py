"""The tools that a model is offered, and what they do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from jupyter_skills.agent.answer import CodeRun
from jupyter_skills.agent.events import CallFinished, CallOutput, CallStarted, Emit
from jupyter_skills.agent.executor import Code, Executor
from jupyter_skills.agent.prompt import skill_content
from jupyter_skills.approval.request import ApprovalRequest
from jupyter_skills.errors import SkillNotFound, SkillProblem
from jupyter_skills.models.client import ToolCall
from jupyter_skills.sandbox.contract import Execution, GeneratedFile, Image, Language
from jupyter_skills.store.registry import LoadedSkill

LOAD_SKILL, READ_FILE, RUN_PYTHON, RUN_SHELL = "load_skill", "read_skill_file", "run_python", "run_shell"
_LANGUAGES: dict[str, tuple[Language, str]] = {RUN_PYTHON: ("python", "code"), RUN_SHELL: ("shell", "command")}
_LONGEST_FILE = 64 * 1024
_MOST_ROWS = 30
_CUT_SHORT = Execution("error", error="Stopped before it could finish.")

Keep = Callable[[GeneratedFile], GeneratedFile]


class Toolbox:
    """The tools of one turn.

    Args:
        skills: The skills in force.
        executor: Where code runs; None if the model may not run any.
        emit: Told of each call.
        keep: Called with each file that code made; returns it, with ``saved_as`` set if it was saved. An
            ``OSError`` of it is noted, and the file stays in the answer.
    """

    def __init__(
        self, skills: Sequence[LoadedSkill], executor: Executor | None, emit: Emit, keep: Keep = lambda file: file
    ) -> None:
        self._skills = {entry.skill.name: entry.skill for entry in skills}
        self._executor = executor
        self._emit = emit
        self._keep = keep
        self.code: list[CodeRun] = []
        self.files: dict[str, GeneratedFile] = {}
        self.images: list[Image] = []

    def definitions(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's function form; the same bytes for the same skills."""
        tools = []
        if self._skills:
            name = {"type": "string", "enum": list(self._skills)}
            path = {"type": "string", "description": "As load_skill lists it."}
            tools += [
                _function(LOAD_SKILL, "Get the instructions of a skill and the list of its files.", name=name),
                _function(READ_FILE, "Read one file of a skill.", skill=name, path=path),
            ]
        languages = self._executor.languages if self._executor else ()
        if "python" in languages:
            code = {"type": "string", "description": "The code; the value of a last expression is shown."}
            tools.append(_function(RUN_PYTHON, "Run Python; variables are kept from call to call.", code=code))
        if "shell" in languages:
            command = {"type": "string", "description": "For bash."}
            tools.append(_function(RUN_SHELL, "Run a shell command where run_python runs.", command=command))
        return tools

    async def run(self, call: ToolCall) -> str:
        """Does what the model called for.

        Returns:
            What to tell the model, also about a call that makes no sense.

        Raises:
            SandboxProblem: There is no sandbox to run the code in.
            ConsentUnavailable: There is nobody to ask whether the code may run.
        """
        arguments, complaint = _arguments(call, self.definitions())
        if complaint:
            self._emit(CallStarted(call.name))
            self._emit(CallFinished(ok=False, result=complaint))
            return complaint
        if call.name in _LANGUAGES:
            return await self._run_code(call.name, arguments)
        about = " ".join(str(value) for value in arguments.values())
        self._emit(CallStarted(call.name, about))
        try:
            result, ok = self._knowledge(call.name, arguments), True
        except SkillProblem as error:
            result, ok = str(error), False
        self._emit(CallFinished(ok, result))
        return result

    def _knowledge(self, tool: str, arguments: dict[str, Any]) -> str:
        name = str(arguments["name" if tool == LOAD_SKILL else "skill"])
        if name not in self._skills:
            raise SkillNotFound(f"No skill '{name}' is loaded", f"These are: {', '.join(self._skills)}")
        skill = self._skills[name]
        if tool == LOAD_SKILL:
            return skill_content(skill, self._executor)
        content = skill.read(str(arguments["path"]))
        text = content[:_LONGEST_FILE].decode(errors="replace")
        if "\0" in text:
            return f"{arguments['path']} is not text ({len(content):,} bytes)."
        cut = len(content) - _LONGEST_FILE
        return text + (f"\n… {cut:,} bytes left out …" if cut > 0 else "")

    async def _run_code(self, tool: str, arguments: dict[str, Any]) -> str:
        assert self._executor is not None
        language, key = _LANGUAGES[tool]
        code = Code(tool, language, str(arguments[key]))
        self._emit(CallStarted(tool, "", self._executor.place, language, code.text))
        began = time.monotonic()
        execution, consent = _CUT_SHORT, "none yet"
        try:
            execution, consent = await self._executor.run(
                code, self._skills.values(), lambda text: self._emit(CallOutput(text))
            )
            execution = self._kept(execution)
        finally:
            digest = ApprovalRequest(tool, code.text, language).digest
            seconds = execution.seconds or time.monotonic() - began
            place = self._executor.place
            self.code.append(CodeRun(code.text, language, place, consent, digest, execution.outcome, seconds))
            result = _report(tool, execution)
            self._emit(CallFinished(execution.outcome == "ok", result, execution))
        return result

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


def _function(name: str, description: str, /, **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _arguments(call: ToolCall, offered: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with the call, if anything."""
    schema = next((tool["function"] for tool in offered if tool["function"]["name"] == call.name), None)
    if schema is None:
        names = ", ".join(tool["function"]["name"] for tool in offered) or "none"
        return {}, f"Error: there is no tool '{call.name}'. The tools are: {names}."
    try:
        arguments = json.loads(call.arguments or "{}")
        json.dumps(arguments, ensure_ascii=False).encode()  # half of a surrogate pair is valid JSON, but no text
    except (ValueError, RecursionError) as error:
        return {}, f"Error: the arguments of {call.name} are not valid JSON ({str(error)[:200]}). Call it again."
    wanted = schema["parameters"]["required"]
    if not isinstance(arguments, dict) or not all(isinstance(arguments.get(key), str) for key in wanted):
        return {}, f"Error: {call.name} takes the text arguments {', '.join(wanted)}. Call it again."
    return {key: arguments[key] for key in wanted}, ""


def _some(rows: Sequence[str]) -> list[str]:
    more = len(rows) - _MOST_ROWS
    return [*rows[:_MOST_ROWS], *([f"… and {more} more"] if more > 0 else [])]


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
        parts.append("Files made, and shown to the user:\n" + "\n".join(_some(rows)))
    parts += _some(execution.notes)
    if execution.state_lost:
        parts.append("All variables and files of earlier calls are gone.")
    return "\n\n".join(parts)
