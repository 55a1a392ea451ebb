"""Scenarios about the loop of requests, and the code that runs in it."""

from __future__ import annotations

import asyncio
import contextlib
import time

from jupyter_skills.testing import Call, Turn
from tests.litellm_hook.scenarios import (
    calls,
    chat,
    everything,
    expect,
    messages,
    results,
    scenario,
    skill,
    system,
)
from tests.litellm_hook.sides import KEY, TIMEOUT, Side

_SLEEP = 2  # seconds


@scenario(1, "Chat completions never run the code.", "the raw tool call came back, nothing ran", docker=True)
async def chat_completions_never_execute(side: Side) -> None:
    sums = await side.add(skill())
    side.model.add(Turn(calls=[side.code("print(6 * 7)")]), Turn("It is 42."))
    answer = await chat(side, sums)
    expect(len(side.model.requests) == 2, "the raw tool call came back, nothing ran")
    expect(answer.choices[0].message.content == "It is 42.", "the answer is not the model's last")
    expect("42" in results(side.model.requests[1].body)[0], "the model was not told what the code printed")


@scenario(
    3,
    "The requests that follow drop what the caller had set, and the skill with it.",
    "the second request lacks the key, the system's text, the temperature, the skill",
    docker=True,
)
async def follow_up_requests_drop_parameters(side: Side) -> None:
    sums = await side.add(skill(body="Count on the abacus."))
    side.model.add(Turn(calls=[side.use("sums", sums), side.code("print(6 * 7)")]), Turn("It is 42."))
    await messages(side, sums, temperature=0.25, system="Be brief.")
    second = side.model.requests[1]
    there = {
        "the key": second.headers.get("x-api-key") == KEY,
        "the system's text": "Be brief." in system(second.body),
        "the temperature": second.body.get("temperature") == 0.25,
        "the skill": "Count on the abacus." in everything(second.body),
    }
    lacking = [name for name, so in there.items() if not so]
    expect(not lacking, f"the second request lacks {', '.join(lacking)}")


@scenario(3, "A provider's error is swallowed.", "the error was swallowed, the first tool call came back", docker=True)
async def provider_errors_are_swallowed(side: Side) -> None:
    sums = await side.add(skill())
    side.model.add(Turn(calls=[side.code("print(6 * 7)")]), Turn(status=400, message="no such thing"))
    raised = ""
    try:
        await messages(side, sums)
    except Exception as error:  # noqa: BLE001 -- which of litellm's it is, is not what this is about
        raised = str(error)
    expect("no such thing" in raised, "the error was swallowed, the first tool call came back")


@scenario(
    5,
    "The files of all skills are merged into one folder.",
    "one skill's file overwrote the other's",
    docker=True,
)
async def files_of_skills_are_merged(side: Side) -> None:
    ids = [
        await side.add(skill(name, files={"helper.py": f"WHOSE = '{name}'"}), title=name)
        for name in ("sums", "products")
    ]
    code = f"""
import pathlib
print([path.read_text() for path in pathlib.Path("{side.skills_folder}").rglob("helper.py")])
"""
    side.model.add(Turn(calls=[*side.opened("sums", "products"), side.code(code)]), Turn("Two helpers."))
    await messages(side, *ids)
    printed = results(side.model.requests[1].body)[-1]
    expect("WHOSE" in printed, "no skill's file was there")
    expect("'sums'" in printed and "'products'" in printed, "one skill's file overwrote the other's")


@scenario(
    6,
    "To use a skill runs a module of it that is guessed by its path.",
    "the classes of a guessed module were instantiated",
    docker=True,
)
async def a_guessed_module_runs(side: Side) -> None:
    builder = "class Cleaner:\n    def create(self):\n        print('all was cleaned away')\n"
    sums = await side.add(skill(body="Read the table first.", files={"core/table_builder.py": builder}))
    side.model.add(Turn(calls=[side.use("sums", sums)]), Turn("I will."))
    await messages(side, sums)
    told = results(side.model.requests[1].body)[0]
    expect("all was cleaned away" not in told, "the classes of a guessed module were instantiated")
    expect("Read the table first." in told, "the model was not told the instructions")


@scenario(
    8, "The caller's own tools are answered in the caller's place.", "the model was told 'not handled'", docker=True
)
async def client_tools_are_not_returned(side: Side) -> None:
    sums = await side.add(skill())
    weather = {"name": "weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {}}}
    side.model.add(Turn(calls=[side.code("print(6 * 7)"), Call("weather", {})]), Turn("I can't know."))
    answer = await messages(side, sums, tools=[weather])
    told = results(side.model.requests[-1].body)
    expect(not any("not handled" in result for result in told), "the model was told 'not handled'")
    expect(calls(answer) == ["weather"], "the caller's call did not come back")
    expect(answer["stop_reason"] == "tool_use", "the caller is not told to answer")


@scenario(
    9, "Steps used up are not told, and leave a tool call open.", "an open tool call, no flag", docker=True, steps=1
)
async def exhaustion_is_not_flagged(side: Side) -> None:
    sums = await side.add(skill())
    side.model.add(*[Turn("Once more.", calls=[side.code("print(6 * 7)")]) for _ in range(4)])
    answer = await messages(side, sums)
    expect(not calls(answer), "an open tool call, no flag")
    expect(answer["stop_reason"] == "pause_turn", "no flag")


@scenario(10, "A time limit is stored, and never kept.", "code ran twice as long as it may", docker=True)
async def time_limits_are_not_kept(side: Side) -> None:
    sums = await side.add(skill())
    code = f"import time; time.sleep({2 * TIMEOUT}); print('slept' + 'well')"
    side.model.add(Turn(calls=[side.code(code)]), Turn("Done."))
    await messages(side, sums)
    expect("sleptwell" not in results(side.model.requests[1].body)[0], "code ran twice as long as it may")


@scenario(10, "Code blocks the event loop.", "the event loop stood still while the code ran", docker=True)
async def code_blocks_the_event_loop(side: Side) -> None:
    sums = await side.add(skill())
    side.model.add(Turn(calls=[side.code(f"import time; time.sleep({_SLEEP})")]), Turn("Done."))
    longest = 0.0

    async def ticking() -> None:
        nonlocal longest
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.02)  # what is measured is how much longer it takes
            longest = max(longest, time.monotonic() - began)

    ticks = asyncio.create_task(ticking())
    await messages(side, sums)
    ticks.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ticks
    expect(longest < _SLEEP / 2, "the event loop stood still while the code ran")


@scenario(10, "Each call of code starts anew.", "variables, files were gone at the second call", docker=True)
async def state_is_lost(side: Side) -> None:
    sums = await side.add(skill())
    writing = "six = 6; open('sum.txt', 'w').write('42')"
    looking = "import os; print([name for name, so in "
    looking += "(('variables', 'six' in globals()), ('files', os.path.exists('sum.txt'))) if not so])"
    side.model.add(Turn(calls=[side.code(writing)]), Turn(calls=[side.code(looking)]), Turn("It is 42."))
    await messages(side, sums)
    told = results(side.model.requests[2].body)[1]
    gone = [name for name in ("variables", "files") if name in told]
    expect(not gone, f"{', '.join(gone)} were gone at the second call")
    expect("[]" in told, "the second call did not print")


@scenario(10, "Code has a network.", "the sandbox has a network", docker=True)
async def the_sandbox_has_a_network(side: Side) -> None:
    sums = await side.add(skill())
    code = "import socket; print(sorted(name for _, name in socket.if_nameindex() if name != 'lo'))"
    side.model.add(Turn(calls=[side.code(code)]), Turn("None."))
    await messages(side, sums)
    printed = results(side.model.requests[1].body)[0]
    expect("eth0" not in printed, "the sandbox has a network")
    expect("[]" in printed, "the code did not print")


@scenario(11, "Most kinds of files don't come back.", "docx, html, svg, txt were dropped", docker=True)
async def most_file_types_are_dropped(side: Side) -> None:
    sums = await side.add(skill())
    names = ("sums.csv", "sums.docx", "sums.html", "sums.svg", "sums.txt")
    side.model.add(Turn(calls=[side.code(f"for name in {names}: open(name, 'w').write('42')")]), Turn("There."))
    answer = await messages(side, sums)
    got = {file["name"] for file in answer["_litellm_generated_files"]}
    lost = [name.partition(".")[2] for name in names if name not in got]
    expect(not lost, f"{', '.join(lost)} were dropped")


@scenario(11, "Only Python runs.", "no tool for the shell was offered")
async def only_python_runs(side: Side) -> None:
    sums = await side.add(skill())
    side.model.add(Turn("42."))
    await messages(side, sums)
    tools = [tool["name"] for tool in side.model.requests[0].body["tools"]]
    expect("run_shell" in tools, "no tool for the shell was offered")


@scenario(11, "Files of one name can't be told apart.", "two files 'sums.csv', no path", docker=True)
async def file_names_collide(side: Side) -> None:
    sums = await side.add(skill())
    code = "import os\nfor at in 'ab': os.mkdir(at); open(f'{at}/sums.csv', 'w').write(at)"
    side.model.add(Turn(calls=[side.code(code)]), Turn("There."))
    answer = await messages(side, sums)
    files = [file for file in answer["_litellm_generated_files"] if file["name"].endswith("sums.csv")]
    paths = {file.get("path") for file in files}
    expect(len(files) == 2, f"{len(files)} of two files came back")
    expect(paths != {None}, "two files 'sums.csv', no path")
    expect(len(paths) == 2, "two files of one path")
