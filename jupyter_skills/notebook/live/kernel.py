"""Running code in the user's own namespace. Implements ``LiveKernel``."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from jupyter_skills.execution.heard import Heard
from jupyter_skills.execution.output import bounded
from jupyter_skills.execution.result import Execution, OnOutput, Outcome
from jupyter_skills.notebook.author import apart
from jupyter_skills.notebook.interrupt import blocking
from jupyter_skills.notebook.live.capture import Capture
from jupyter_skills.notebook.live.changes import Watch
from jupyter_skills.notebook.live.files import FolderBefore
from jupyter_skills.notebook.live.rules import Rules
from jupyter_skills.notebook.live.shown_errors import ShownErrors

if TYPE_CHECKING:
    from jupyter_skills.notebook.session import Session

_STOPPED = "Stopped before it could finish."
_EXITED = "The code ended itself by an exit; the kernel goes on."


class ShellKernel:
    """The shell that the cell itself runs in.

    Args:
        session: The notebook's session: its shell, how much output to keep for the model, and what can be undone.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shell = session.shell
        self._limits = session.limits

    async def run(self, code: str, on_output: OnOutput) -> Execution:
        """Runs code as a cell would, but leaves ``In`` and ``Out`` alone.

        An interrupt ends the code; once this has returned, it goes on to whatever awaits it. The same is true of
        code that has swallowed it.

        Args:
            code: What to run.
            on_output: Called with each piece of text as it is printed, from the thread that prints it.
        """
        began = time.monotonic()
        shell, task = self._shell, asyncio.current_task()
        cancelled_before = task.cancelling() if task else 0
        context = apart()
        heard = Heard(self._limits.output_limit, lambda text: context.copy().run(on_output, text))
        folder, watch = FolderBefore(), Watch(self._session, code)
        rules = Rules(self._session.settings)
        transformed, complaint = self._transformed(code)
        errors = ShownErrors(shell, code, transformed)
        raised: BaseException | None = None
        unshown = False
        try:
            with Capture(shell, transformed, heard, errors) as capture:
                try:
                    with blocking() as capture.interrupts:
                        result = await shell.run_cell_async(
                            code, store_history=False, transformed_cell=transformed, preprocessing_exc_tuple=complaint
                        )
                        raised = result.error_before_exec if result.error_in_exec is None else result.error_in_exec
                        shell.events.trigger("post_execute")  # figures that are still open are shown now
                except (KeyboardInterrupt, asyncio.CancelledError) as stop:
                    raised = stop
                except BaseException as broken:  # noqa: BLE001 -- showing an error runs the code's own classes
                    raised, unshown = broken, True
                for other in errors.others(raised):
                    capture.page.write(f"{_compact(errors, other)}\n")
            errors.file_under_cell()
            outcome, error, shown = _unshown(raised) if unshown else self._outcome(raised, errors, heard)
            assert capture.interrupts is not None, "it was entered"
            cancelled = task is not None and task.cancelling() > cancelled_before
            if cancelled or capture.interrupts.happened:
                outcome, error, shown = "interrupted", _STOPPED, ""
        finally:
            changes, notes = watch.end()
            notes += rules.put_back()
        execution = Execution(
            outcome,
            heard.text,
            error,
            tuple(heard.images),
            folder.changed(self._limits.file_limit),
            seconds=time.monotonic() - began,
            notes=(*heard.notes, *notes),
            changes=changes,
            traceback=shown,
            displays=capture.page.displays,
        )
        if capture.interrupts.happened:
            capture.interrupts.pass_on()
        elif cancelled and task is not None:
            task.uncancel()
            task.cancel()  # IPython takes even this for an error of the code
        return execution

    def _transformed(self, code: str) -> tuple[str, Any]:
        """The code as Python, and why it can't be made that."""
        try:
            return self._shell.transform_cell(code), None
        except Exception:  # noqa: BLE001 -- IPython shows it as an error of the cell, and so does this
            return code, sys.exc_info()

    def _outcome(self, raised: BaseException | None, errors: ShownErrors, heard: Heard) -> tuple[Outcome, str, str]:
        if raised is None:
            return "ok", "", ""
        if isinstance(raised, SystemExit):
            status = raised.code
            if status is None or (type(status) is int and status == 0):
                heard.note(_EXITED)
                return "ok", "", ""
            if type(status) not in (int, str):  # another object's text would be made by the code
                return _unshown(raised)
            return "error", bounded(f"SystemExit: {status}", self._limits.output_limit), ""
        return "error", bounded(_compact(errors, raised), self._limits.output_limit), errors.traceback(raised)


def _compact(errors: ShownErrors, error: BaseException) -> str:
    try:
        return errors.compact(error)
    except (Exception, SystemExit):  # noqa: BLE001 -- of the code's own classes
        return f"{type.__getattribute__(type(error), '__name__')}: an error that can't be shown."


def _unshown(raised: BaseException | None) -> tuple[Outcome, str, str]:
    name = type.__getattribute__(type(raised), "__name__")
    return "error", f"The code failed with an error that can't be shown: showing it raised {name}.", ""
