"""What the tests of a turn share: a conversation with a scripted model, a skill, a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills import Skill, ask
from jupyter_skills.agent.conversation import Conversation
from jupyter_skills.agent.events import Event
from jupyter_skills.agent.executor import Isolated
from jupyter_skills.agent.router import Router
from jupyter_skills.sandbox.kernel import IsolatedKernel
from jupyter_skills.settings import JupyterSkills
from jupyter_skills.testing import ScriptedModel
from tests.conftest import write_skill


class Talk:
    """One conversation with a scripted model, in one sandbox."""

    def __init__(self, model: ScriptedModel, provider: str = "openai") -> None:
        self.model, self.provider = model, provider
        self.settings = JupyterSkills(api_base=model.url if provider == "openai" else model.root)
        self.conversation = Conversation()
        self.events: list[Event] = []
        self.on_event: Callable[[Event], object] = lambda _: None

    async def ask(self, prompt: str = "Go on", **more: Any) -> Any:
        more = {"run": "off", **more} if "router" not in more else more
        return await ask(
            prompt,
            model=f"{self.provider}/scripted",
            settings=self.settings,
            conversation=self.conversation,
            emit=self._emit,
            **more,
        )

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def sent(self, request: int = -1) -> list[dict[str, Any]]:
        return self.model.requests[request].body["messages"]

    def tools(self, request: int = -1) -> list[str]:
        return [tool["function"]["name"] for tool in self.model.requests[request].body.get("tools", [])]


@pytest.fixture
def talk(model: ScriptedModel) -> Talk:
    return Talk(model)


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = write_skill(tmp_path, "counter", description="Counts <things> & more.", body="Use {baseDir}/count.py.")
    (folder / "count.py").write_text("print('one, two')\n")
    return Skill.from_path(folder)


@pytest.fixture
def isolated(sandbox: IsolatedKernel) -> Router:
    return Router(Isolated(sandbox, 30))
