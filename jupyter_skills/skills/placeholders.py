"""What skills write for "the folder that this skill lies in": the ways of several clients."""

from __future__ import annotations

import re
from collections.abc import Collection

_FOLDER = re.compile(
    r"\$(?:\{CLAUDE_PLUGIN_ROOT\}|CLAUDE_PLUGIN_ROOT)/skills/(?P<own>[\w-]+(?:\.[\w-]+)*)"
    r"|\$?\{baseDir\}|\{(?:skillDir|skill_dir|SKILL_DIR)\}"
    r"|\$\{(?:CLAUDE_SKILL_DIR|CLAUDE_PLUGIN_ROOT|SKILL_DIR)\}"
    r"|\$(?:CLAUDE_SKILL_DIR|CLAUDE_PLUGIN_ROOT|SKILL_DIR)\b"
)


def fill(text: str, folder: str, names: Collection[str]) -> str:
    """Text with the placeholders filled in.

    Args:
        text: The text.
        folder: Where the skill's files lie for the code that will run.
        names: What the skill and its folder are called. A plugin's root is the folder above ``skills/``, and
            only this skill of the plugin is there.
    """
    return _FOLDER.sub(lambda match: folder if match["own"] is None or match["own"] in names else match[0], text)
