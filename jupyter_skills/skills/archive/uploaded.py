"""What people upload: an archive, or the files of a folder one by one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from jupyter_skills.errors import InvalidArchive
from jupyter_skills.skills.archive.names import parts_of
from jupyter_skills.skills.files import ARCHIVE_SUFFIXES, MOST_BYTES

_ZIP = b"PK"


def as_archive(parts: Sequence[tuple[str, bytes]]) -> bytes:
    """One archive of what was uploaded, so that files pass the same door as archives: it is not checked yet.

    Args:
        parts: Names and contents. The names of files are their paths, below one folder or none.

    Raises:
        InvalidArchive: There is nothing, or too much; or a name is hostile.
    """
    if not parts:
        raise InvalidArchive("No file was sent", "Send the files of a skill's folder, or one zip of it")
    name, content = parts[0]
    if len(parts) == 1 and (content.startswith(_ZIP) or name.lower().endswith(ARCHIVE_SUFFIXES)):
        return content
    if sum(len(content) for _, content in parts) > MOST_BYTES:
        raise InvalidArchive(f"The files have more than {MOST_BYTES >> 20} MiB", "Keep data of that size elsewhere")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo("/".join(parts_of(name))), content)
    return buffer.getvalue()
