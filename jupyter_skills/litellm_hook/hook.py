"""litellm's callback: sees each request before it is sent, and takes up those with skills of ours."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from jupyter_skills.agent.served import checked
from jupyter_skills.errors import UsageProblem
from jupyter_skills.litellm_hook import MOST_SANDBOXES
from jupyter_skills.litellm_hook import container as containers
from jupyter_skills.litellm_hook.container import KNOWS_SKILLS, Container
from jupyter_skills.litellm_hook.failures import raised_as_litellms
from jupyter_skills.litellm_hook.logs import for_requests, own_metadata
from jupyter_skills.litellm_hook.lookup import skills_for
from jupyter_skills.litellm_hook.pending import PENDING, PROVIDER, PendingCall
from jupyter_skills.litellm_hook.registration import register
from jupyter_skills.litellm_hook.sandboxes import Sandboxes
from jupyter_skills.models.litellm_import import import_now, provider_of
from jupyter_skills.sandbox.settings import DockerSandbox
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.store import SkillStore

_CHAT, _MESSAGES = "acompletion", "anthropic_messages"

# What a pending call has a field for, and what belongs to the call rather than to its requests.
_OF_THE_CALL = {
    *("model", "messages", "tools", "stream", "stream_options", "timeout", "request_timeout", "container"),
    *("litellm_logging_obj", "litellm_call_id", "complete_response"),
}
# What each request is to have, and the call that they belong to is not.
_OF_THE_REQUESTS = {
    *("tools", "container", "num_retries", "max_retries", "fallbacks", "context_window_fallback_dict"),
    *("mock_response", "mock_tool_calls"),
}


class Resolved(dict[str, Any]):
    """A ``container`` whose skills were looked up for whoever asks; no JSON of a client's can be one.

    Its entries are those that are not ours: LiteLLM's own hook, which a proxy always has, looks at them too.

    Args:
        asked: What the client asks for.
        skills: The skills of ours.
    """

    def __init__(self, asked: Container, skills: tuple[Skill, ...]) -> None:
        super().__init__(asked.native or {})
        self.asked = asked
        self.skills = skills


class SkillsHook(CustomLogger):
    """Puts skills before models in litellm's own calls. Registered by ``install_litellm_hook``, or by a proxy.

    Args:
        store: See ``install_litellm_hook``.
        user: See there.
        max_steps: See there.
        max_cost: See there.
        sandbox: See there.
        most_sandboxes: See there.
    """

    def __init__(
        self,
        store: SkillStore | None = None,
        user: str | None = None,
        max_steps: int | None = None,
        max_cost: float | None = None,
        sandbox: DockerSandbox | None = None,
        most_sandboxes: int = MOST_SANDBOXES,
    ) -> None:
        super().__init__()
        _check("max_steps", max_steps, 1)
        _check("max_cost", max_cost, 0)
        _check("most_sandboxes", most_sandboxes, 1)
        self._sandboxes = Sandboxes(sandbox, most_sandboxes)
        self._store = store if user is None else (store or SkillStore()).for_user(user)
        self._steps = max_steps
        self._cost = max_cost

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any] | None:
        """Called by a proxy for each request, once it knows whose it is; looks the skills up as that user.

        Raises:
            litellm.BadRequestError: What is asked for can't be had.
        """
        if not data.get("container"):
            return None
        model = str(data.get("model") or "")
        with raised_as_litellms(model):
            asked = containers.read(data["container"])
            if asked is None or not asked.ours:
                return None
            store = (self._store or SkillStore()).for_user(_owner(user_api_key_dict))
            skills = await skills_for(asked.ours, store, discovers=False)
        return {**data, "container": Resolved(asked, skills)}

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Called by litellm for each async call, before anything is sent; None leaves it alone.

        Raises:
            litellm.BadRequestError: What is asked for can't be had.
        """
        container = kwargs.get("container")
        if not container and not isinstance(container, Resolved):
            return None
        call = kwargs.get("litellm_logging_obj")
        model = str(kwargs.get("model") or getattr(call, "model", ""))
        with raised_as_litellms(model):
            if call is None:
                raise UsageProblem("This release of litellm tells its hooks too little", "Update it to 1.103 or newer")
            asked = container.asked if isinstance(container, Resolved) else containers.read(container)
            if asked is None:
                return None
            provider = provider_of(model, kwargs)
            asked.check_native(model, provider)
            if not asked.ours:
                return None
            kind = getattr(call_type, "value", call_type)
            if kind not in (_CHAT, _MESSAGES):
                raise UsageProblem(f"Skills can't be used in calls of '{kind}'", "Use chat completions or messages")
            if isinstance(container, Resolved):
                skills = container.skills
            elif kwargs.get("proxy_server_request"):
                raise UsageProblem("The proxy did not say whose skills are meant", "Name the hook in its callbacks")
            else:
                skills = await skills_for(asked.ours, self._store, discovers=True)
            pending = self._pending(kwargs, model, provider, asked, skills)
            checked(pending.messages, pending.arguments)
        register()
        PENDING.note(call, pending)
        return {
            **{name: value for name, value in kwargs.items() if name not in _OF_THE_REQUESTS},
            **own_metadata(kwargs),
            "custom_llm_provider": PROVIDER,
            "num_retries": 0,  # each request is tried again as the caller wants, and not all of them
            "drop_params": True,  # those of the real provider, which gets them all
            "cache": {"no-cache": True, "no-store": True},  # its key knows nothing of skills
        }

    def _pending(
        self, kwargs: Mapping[str, Any], model: str, provider: str, asked: Container, skills: tuple[Skill, ...]
    ) -> PendingCall:
        arguments = {name: value for name, value in kwargs.items() if name not in _OF_THE_CALL}
        if asked.native and provider in KNOWS_SKILLS:
            arguments["container"] = asked.native
        if "num_retries" not in arguments:
            arguments.setdefault("max_retries", 2)  # as litellm itself has it
        return PendingCall(
            model=model,
            provider=provider,
            messages=kwargs.get("messages") or kwargs["litellm_logging_obj"].messages or (),
            tools=kwargs.get("tools") or (),
            stream=bool(kwargs.get("stream")),
            timeout=_seconds(kwargs.get("timeout") or kwargs.get("request_timeout")),
            arguments=for_requests(arguments),
            skills=skills,
            steps=self._steps,
            cost=self._cost,
            isolated=self._sandboxes.isolated,
        )


def _owner(key: Any) -> str:
    """Whose skills a proxy's client means: its user's, else its team's, else those of its key."""
    for kind in ("user_id", "team_id", "api_key"):
        if value := getattr(key, kind, None):
            return str(value) if kind == "user_id" else f"{kind}:{value}"
    return "nobody of the proxy's"


def _seconds(timeout: Any) -> float:
    """A time limit in any of the forms that litellm takes, in seconds."""
    given = getattr(timeout, "read", timeout)
    with suppress(TypeError, ValueError):
        return float(given)
    return float(import_now().request_timeout)


def _check(name: str, value: Any, least: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < least):
        raise UsageProblem(f"'{name}' is {value!r}", f"Give a number from {least} on, or leave it out")
