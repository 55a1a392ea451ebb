"""How skills come and go: fetched from folders, archives, git and sites, sent to and taken from other stores.

Nothing that is fetched is run or written: it is read into memory, through the same checks as an archive.
"""

from __future__ import annotations

from jupyter_skills.sharing.endpoints import Endpoint, RemoteSkill, endpoint_at
from jupyter_skills.sharing.fetched import Fetched, Limits
from jupyter_skills.sharing.fetching import fetch
from jupyter_skills.sharing.transfer import Pushed, pull, push

__all__ = ["Endpoint", "Fetched", "Limits", "Pushed", "RemoteSkill", "endpoint_at", "fetch", "pull", "push"]
