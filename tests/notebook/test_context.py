"""What of the notebook gets into a prompt, and what does not, in a real ipykernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_skills.testing import Call, ScriptedModel, Turn
from tests.context.corpus import PROMPTS
from tests.frontend import Notebook


@pytest.fixture
def asked(notebook: Notebook, model: ScriptedModel) -> Iterator[Notebook]:
    model.add(*[Turn("Ok.")] * 8)
    notebook.use(model)
    return notebook


def prompt_of(model: ScriptedModel, request: int = -1) -> str:
    content = model.requests[request].body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def test_two_hundred_prompts_reach_the_model_byte_for_byte(notebook: Notebook, model: ScriptedModel) -> None:
    assert len(set(PROMPTS)) >= 200
    notebook.use(model)
    for prompt in PROMPTS:
        model.add(Turn("Ok."))
        cell = notebook.run(f"%%ask -n -r off\n{prompt}")
        assert cell.error is None, (prompt, cell.error)
    sent = [request.body["messages"][-1]["content"] for request in model.requests]
    ends = re.compile(r"\r?\n\Z")  # the last line's own; IPython adds one where there is none
    assert sent == [ends.sub("", prompt) for prompt in PROMPTS]


def test_values_stand_where_their_expressions_stood(asked: Notebook, model: ScriptedModel) -> None:
    asked.run(
        "import pandas as pd, numpy as np\ndf = pd.DataFrame({'a': [1, 2, 3]})\nname = 'ä {x}'\ndef f(x):\n    return x"
    )
    asked.run("%%ask -r off\nIs $`name` fit? $`df` {untouched} $`1 + 1`")
    prompt = prompt_of(model)
    assert prompt.startswith("Is ä {x} fit? ")
    assert "3 rows" in prompt
    assert "{untouched} 2" in prompt
    asked.run("%ask -r off What does $`f` do?")
    assert "def f(x):\n    return x" in prompt_of(model)


def test_a_figure_is_a_picture_for_a_model_that_sees(asked: Notebook, model: ScriptedModel) -> None:
    asked.run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.close(fig)")
    cell = asked.run("%%ask -r off\nWhat is $`fig`?")
    assert "not known to take in" in cell.plain
    assert isinstance(model.requests[-1].body["messages"][-1]["content"], str)
    asked.run("%config JupyterSkills.vision = 'yes'")
    asked.run("%%ask -n -r off\nWhat is $`fig`?")
    text, picture = model.requests[-1].body["messages"][-1]["content"][:2]
    assert text["text"].startswith("What is ")
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")


def test_an_object_may_say_what_a_model_should_know_of_it(asked: Notebook, model: ScriptedModel) -> None:
    asked.run("class Probe:\n    def _repr_llm_(self):\n        return 'a probe at 3 K'\nprobe = Probe()")
    asked.run("%%ask -r off\nI have $`probe`.")
    assert prompt_of(model) == "I have a probe at 3 K."


def test_what_can_not_be_evaluated_fails_the_cell_and_nothing_is_sent(asked: Notebook, model: ScriptedModel) -> None:
    cell = asked.run("%%ask -r off\nLook at $`nowhere.at_all`")
    assert cell.error is not None
    assert cell.error[0] == "UsageProblem"
    assert "NameError" in cell.error[1]
    assert not model.requests


def test_no_secret_is_sent(asked: Notebook, model: ScriptedModel, workdir: Path) -> None:
    planted = {
        "environment": "env-5Tq9-value-77",
        "variable": "var!9Kd2-value-88",
        "shaped": "sk-proj-Zk3vB7qLm2Xw9RtYc4NpQ8sVf6Hd1Jg5",
    }
    asked.run(
        f"import os\nos.environ['WEATHER_API_KEY'] = {planted['environment']!r}\npassword = {planted['variable']!r}\n"
        f"settings = {{'api_key': 'dict-Zx81-value-99', 'n': 3}}\nshaped = {planted['shaped']!r}"
    )
    (workdir / "notes.txt").write_text(f"key: {planted['environment']}\n")
    cell = asked.run(
        f"%%ask -r off -a notes.txt --system 'mind {planted['variable']}'\n"
        f"Use {planted['environment']}, $`password`, $`settings` and $`shaped`."
    )
    assert cell.error is None
    sent = json.dumps(model.requests[-1].body)
    assert not [name for name, value in planted.items() if value in sent]
    assert "dict-Zx81" not in sent
    assert "[redacted: WEATHER_API_KEY]" in sent
    assert "WEATHER_API_KEY" in cell.plain, "the user is told"


def test_what_code_prints_of_a_secret_is_not_sent_either(asked: Notebook, model: ScriptedModel) -> None:
    model.requests.clear()
    asked.run("import os\nos.environ['WEATHER_API_KEY'] = 'env-5Tq9-value-77'")
    with ScriptedModel() as other:
        other.add(Turn("", [Call("run_python", {"code": "print(os.environ['WEATHER_API_KEY'])"})]), Turn("Ok."))
        asked.use(other)
        cell = asked.run("%%ask -r live -y\nPrint it")
        assert "env-5Tq9-value-77" in cell.plain, "the user's own screen shows the user's own values"
        assert "env-5Tq9-value-77" not in json.dumps([request.body for request in other.requests])


def test_files_are_attached(asked: Notebook, model: ScriptedModel, workdir: Path) -> None:
    from PIL import Image

    (workdir / "data.csv").write_bytes(b"a,b\r\n1,{x}\n")
    Image.new("RGB", (30, 20), "red").save(workdir / "red.png")
    asked.run("%config JupyterSkills.vision = 'yes'")
    assert asked.run("%%ask -r off -a data.csv -a red.png\nWhat is in these?").error is None
    text, picture = model.requests[-1].body["messages"][-1]["content"]
    assert text["text"].startswith("What is in these?")
    assert "a,b\r\n1,{x}\n" in text["text"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    cell = asked.run("%%ask -r off -a nowhere.txt\nAnd this?")
    assert cell.error is not None
    assert "nowhere.txt" in cell.error[1]


def test_a_dry_run_shows_the_exact_request_and_sends_nothing(asked: Notebook, model: ScriptedModel) -> None:
    asked.run("x = 5")
    cell = asked.run("%%ask --dry-run -r off -o a --system 'Be brief'\nWhat is $`x` + {y}?")
    assert cell.error is None
    assert not model.requests
    shown = json.loads(cell.outputs[0]["text/plain"])
    asked.run("%%ask -r off --system 'Be brief'\nWhat is $`x` + {y}?")
    body = model.requests[0].body
    assert shown["messages"] == body["messages"]
    assert shown["model"] == "openai/scripted"
    assert asked.value("a.finish_reason, a.messages[-1]['content']") == "('dry_run', 'What is 5 + {y}?')"


def test_a_dry_run_shows_no_key(asked: Notebook, model: ScriptedModel) -> None:
    asked.run("%config JupyterSkills.completion_kwargs = {'api_key': 'very-secret-1', 'temperature': 0}")
    cell = asked.run("%%ask --dry-run -r off\nHello")
    assert "very-secret-1" not in cell.plain
    assert '"temperature": 0' in cell.plain


def test_why_adds_up_to_what_the_provider_reported(asked: Notebook, model: ScriptedModel) -> None:
    assert asked.run("%skill why").error is not None
    asked.run("%skill load gif-maker")
    with ScriptedModel() as other:
        other.add(Turn("", [Call("load_skill", {"name": "gif-maker"})], usage=(500, 10)), Turn("Ok.", usage=(800, 5)))
        asked.use(other)
        asked.run("%%ask -r off\nMake one")
    parts = json.loads(asked.run("%skill why --json").stdout)
    assert sum(part["tokens"] for part in parts) == 805
    assert [part["part"] for part in parts if part["skill"] == "gif-maker"] == ["instructions"]
    table = asked.run("%skill why").stdout
    assert "gif-maker" in table
    assert table.splitlines()[-1] == "All requests of that cell: 1,315 tokens."


def test_the_log_has_every_piece_of_code_with_its_consent(asked: Notebook) -> None:
    assert asked.run("%skill log").stdout == "No code has run yet.\n"
    with ScriptedModel() as other:
        other.add(Turn("", [Call("run_python", {"code": "x = 1\nx"}), Call("run_python", {"code": "1 / 0"})]))
        other.add(Turn(status=400, message="no"))
        asked.use(other)
        assert asked.run("%%ask -r live -y\nGo").error is not None
        number = int(asked.value("len(In) - 1")) - 1
    table = asked.run("%skill log").stdout.splitlines()
    assert [("live" in row, "-y" in row) for row in table[1:3]] == [(True, True)] * 2
    assert ["ok" in table[1], "error" in table[2]] == [True, True]
    assert asked.run("%skill log 1").stdout.endswith("\n\nx = 1\nx\n")
    entries = json.loads(asked.run("%skill log --json").stdout)
    assert [(entry["code"], entry["cell"]) for entry in entries] == [("x = 1\nx", number), ("1 / 0", number)]
    assert asked.run("%skill log 7").error is not None


def test_limits_are_shown_and_kept_in_the_answer(asked: Notebook, model: ScriptedModel) -> None:
    with ScriptedModel([Turn("", [Call("fly", {})])] * 9) as other:
        asked.use(other)
        cell = asked.run("%%ask -r off --max-steps 2 -o a\nGo on")
        assert cell.error is None
        assert "--max-steps" in cell.plain
        asked.run("%config JupyterSkills.completion_kwargs = {'input_cost_per_token': 1, 'output_cost_per_token': 1}")
        cell = asked.run("%%ask -n -r off --max-cost 0.01 -o b\nGo on")
        assert "--max-cost" in cell.plain
        other.add(Turn("late", delay=3))
    assert asked.value("a.finish_reason, b.finish_reason, b.cost") == "('max_steps', 'max_cost', None)"


def test_an_answer_that_was_interrupted_or_failed_is_bound_as_far_as_it_came(asked: Notebook) -> None:
    with ScriptedModel([Turn("Looking.", [Call("fly", {})]), Turn("then nothing", piece=5, hold_after=3)]) as other:
        asked.use(other)
        asked.interrupt_when(lambda: len(other.requests) == 2)
        cell = asked.run("%%ask -r off -o a\nGo")
        assert cell.error is not None
        assert cell.error[0] == "AskInterrupted"
        assert "interrupted" in cell.outputs[-1]["text/plain"]
        other.release()
        other.add(Turn("Looking.", [Call("fly", {})]), Turn(status=400))
        assert asked.run("%%ask -r off -o b\nGo").error is not None
        other.add(Turn("Fine."))
        assert asked.run("%%ask -r off\nAnd now?").error is None
    assert asked.value("a.finish_reason, a.text[:8], b.finish_reason, b.text") == repr(
        ("interrupted", "Looking.", "failed", "Looking.")
    )
