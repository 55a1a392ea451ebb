"""What the extension tells those who listen to the server's events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jupyter_events import EventLogger

SCHEMA_ID = "https://events.jupyter.org/jupyter_skills/skill_actions/v1"


def register(logger: EventLogger) -> None:
    """Makes the server's event logger take our events."""
    if SCHEMA_ID not in logger.schemas:
        logger.register_event_schema(_schema())


def emitted(logger: EventLogger, told: Mapping[str, Any]) -> None:
    """Emits an event of what has happened, without what its schema leaves out."""
    known = _schema()["properties"]
    logger.emit(schema_id=SCHEMA_ID, data={key: value for key, value in told.items() if key in known})


@cache
def _schema() -> dict[str, Any]:
    text = (files("jupyter_skills.server") / "event_schemas" / "skill_actions" / "v1.yaml").read_text("utf-8")
    schema: dict[str, Any] = yaml.safe_load(text)
    return schema
