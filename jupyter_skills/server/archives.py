"""Sending a version's archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_skills.server.handlers import SkillsHandler

if TYPE_CHECKING:
    from jupyter_skills.store.records import SkillVersion


class ArchiveHandler(SkillsHandler):
    """A handler that answers with the zip of a version."""

    def initialize(self, **kwargs: Any) -> None:
        """Called by tornado for each request."""
        super().initialize(**kwargs)
        self._tag: str | None = None

    def compute_etag(self) -> str | None:
        """Called by tornado: an archive is known by its digest, so nothing has to be read to tell it is the same."""
        return self._tag

    async def send_archive(self, version: SkillVersion) -> None:
        """Answers with the zip, with nothing if the client has it, or with its headers if they were asked for."""
        self._tag = f'"{version.archive_digest}"'
        self.set_etag_header()
        self.set_header("Cache-Control", "private, no-cache")
        if self.check_etag_header():
            self.set_status(304)
            self.finish()
            return
        self.set_attachment_header(f"{version.name}-{version.version}.zip")
        if self.request.method == "HEAD":
            self.set_header("Content-Length", str(version.size))
            self.finish(set_content_type="application/zip")
            return
        content = await self.store.content(version.skill_id, version.version)
        self.finish(content, set_content_type="application/zip")
