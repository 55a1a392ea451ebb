"""The skills in force in the kernels of this server, and sweeping up after those that were shut down."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_skills.errors import NotYours, SkillNotFound, SkillsError, UsageProblem
from jupyter_skills.server.handlers import SkillsHandler
from jupyter_skills.store.loaded import Kernel, LoadedSkill
from jupyter_skills.store.location import current_user, has_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_events import EventLogger
    from jupyter_server.extension.application import ExtensionApp

    from jupyter_skills.store.entries import Entries, Entry
    from jupyter_skills.store.store import SkillStore

_KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"
_PLACES = ("", "docker", "live", "off")
_FIELDS = {"reference": str, "pinned": bool, "run": str}


class KernelHandler(SkillsHandler):
    """What the routes of one kernel share."""

    async def entries(self, kernel_id: str) -> Entries:
        """The rows of a kernel that this server runs.

        Raises:
            SkillNotFound: It runs none of that id.
            NotYours: The kernel belongs to the account that the server runs as, and somebody else asks.
        """
        if kernel_id not in self.kernel_manager:
            raise SkillNotFound(f"This server runs no kernel '{kernel_id}'", "See '/api/kernels' for those it runs")
        if self.owner != current_user():
            raise NotYours(
                f"The kernels of this server are those of '{current_user()}', and you are '{self.owner}'",
                "Use a server of your own, or have JUPYTER_SKILLS_USER name you where this one is started",
            )
        file = str(getattr(self.kernel_manager.get_kernel(kernel_id), "connection_file", ""))
        kernel = Kernel(self.owner, kernel_id, file)
        return await asyncio.to_thread(_entries, self.store, kernel)

    async def folder(self, kernel_id: str) -> Path:
        """The folder of a kernel's notebook; the server's own where it has none."""
        try:
            path = str((await self.session_manager.get_session(kernel_id=kernel_id))["path"])
        except (web.HTTPError, KeyError):
            path = ""
        return await asyncio.to_thread(_below, self.kernel_manager, path)


class KernelSkills(KernelHandler):
    """``/jupyter-skills/api/kernels/{kernel_id}/skills``."""

    @web.authenticated
    @authorized
    async def get(self, kernel_id: str) -> None:
        """Lists the skills in force, in the order they were loaded."""
        entries, folder = await self.entries(kernel_id), await self.folder(kernel_id)
        self.reply({"kernel_id": kernel_id, "data": await asyncio.to_thread(_listed, entries, folder)})


class OneKernelSkill(KernelHandler):
    """``/jupyter-skills/api/kernels/{kernel_id}/skills/{name}``."""

    @web.authenticated
    @authorized
    async def put(self, kernel_id: str, name: str) -> None:
        """Puts a skill in force, or changes how it is."""
        wish = _wish(self.json_body() if self.request.body.strip() else {})
        entries, folder = await self.entries(kernel_id), await self.folder(kernel_id)
        facts = await asyncio.to_thread(_put, entries, self.store, name, wish, folder)
        self.tell("load", kernel_id=kernel_id, skill=name)
        self.reply(facts)

    @web.authenticated
    @authorized
    async def delete(self, kernel_id: str, name: str) -> None:
        """Takes a skill out of force."""
        entries = await self.entries(kernel_id)
        gone = await asyncio.to_thread(_remove, entries, name)
        self.tell("unload", kernel_id=kernel_id, skill=name)
        self.reply(gone)


async def attach(app: ExtensionApp) -> None:
    """Forgets what was in force in kernels that have ended: now, and whenever one of this server's is shut down.

    Args:
        app: The extension, when its server's loop runs.
    """

    async def on_kernel_action(logger: EventLogger, schema_id: str, data: Mapping[str, Any]) -> None:
        # A restart tells of a shutdown too, but leaves the connection file, which is what the sweep looks at.
        if data.get("action") == "shutdown":
            await _sweep(app)

    assert app.serverapp is not None
    assert app.serverapp.event_logger is not None
    app.serverapp.event_logger.add_listener(schema_id=_KERNEL_ACTIONS, listener=on_kernel_action)
    await _sweep(app)


async def _sweep(app: ExtensionApp) -> None:
    if not has_store():
        return
    try:
        await asyncio.to_thread(_swept, app.settings["jupyter_skills_store"])
    except SkillsError as error:  # the next one catches up
        app.log.warning("jupyter_skills: %s", error)


def _swept(stores: Any) -> int:
    from jupyter_skills.store.kernels import sweep

    store: SkillStore = stores.for_user(current_user())
    return sweep(store.database, store.user)


def _entries(store: SkillStore, kernel: Kernel) -> Entries:
    from jupyter_skills.store.entries import Entries

    return Entries(store, kernel)


def _below(kernels: Any, path: str) -> Path:
    """The folder of a notebook, which never lies outside of the server's own."""
    root = Path(kernels.root_dir).resolve()
    folder = Path(kernels.cwd_for_path(path)).resolve()
    return folder if folder.is_relative_to(root) else root


def _listed(entries: Entries, folder: Path) -> list[dict[str, Any]]:
    return [entries.facts(entry, folder) for entry in entries.all()]


def _put(entries: Entries, store: SkillStore, name: str, wish: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    from jupyter_skills.store.entries import Entry
    from jupyter_skills.store.finding import named  # not by a path: those are the server's own

    known = next((entry for entry in entries.all() if entry.name == name), None)
    how = {key: wish[key] for key in ("pinned", "run") if key in wish}
    if known is not None and "reference" not in wish:
        changed = replace(known, **how)
    else:
        reference = wish.get("reference", name)
        skill = named(reference, folder, store)
        if skill.name != name:
            raise UsageProblem(f"'{reference}' is the skill '{skill.name}'", f"Put that name in place of '{name}'")
        changed = Entry.of(name, LoadedSkill(skill, **how))
    return _of(entries, entries.exchange({name: changed}), name, folder)


def _of(entries: Entries, rows: list[Entry], name: str, folder: Path) -> dict[str, Any]:
    return next(entries.facts(entry, folder) for entry in rows if entry.name == name)


def _remove(entries: Entries, name: str) -> dict[str, Any]:
    gone = next((entry for entry in entries.all() if entry.name == name), None)
    if gone is None:
        raise SkillNotFound(f"No skill '{name}' is in force in this kernel", "List them to see those that are")
    entries.exchange({name: None})
    return {"name": name, "place": gone.place}


def _wish(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, value in sent.items():
        if key not in _FIELDS:
            raise UsageProblem(f"There is no field '{key}'", f"Give some of {', '.join(_FIELDS)}")
        if not isinstance(value, _FIELDS[key]):
            raise UsageProblem(f"'{key}' is no {'text' if _FIELDS[key] is str else 'true or false'}", "Give one")
    if sent.get("run", "") not in _PLACES:
        raise UsageProblem(f"Code can't run in '{sent['run']}'", "Give 'docker', 'live' or 'off', or '' for the usual")
    return sent


ROUTES = [
    (r"/jupyter-skills/api/kernels/([^/]+)/skills", KernelSkills),
    (r"/jupyter-skills/api/kernels/([^/]+)/skills/([^/]+)", OneKernelSkill),
]
"""Patterns with their handlers; see ``routes.py``."""
