"""What a shell sees of a command line: its exit status, and next steps that can be typed there."""

from __future__ import annotations

from jupyter_skills.words import plain

GOOD, BAD, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

_COMMANDS = {
    "%skill list --available": "jupyter skills list --all",
    "%skill freeze": "jupyter skills lock REF",
    "%skill ": "jupyter skills ",
}


def for_a_shell(error: Exception) -> str:
    """An error in one line, with the command in place of a magic that it names."""
    text = f"error: {error}"
    for magic, command in _COMMANDS.items():
        text = text.replace(magic, command)
    return plain(text)


def say(text: str) -> None:
    """Prints what may hold a stranger's words."""
    print(plain(text))
