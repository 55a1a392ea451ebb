"""A place in the output of a cell."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from IPython.display import publish_display_data, update_display

Bundle = dict[str, Any]


class Place:
    """One display, whose content may change."""

    def __init__(self) -> None:
        self._shown: Bundle | None = None
        self._id = uuid4().hex

    @property
    def empty(self) -> bool:
        """Whether nothing was ever shown here."""
        return self._shown is None

    def show(self, bundle: Bundle) -> None:
        """Shows something in place of what is there."""
        if self._shown is None:
            publish_display_data(bundle, transient={"display_id": self._id})
        elif bundle != self._shown:
            update_display(bundle, raw=True, display_id=self._id)
        self._shown = bundle
