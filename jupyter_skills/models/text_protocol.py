"""How tools are described in words, and how a conversation with calls looks in them."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jupyter_skills.models.client import Message, ToolCall
from jupyter_skills.models.fences import Block, fenced
from jupyter_skills.models.messages import accepted_name, function_name, object_in, text_in

_RULES = """\
# Tools

To call a tool, write a code block whose info string is the word tool and the tool's name:

```tool NAME
BODY
```

Then end your reply: the next message brings the results as <tool_result> blocks. Never write a result yourself. \
Several blocks in one reply are several calls, done in order. If a body holds a line of backticks, use a longer \
fence. Other code blocks are shown to the user, and not run.

The tools are:"""

# What stands in the conversation for a body that made no sense; a call that asks for nothing else has no other name.
_UNREAD = "text"


def described(tools: Sequence[Mapping[str, Any]]) -> str:
    """The rules, and each tool."""
    return "\n\n".join([_RULES, *map(_tool, _functions(tools))])


def _functions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that are functions; what else a caller may have put there is the provider's own to do."""
    return [tool["function"] for tool in tools if function_name(tool)]


def _tool(function: Mapping[str, Any]) -> str:
    lines = [f"## {function['name']}"]
    if said := function.get("description"):
        lines.append(said)
    parameters = function.get("parameters") or {}
    if (raw := _raw(parameters)) is None:
        lines.append(f"BODY is a JSON object of this schema: {_schema(parameters)}")
        return "\n".join(lines)
    schema = parameters["properties"][raw]
    choice = ", ".join(map(str, schema.get("enum") or ()))
    words = [f"BODY is the {raw} itself, as it is.", schema.get("description"), f"One of: {choice}." if choice else ""]
    lines.append(" ".join(filter(None, words)))
    if len(parameters["properties"]) > 1:
        lines.append(f"Or a JSON object of this schema: {_schema(parameters)}")
    return "\n".join(lines)


def _schema(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, ensure_ascii=False)


def _raw(parameters: Mapping[str, Any]) -> str | None:
    """The one required string parameter, whose value a body can be."""
    required: list[str] = parameters.get("required") or []
    properties = parameters.get("properties") or {}
    if len(required) != 1 or properties.get(required[0], {}).get("type") != "string":
        return None
    return str(required[0])


def call_of(
    block: Block, name: str, tools: Sequence[Mapping[str, Any]], *, whole: bool
) -> tuple[ToolCall, dict[str, Any]]:
    """A block as a call, and as it stands in the conversation.

    Args:
        block: The block.
        name: What the call is known by.
        tools: The tools on offer.
        whole: Whether it came to its end; what didn't becomes a call whose arguments are no JSON.
    """
    schemas = {function["name"]: function.get("parameters") or {} for function in _functions(tools)}
    parameters = schemas.get(block.name, {})
    given = object_in(block.body)
    raw = _raw(parameters)
    if raw is not None and not (given and raw in given and given.keys() <= parameters["properties"].keys()):
        given = {raw: block.body}
    if whole and given is not None:
        kept = arguments = json.dumps(given, ensure_ascii=False)
    else:
        kept = json.dumps({_UNREAD: block.body}, ensure_ascii=False)
        arguments = block.body if whole else f"{block.body}…"
    function = {"name": accepted_name(block.name), "arguments": kept}
    return ToolCall(name, block.name, arguments), {"id": name, "type": "function", "function": function}


def in_words(messages: Iterable[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The messages without calls and results, which stand in the text instead; each role takes turns.

    Args:
        messages: They are not changed.
        tools: Described after the system message.
    """
    said: list[Message] = []
    names: dict[str, str] = {}
    results = 0
    for message in messages:
        role = message["role"]
        results = results + 1 if role == "tool" else 0
        if role == "tool":
            name = message.get("name") or names.get(message.get("tool_call_id", ""), "")
            _add(said, {"role": "user", "content": _result(results, name, message.get("content"))})
        elif role == "assistant":
            calls = message.get("tool_calls") or ()
            names |= {call["id"]: call["function"]["name"] for call in calls}
            _add(said, _without_calls(message))
        else:
            _add(said, dict(message))
    return _with_description(said, described(tools)) if tools else said


def _without_calls(message: Message) -> Message:
    words = {key: value for key, value in message.items() if key != "tool_calls"}
    blocks = [fenced(call["function"]["name"], _body(call)) for call in message.get("tool_calls") or ()]
    if blocks:
        prose = text_in(message.get("content")).rstrip()
        words["content"] = "\n\n".join([prose, *blocks] if prose else blocks)
    return words


def _body(call: Mapping[str, Any]) -> str:
    """What the model wrote, or would have: the same whatever tools are on offer now."""
    arguments = str(call["function"]["arguments"])
    given = object_in(arguments)
    if given is not None and len(given) == 1 and isinstance(only := next(iter(given.values())), str):
        return only
    return arguments


def _result(number: int, name: str, content: Any) -> str:
    # The content may be a stranger's, who would like to end the result and go on as somebody else.
    text = text_in(content).replace("<tool_result", "&lt;tool_result").replace("</tool_result", "&lt;/tool_result")
    return f'<tool_result call="{number}" tool="{html.escape(name)}">\n{text}\n</tool_result>'


def _add(said: list[Message], message: Message) -> None:
    """Adds a message, to the one before if that is of the same role: many models' templates want them to take turns."""
    if not said or said[-1]["role"] != message["role"] or message["role"] == "system":
        said.append(message)
        return
    said[-1] = {**said[-1], **message, "content": _joined(said[-1].get("content"), message.get("content"))}


def _with_description(said: list[Message], description: str) -> list[Message]:
    if said and said[0]["role"] == "system":
        return [{**said[0], "content": _joined(said[0]["content"], description)}, *said[1:]]
    return [{"role": "system", "content": description}, *said]


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, list) or isinstance(second, list):
        return [*_parts(first), *_parts(second)]
    return "\n\n".join(text for text in (first, second) if text)


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
