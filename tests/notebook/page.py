"""A page before a kernel: it shows widgets and clicks their buttons, in the messages that JupyterLab sends."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.frontend import Bundle, Cell, Notebook

VIEW = "application/vnd.jupyter.widget-view+json"
_MODEL = "IPY_MODEL_"


@dataclass
class Page:
    """What a person sees of a cell's widgets, and does to them. Passed to ``Notebook.run`` as ``during``.

    Args:
        notebook: The notebook that it shows.
        act: Called once whenever buttons have been shown and reported; clicks.
        reports: Whether it says what it shows, as JupyterLab does.
        subshell: Whether it sends what concerns widgets to a subshell, as JupyterLab does.
        astray: How many reports don't arrive while the cell runs, as while JupyterLab still makes the subshell.
    """

    notebook: Notebook
    act: Callable[[Page], None]
    reports: bool = True
    subshell: bool = True
    astray: int = 0
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    _subshell_id: str = ""
    _acted: set[str] = field(default_factory=set)
    witnesses: list[str] = field(default_factory=list)

    def __call__(self, cell: Cell, content: Bundle) -> None:
        comm = content.get("comm_id", "")
        if content.get("target_name") == "jupyter.widget":
            self.models[comm] = dict(content["data"]["state"])
        elif comm in self.models and "data" in content:
            if content["data"].get("method") == "update":
                self.models[comm].update(content["data"]["state"])
            elif not content["data"]:
                self.closed.append(comm)
        view = content.get("data", {}).get(VIEW) if "transient" in content else None
        if view is not None:
            self.shown.append(view["model_id"])
        for root in self.shown:
            if root not in self.closed:
                self._look_at(root)

    def click(self, words: str) -> None:
        """Clicks the button that begins with these words."""
        self.send(self.button(words), {"method": "custom", "content": {"event": "click"}})

    def button(self, words: str) -> str:
        """The id of such a button of those that are shown now."""
        buttons = self.buttons()
        return next(found for found, name in buttons.items() if name.startswith(words))

    def buttons(self) -> dict[str, str]:
        """What stands on each button that is shown now, by its id."""
        names = {"ButtonModel"}
        return {one: self.models[one]["description"] for one in self._tree() if self._kind(one) in names}

    def type(self, words: str) -> None:
        """Types into the field that is shown now."""
        self.send(self.field, {"method": "update", "state": {"value": words}, "buffer_paths": []})

    def press_enter(self) -> None:
        """Presses Enter in it."""
        self.send(self.field, {"method": "custom", "content": {"event": "submit"}})

    @property
    def field(self) -> str:
        """Its id."""
        return next(one for one in self._tree() if self._kind(one) == "TextModel")

    @property
    def html(self) -> str:
        """What stands above the buttons."""
        return "".join(self.models[one]["value"] for one in self._tree() if self._kind(one) == "HTMLModel")

    def send(self, comm: str, data: dict[str, Any]) -> None:
        """Sends a message of a widget."""
        message = self.notebook.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        if self.subshell:
            message["header"]["subshell_id"] = self._made_subshell()
        self.notebook.client.shell_channel.send(message)

    def _look_at(self, root: str) -> None:
        for one in self._tree():
            if self.reports and self.models[one].get("_view_count") == 0 and one not in self.witnesses:
                self.witnesses.append(one)
                if len(self.witnesses) > self.astray:
                    self.send(one, {"method": "update", "state": {"_view_count": 1}, "buffer_paths": []})
        if root not in self._acted and self.buttons() and len(self.witnesses) >= self.reports * (self.astray + 1):
            self._acted.add(root)
            self.act(self)

    def _tree(self) -> list[str]:
        found = [one for one in self.shown if one not in self.closed]
        for one in found:
            children = self.models[one].get("children", ())
            found += [child.removeprefix(_MODEL) for child in children if child.removeprefix(_MODEL) in self.models]
        return found

    def _kind(self, one: str) -> str:
        return str(self.models[one].get("_model_name"))

    def _made_subshell(self) -> str:
        if not self._subshell_id:
            client = self.notebook.client
            client.control_channel.send(client.session.msg("create_subshell_request"))
            self._subshell_id = client.get_control_msg(timeout=10)["content"]["subshell_id"]
        return self._subshell_id


def payloads(notebook: Notebook) -> list[dict[str, Any]]:
    """A list that gets the payloads of each cell that is run from now on."""
    found: list[dict[str, Any]] = []
    receive = notebook.client.get_shell_msg

    def received(*values: Any, **named: Any) -> Any:
        message = receive(*values, **named)
        found.extend(message["content"].get("payload", ()))
        return message

    notebook.client.get_shell_msg = received  # type: ignore[method-assign]
    return found


def open_comms(notebook: Notebook) -> list[str]:
    """The comms that are open in the kernel."""
    client = notebook.client
    request = client.comm_info()
    while True:
        try:
            reply = client.get_shell_msg(timeout=10)
        except queue.Empty:
            raise AssertionError("the kernel does not say which comms are open") from None
        if reply["parent_header"].get("msg_id") == request:
            return sorted(reply["content"]["comms"])
