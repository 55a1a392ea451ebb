"""Which skills may run code of theirs outside of the sandbox.

One that the user put in place (``Source.installed``) may. One that came with a project, an archive or a download
may once the user has trusted exactly these bytes: any changed byte makes it another skill.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from jupyter_skills.errors import SkillsError
from jupyter_skills.skills.places import replace_text
from jupyter_skills.skills.skill import Skill

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _default_folder() -> Path:
    return Path.home() / jupyter_data_dir() / "jupyter_skills" / "trusted"  # never relative: a project could bring one


@dataclass(frozen=True)
class TrustLedger:
    """What the user has trusted: one file for each digest, so that two notebooks can write at once.

    Args:
        folder: Where the files lie; one folder of the user's for all notebooks if not given.
    """

    folder: Path = field(default_factory=_default_folder)

    def trusts(self, skill: Skill) -> bool:
        """Whether a skill's code may run outside of the sandbox.

        Args:
            skill: The skill; give a snapshot, so that what was asked about is what runs.
        """
        return skill.source.installed or self._file(skill.digest).is_file()

    def trust(self, skill: Skill) -> str:
        """Trusts a skill's files as they are now; returns their digest.

        Raises:
            SkillsError: It can't be noted down.
        """
        digest = skill.digest
        note = {"name": skill.name, "source": str(skill.source), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        if skill.folder is not None:
            note["folder"] = str(skill.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_text(self._file(digest), json.dumps(note, ensure_ascii=False))
        except OSError as error:
            raise SkillsError(
                f"That you trust '{skill.name}' can't be noted in '{self.folder}': {error.strerror}",
                "Make that folder writable",
            ) from None
        return digest

    def untrust(self, skill: Skill) -> int:
        """Takes trust back from a skill: from these bytes and from all that were trusted under the same name.

        Returns:
            How many there were.

        Raises:
            SkillsError: It can't be done.
        """
        gone = 0
        for digest, note in self.entries().items():
            if digest == skill.digest or note.get("name") == skill.name:
                try:
                    self._file(digest).unlink(missing_ok=True)
                except OSError as error:
                    raise SkillsError(
                        f"Trust in '{skill.name}' can't be taken back: {error.strerror}",
                        f"Delete '{self._file(digest)}'",
                    ) from None
                gone += 1
        return gone

    def entries(self) -> dict[str, dict[str, str]]:
        """What is noted for each digest: name, source and time. Files that can't be read are left out."""
        found: dict[str, dict[str, str]] = {}
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return found
        for name in names:
            digest = f"sha256:{name.removesuffix('.json')}"
            if not _DIGEST.fullmatch(digest):
                continue
            try:
                note = json.loads((self.folder / name).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                note = {}
            found[digest] = note if isinstance(note, dict) else {}
        return found

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest.removeprefix('sha256:')}.json"
