"""A real LiteLLM proxy process in front of the scripted model, with the hook as a callback in its configuration."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import httpx
from anthropic import Anthropic
from openai import OpenAI

from jupyter_skills.testing import ScriptedModel
from tests.conftest import until

HOOK = "jupyter_skills.litellm_hook.skills_hook"

STARTS_WITHIN = 90.0  # seconds
_ENDS_WITHIN = 30.0
_ANSWERS_WITHIN = 120.0

# Who a key belongs to. The proxy keeps keys in a database of its own; without one it asks such a module.
_AUTH = """
from litellm.proxy._types import ProxyException, UserAPIKeyAuth

KEYS = {keys!r}

async def user_api_key_auth(request, api_key):
    if api_key not in KEYS:
        raise ProxyException("Whose key is that?", type="auth_error", param="key", code=401)
    return UserAPIKeyAuth(api_key=api_key, **KEYS[api_key])
"""

# Another callback: a line of JSON for each call that it is told of.
LISTENER = "listener.listener"
_LISTENER = """
import json
from litellm.integrations.custom_logger import CustomLogger

class Listener(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        told = kwargs["standard_logging_object"]
        facts = {{"user": told["metadata"]["user_api_key_user_id"], "provider": told["custom_llm_provider"]}}
        tokens = [told["prompt_tokens"], told["completion_tokens"]]
        with open({file!r}, "a") as lines:
            lines.write(json.dumps({{**facts, "tokens": tokens, "prompt": told["messages"][-1]["content"]}}) + "\\n")

listener = Listener()
"""


class Proxy:
    """A proxy on a free port of this machine, with the models ``chat`` (OpenAI's shape) and ``claude`` (Anthropic's).

    Args:
        folder: Its home and working folder; for its configuration too.
        model: What answers in the providers' place.
        keys: The keys that it takes; for each what litellm is to know of who has it.
        callbacks: What its configuration names as its callback, or as several.
        environment: What else it finds in its environment.
    """

    def __init__(
        self,
        folder: Path,
        model: ScriptedModel,
        keys: Mapping[str, Mapping[str, str]],
        *,
        callbacks: str | Sequence[str] = HOOK,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._log = folder / "proxy.log"
        self._read = 0
        self._environment = {**_plain_environment(folder), **(environment or {})}
        (folder / "proxy_keys.py").write_text(_AUTH.format(keys={key: dict(who) for key, who in keys.items()}))
        self._told = folder / "told.jsonl"
        (folder / "listener.py").write_text(_LISTENER.format(file=str(self._told)))
        # JSON is YAML.
        (folder / "config.yaml").write_text(json.dumps(_configuration(model, callbacks)))

    def __enter__(self) -> Self:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        program = Path(sys.executable).with_name("litellm")
        options = ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, "--config", self.folder / "config.yaml", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self._environment,
            )
        try:
            until(self._is_ready, within=STARTS_WITHIN)
        except BaseException as error:
            self._end()
            error.add_note(self.said())
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def said(self) -> str:
        """What it has written to its log since this was last asked."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            content = log.read()
        self._read += len(content)
        return content.decode(errors="replace")

    def told(self) -> list[dict[str, Any]]:
        """What its callback ``LISTENER`` was told of, if it has that one."""
        return [json.loads(line) for line in self._told.read_text().splitlines()] if self._told.exists() else []

    def openai(self, key: str) -> OpenAI:
        """OpenAI's own client, with a user's key."""
        return OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=_ANSWERS_WITHIN)

    def anthropic(self, key: str) -> Anthropic:
        """Anthropic's own client, with a user's key."""
        return Anthropic(base_url=self.url, api_key=key, max_retries=0, timeout=_ANSWERS_WITHIN)

    def post(self, path: str, key: str, body: Mapping[str, Any], **headers: str) -> httpx.Response:
        """A request as no client would send it.

        Args:
            path: The path it asks for.
            key: A user's key; none is sent if empty.
            body: Its JSON.
            headers: Further headers, with ``_`` for ``-``.
        """
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"authorization": f"Bearer {key}"} if key else {}
        return httpx.post(f"{self.url}{path}", json=body, headers=sent, timeout=_ANSWERS_WITHIN)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, "the proxy has ended"
        try:
            return httpx.get(f"{self.url}/health/readiness", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_ENDS_WITHIN)
        finally:
            self._process.kill()


def _plain_environment(folder: Path) -> dict[str, str]:
    """What a program needs to run here, with a home of its own and nobody's settings; it asks no network for prices."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "DOCKER_HOST") if name in os.environ}
    return {**kept, "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONUNBUFFERED": "1"}


def _configuration(model: ScriptedModel, callbacks: str | Sequence[str]) -> dict[str, Any]:
    chat = {"model": "openai/scripted", "api_base": model.url, "api_key": "any"}
    claude = {"model": "anthropic/scripted", "api_base": model.root, "api_key": "any"}
    return {
        "model_list": [
            {"model_name": "chat", "litellm_params": chat},
            {"model_name": "claude", "litellm_params": claude},
        ],
        "litellm_settings": {"callbacks": callbacks} if callbacks else {},
        # Else a failure that one test asks for keeps the model from the next.
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
        "general_settings": {"master_key": "sk-for-the-tests", "custom_auth": "proxy_keys.user_api_key_auth"},
    }
