"""Skills in litellm's calls: ours, and LiteLLM's own hook, handler and executor on the same work.

Both ask the same scripted server and run code from the same image; the figures are ratios of medians. Run it on an idle
machine that has litellm[proxy] and llm-sandbox, as the tests need them too:

    .venv/bin/python benchmarks/litellm_hook.py

It takes ten minutes, needs a Docker engine with the sandbox image, and exits with status 0 whatever it finds.
``--rounds 1`` asks for code once, to see whether it works; ``--only code``, ``prompt`` or ``plain`` does a part.

LiteLLM's handler can't be told an image, a command or limits, so llm-sandbox's session gets them as its defaults. It is
measured twice. As it comes, each code call gets a container in which llm-sandbox makes a virtual environment and
renews its pip, for which an index must be in reach; the call then ends with the ten seconds that the engine waits for
Python to stop. At its best there is no environment, no network, and an init process, which stops at once.

The skill's text is in the first prompt of theirs; with ours the model has to load the skill, which is one request more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import looks for one in the network

import litellm
from litellm.caching.caching import DualCache
from litellm.integrations.custom_logger import CustomLogger
from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
from litellm.proxy._types import LiteLLM_SkillsTable, UserAPIKeyAuth
from litellm.proxy.hooks.litellm_skills.main import SkillsInjectionHook
from measuring import Row, judged, machine, run, show, spread
from store import OBJECTS, PARAGRAPH, SUBJECTS, VERBS, script, skill_of

from jupyter_skills import Skill, install_litellm_hook, remove_litellm_hook
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.store.store import SkillStore
from jupyter_skills.testing import Call, Exchange, ScriptedModel, Turn

# The scripted server answers in their names; their contexts bound our list of skills.
MODEL, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
SHAPES = ("OpenAI's", "Anthropic's")
USER = "ann"
SKILLS, SKILL_BYTES = 50, 6_000
PLAIN_CALLS, PAIRS, WARM_UP = 20_000, 400, 50

MOST_OF_THEIRS = 1.0
MOST_FOR_PLAIN = 0.2  # ms

NAME = "totals"
TABLE = "plot,kilograms\n" + "".join(f"{number},{number % 7}\n" for number in range(200))
INSTRUCTIONS = (
    "# Totals\n\nRead `table.csv` of the skill with the csv module, and write what is asked for to `totals.csv`.\n"
)
READ = """\
import csv
rows = list(csv.DictReader(open('{folder}/table.csv')))
weights = [int(row['kilograms']) for row in rows]
"""
# Theirs keep no state, so that each piece begins anew.
PIECES = {
    "print('rows', len(rows))": "rows 200",
    "print('sum', sum(weights))": "sum 594",
    "print('most', max(weights))": "most 6",
    "print('mean', sum(weights) / len(weights))": "mean 2.97",
    "open('totals.csv', 'w').write(f'sum\\n{{sum(weights)}}\\n')\nprint('written')": "written",
}

OURS = """
import asyncio, json, time
import litellm
began = time.perf_counter()

async def request():
    response = await litellm.acompletion(
        model={model!r}, api_base={url!r}, api_key="none", messages=[{{"role": "user", "content": "Totals, ours"}}],
        container={{"skills": [{{"type": "custom", "skill_id": "litellm:{name}"}}]}},
    )
    return response.choices[0].message.content, [file["name"] for file in response._litellm_generated_files]

async def main():
    global began
    from jupyter_skills import install_litellm_hook
    from jupyter_skills.store.store import SkillStore
    install_litellm_hook(store=SkillStore({store!r}, user={user!r}))
    report = []
    for _ in range(2):
        text, files = await request()
        report.append({{"seconds": time.perf_counter() - began, "stopping": 0, "text": text, "files": files}})
        began = time.perf_counter()
    print(json.dumps(report))

asyncio.run(main())
"""
THEIRS = """
import asyncio, json, time
import litellm
began = time.perf_counter()
import llm_sandbox

open_session, stopping = llm_sandbox.SandboxSession, []

def session(**given):
    opened = open_session(**given, **{defaults!r})
    close = opened.close
    def timed():
        stops = time.perf_counter()
        close()
        stopping.append(time.perf_counter() - stops)
    opened.close = timed
    return opened

llm_sandbox.SandboxSession = session

async def main():
    global began
    from litellm.llms.litellm_proxy.skills.code_execution import CodeExecutionHandler, get_litellm_code_execution_tool
    report = []
    for _ in range(2):
        done = await CodeExecutionHandler().execute_with_code_execution(
            model={model!r}, api_base={url!r}, api_key="none", tools=[get_litellm_code_execution_tool()],
            messages=[{{"role": "system", "content": {manifest!r}}}, {{"role": "user", "content": "Totals, theirs"}}],
            skill_files={{"SKILL.md": {manifest!r}.encode(), "table.csv": {table!r}.encode()}},
        )
        text, files = done["response"].choices[0].message.content, [file["name"] for file in done["files"]]
        seconds = time.perf_counter() - began
        report.append({{"seconds": seconds, "stopping": sum(stopping), "text": text, "files": files}})
        stopping.clear()
        began = time.perf_counter()
    print(json.dumps(report))

asyncio.run(main())
"""
AS_IT_COMES = {"image": DockerSandbox().image, "runtime_configs": {"command": ["python3"]}}
AT_ITS_BEST = {
    "image": DockerSandbox().image,
    "runtime_configs": {"command": ["python3"], "init": True, "network_mode": "none"},
    "skip_environment_setup": True,
}


async def main() -> None:
    """Measures everything and prints the table."""
    print(f"{machine('litellm', engine=True)}\n")
    rows: list[Row] = [("figure", "measured", "bound", "holds")]
    with tempfile.TemporaryDirectory() as folder:
        async with SkillStore(f"sqlite:///{folder}/skills.db", user=USER) as store:
            for part, measured in {"code": code_calls, "prompt": prompts, "plain": plain_requests}.items():
                if ARGUMENTS.only in ("", part):
                    rows += await measured(store)
    show(rows)


async def code_calls(store: SkillStore) -> list[Row]:
    """One request with five code calls, in a process of its own, and the same once more in that process.

    The first one's time is without the import of litellm, and with all that ours or theirs imports beyond it.
    """
    skill = skill_of(NAME, "Totals of a table of plots.", INSTRUCTIONS, {"table.csv": TABLE})
    await store.create(skill)
    ways = {"ours": OURS, "at its best": THEIRS, "as it comes": THEIRS}
    defaults = {"at its best": AT_ITS_BEST, "as it comes": AS_IT_COMES}
    took: dict[str, list[list[dict[str, Any]]]] = {way: [] for way in ways}
    with ScriptedModel([_asked("ours"), _asked("theirs")]) as model:
        filled = {
            "model": MODEL, "url": model.url, "store": store.url, "user": USER, "name": NAME,
            "manifest": skill.read("SKILL.md").decode(), "table": TABLE,
        }  # fmt: skip
        for number in range(ARGUMENTS.rounds):
            for way, program in list(ways.items())[:: -1 if number % 2 else 1]:
                print(f"  at: {way}", file=sys.stderr, flush=True)
                code = program.format(**filled, defaults=defaults.get(way))
                took[way].append(await asyncio.to_thread(_reported, code))
                _check(took[way][-1], model)
    rows: list[Row] = []
    for at, title in enumerate(("first of a process", "second")):
        seconds = {way: [report[at]["seconds"] for report in reports] for way, reports in took.items()}
        ours = statistics.median(seconds["ours"])
        rows.append((f"a request with five code calls, {title}: ours", _range(seconds["ours"]), "", ""))
        for way in defaults:
            stopping = statistics.median(report[at]["stopping"] for report in took[way])
            ratio = ours / statistics.median(seconds[way])
            rows.append((f"  LiteLLM's, {way}", f"{_range(seconds[way])}, {stopping:.1f} s of it stopping", "", ""))
            rows.append(judged("    ours / LiteLLM's", f"{ratio:.3f} (1 / {1 / ratio:.1f})", ratio, MOST_OF_THEIRS))
    extra = sorted({name for way in defaults for report in took[way] for name in report[0]["files"]} - {"totals.csv"})
    if extra:
        rows.append(("  files that LiteLLM's gives back beside what the code wrote", ", ".join(extra), "", ""))
    return rows


def _asked(whose: str) -> Exchange:
    tool, folder = ("run_python", f"/skills/{NAME}") if whose == "ours" else ("litellm_code_execution", "/sandbox")
    turns = [Turn(calls=[Call(tool, {"code": (READ + piece).format(folder=folder)})]) for piece in PIECES]
    loads = [Turn(calls=[Call("load_skill", {"name": NAME})])] if whose == "ours" else []
    return Exchange(f"Totals, {whose}", [*loads, *turns, Turn("Done.")])


def _reported(code: str) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    report: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return report


def _check(report: list[dict[str, Any]], model: ScriptedModel) -> None:
    """That all code has run and the answer is whole; else the times mean nothing."""
    for request in report:
        assert request["text"] == "Done.", request
        assert "totals.csv" in request["files"], request
    results = [message["content"] for message in model.requests[-1].body["messages"] if message["role"] == "tool"]
    for expected, result in zip(PIECES.values(), results[-len(PIECES) :], strict=True):
        assert expected in result, result


async def prompts(store: SkillStore) -> list[Row]:
    """The first request with many skills, in bytes, as the server gets it."""
    skills = [_skill(number) for number in range(SKILLS)]
    for skill in skills:
        await store.create(skill)
    rows: list[Row] = []
    with ScriptedModel([Exchange("Which of them", [Turn("None.")])]) as model:
        for shape in SHAPES:
            theirs, _ = await _sent(model, shape, await _prepared_by_litellm(shape, skills))
            install_litellm_hook(store=store)
            ours, text = await _sent(model, shape, {"container": _container("litellm:", [one.name for one in skills])})
            remove_litellm_hook()
            without, _ = await _sent(model, shape, {})
            ratio = ours / theirs
            whole = sum(skill.description in text for skill in skills)
            rows += [
                (f"first request with {SKILLS} skills, {shape} shape: ours", f"{ours:,} bytes", "", ""),
                ("  skills whose description is in it whole", str(whole), "", ""),
                ("  LiteLLM's", f"{theirs:,} bytes; without skills it is {without:,}", "", ""),
                judged("    ours / LiteLLM's", f"{ratio:.3f} (1 / {1 / ratio:.1f})", ratio, MOST_OF_THEIRS),
            ]
    return rows


async def _sent(model: ScriptedModel, shape: str, more: dict[str, Any]) -> tuple[int, str]:
    """How many bytes the server gets of one request, and all of its text."""
    before = len(model.requests)
    request = {"messages": [{"role": "user", "content": "Which of them fits?"}], "api_key": "none", **more}
    if shape == "OpenAI's":
        await litellm.acompletion(model=MODEL, api_base=model.url, **request)
    else:
        await litellm.anthropic.messages.acreate(model=CLAUDE, api_base=model.root, max_tokens=1000, **request)
    (received,) = model.requests[before:]
    return int(received.headers["content-length"]), json.dumps(received.body, ensure_ascii=False)


async def _prepared_by_litellm(shape: str, skills: Sequence[Skill]) -> dict[str, Any]:
    """What LiteLLM's hook makes of a request in its proxy, its database replaced by a dictionary.

    A row is what an upload leaves there: a title and the archive, neither description nor instructions.
    """
    rows = {
        f"litellm_skill_{number}": LiteLLM_SkillsTable(
            skill_id=f"litellm_skill_{number}", display_title=skill.name, file_content=skill.to_zip()
        )
        for number, skill in enumerate(skills)
    }

    class Hook(SkillsInjectionHook):
        async def _fetch_skill_from_db(self, skill_id: str, user_api_key_dict: Any) -> LiteLLM_SkillsTable | None:
            return rows.get(skill_id)

    data = {"messages": [{"role": "user", "content": "Which of them fits?"}], "container": _container("", list(rows))}
    kind = "acompletion" if shape == "OpenAI's" else "anthropic_messages"
    done: Any = await Hook().async_pre_call_hook(UserAPIKeyAuth(), DualCache(), data, kind)  # type: ignore[arg-type]
    del done["litellm_metadata"]  # the files, which stay with the proxy
    return dict(done)


def _container(prefix: str, names: Sequence[str]) -> dict[str, Any]:
    return {"skills": [{"type": "custom", "skill_id": f"{prefix}{name}", "version": "latest"} for name in names]}


def _skill(number: int) -> Skill:
    """A skill as people write them: when to use it, some pages of instructions, a script."""
    chance = random.Random(number)
    subject, verb, thing = (chance.choice(words) for words in (SUBJECTS, VERBS, OBJECTS))
    name = f"{subject}-{verb}-{number}"
    described = (
        f"{verb.title()} {thing} of {subject} and writes a short report on them with a table and a figure. Use it when "
        f"the user has {subject}, names a file of them, or asks which {thing} are missing."
    )
    body = f"# {verb.title()} {thing}\n"
    while len(body) < SKILL_BYTES:
        steps = "".join(f"{step}. {PARAGRAPH.partition('. ')[0]} ({chance.choice(OBJECTS)}).\n" for step in range(1, 4))
        body += f"\n## When it {chance.choice(VERBS)} {chance.choice(OBJECTS)}\n\n{PARAGRAPH}\n\n{steps}"
    return skill_of(name, described, body, {"scripts/run.py": script(number)})


async def plain_requests(store: SkillStore) -> list[Row]:
    """What a request without skills pays for the hook: what runs of it alone, and whole calls with it and without."""
    install_litellm_hook(store=store)
    hook = litellm.callbacks[-1]
    witness = _Witness()
    litellm.callbacks.append(witness)
    await _plain(mock_response="Hello.")
    litellm.callbacks.remove(witness)
    kwargs, kind = witness.seen
    key, cache, data = UserAPIKeyAuth(), DualCache(), {"model": MODEL, "messages": kwargs["messages"]}
    alone = {
        "in litellm": lambda: hook.async_pre_call_deployment_hook(kwargs, kind),
        "in a proxy, besides": lambda: hook.async_pre_call_hook(key, cache, data, "acompletion"),
    }
    rows: list[Row] = []
    for where, work in alone.items():
        each = await _each(work)
        rows.append(
            judged(
                f"a request without skills, the hook's own share {where}", f"{each:.4f} ms", each, MOST_FOR_PLAIN, "ms"
            )
        )
    remove_litellm_hook()
    with ScriptedModel([Exchange("Hi", [Turn("Hello.")])]) as model:
        mocked, asked = {"mock_response": "Hello."}, {"api_base": model.url, "api_key": "none"}
        rows += await _pairs(
            "acompletion, answered by litellm itself", store, lambda: _plain(**mocked), bound=MOST_FOR_PLAIN
        )
        rows += await _pairs(
            "completion, answered by litellm itself", store, lambda: _plain_sync(**mocked), bound=MOST_FOR_PLAIN
        )
        rows += await _pairs("acompletion, answered by the scripted server", store, lambda: _plain(**asked))
    return rows


class _Witness(CustomLogger):
    """Keeps what litellm hands to a hook."""

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> None:
        self.seen = kwargs, call_type


async def _plain(**more: Any) -> None:
    await litellm.acompletion(model=MODEL, messages=[{"role": "user", "content": "Hi"}], **more)


async def _plain_sync(**more: Any) -> None:
    litellm.completion(model=MODEL, messages=[{"role": "user", "content": "Hi"}], **more)


async def _each(work: Callable[[], Awaitable[Any]]) -> float:
    """How many milliseconds one of many calls takes."""
    began = time.perf_counter()
    for _ in range(PLAIN_CALLS):
        await work()
    return (time.perf_counter() - began) * 1000 / PLAIN_CALLS


async def _pairs(
    what: str, store: SkillStore, work: Callable[[], Awaitable[None]], bound: float | None = None
) -> list[Row]:
    """Whole calls in turn, with the hook and without; what litellm logs after an answer is awaited between them."""
    took: dict[bool, list[float]] = {True: [], False: []}
    spent: dict[bool, list[float]] = {True: [], False: []}
    for number in range(WARM_UP + PAIRS):
        for installed in (True, False) if number % 2 else (False, True):
            if installed:
                install_litellm_hook(store=store)
            processor, wall = time.process_time(), time.perf_counter()
            await work()
            took[installed].append((time.perf_counter() - wall) * 1000)
            await GLOBAL_LOGGING_WORKER.flush()
            spent[installed].append((time.process_time() - processor) * 1000)
            remove_litellm_hook()
    rows: list[Row] = [
        (f"  {what}: with the hook", spread(took[True][WARM_UP:]), "", ""),
        ("    without", spread(took[False][WARM_UP:]), "", ""),
    ]
    for title, times in (("", took), (" of processor time, with what litellm logs", spent)):
        pairs = list(zip(times[True], times[False], strict=True))[WARM_UP:]
        difference = statistics.median(with_it - without for with_it, without in pairs)
        figure = f"    difference{title}, median of the pairs", f"{difference:.4f} ms"
        rows.append((*figure, "", "") if bound is None else judged(*figure, difference, bound, "ms"))
    return rows


def _range(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often five code calls are measured (%(default)s)")
    parser.add_argument("--only", choices=("code", "prompt", "plain"), default="", help="measure only this")
    ARGUMENTS = parser.parse_args()
    run(main)
