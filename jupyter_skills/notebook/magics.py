"""``%skill`` and ``%%ask`` as IPython knows them. They parse and delegate."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from jupyter_skills.agent.sync import run_now
from jupyter_skills.notebook.session import Session


@magics_class
class SkillMagics(Magics):
    """The magics of one shell.

    Args:
        session: What they work on.
    """

    def __init__(self, session: Session, **kwargs: Any) -> None:
        super().__init__(shell=session.shell, **kwargs)
        self.session = session

    @no_var_expand
    @line_magic
    def skill(self, line: str) -> None:
        """Load, list and look at skills: %skill VERB …; %skill --help says which verbs there are."""
        from jupyter_skills.notebook import verbs  # with all that they do they cost more than loading the extension

        verbs.run(self.session, line)

    @no_var_expand
    @line_cell_magic
    def ask(self, line: str, cell: str | None = None) -> None:
        """Ask a model in plain words: %%ask [options], and the question below; %ask --help says which options.

        A cell that starts with %%ask does not come here: it is rewritten to await (see transform.py). This
        serves calls from code.
        """
        if cell is None:
            run_now(self.session.ask_line, line)
        else:
            run_now(self.session.ask_cell, line, cell)
