"""Shipped for tests and tutorials: a model server that follows a script."""

from jupyter_skills.testing.script import Call, Exchange, Turn
from jupyter_skills.testing.server import ScriptedModel

__all__ = ["Call", "Exchange", "ScriptedModel", "Turn"]
