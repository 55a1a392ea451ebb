"""What users import."""

from __future__ import annotations

import subprocess
import sys

import jupyter_skills


def test_every_public_name_is_there() -> None:
    assert jupyter_skills.__all__ == sorted(jupyter_skills.__all__)
    for name in jupyter_skills.__all__:
        assert getattr(jupyter_skills, name).__name__ == name


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, jupyter_skills; print([m for m in sys.modules if m.split('.')[0] in "
    code += "('litellm', 'docker', 'sqlalchemy', 'IPython', 'zmq', 'yaml', 'traitlets', 'tornado')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(jupyter_skills, "nonsense")


def test_an_error_is_one_line_that_steers_no_terminal_whoever_s_words_are_in_it() -> None:
    error = jupyter_skills.SkillsError("No\n skill  'a\x1b[31m\u202e\ud800é'", "Look")
    assert str(error) == r"No skill 'a\x1b[31m\u202e\ud800é'. Look."
    assert error._render_traceback_() == [f"SkillsError: {error}"]
    assert str(jupyter_skills.SkillsError("No skill", "Did you mean 'a'?")) == "No skill. Did you mean 'a'?"
