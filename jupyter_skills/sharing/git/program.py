"""The ``git`` program, held so that nothing of a stranger's repository runs.

There is never a checkout: no filters, hooks, submodules or attributes of the repository come into play. Its objects
are fetched into an empty repository of our own, and read from there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from jupyter_skills.errors import (
    RemoteDamaged,
    RemoteProblem,
    RemoteRefused,
    RemoteUnreachable,
    SkillsError,
    UsageProblem,
)
from jupyter_skills.sharing.fetched import Limits
from jupyter_skills.sharing.reference import Reference

_POLL_SECONDS = 0.02
_MOST_OUTPUT = 128 * 1024 * 1024
_REMOTE = "source"

# What would make git work on another repository than ours, or look like ours in another way.
_FOREIGN = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
)

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "fetch.unpackLimit": "1",  # all in one pack: what it takes on the disk is counted while it comes
    "fetch.recurseSubmodules": "false",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
}

_NO_CONNECTION = re.compile(
    r"could not resolve|failed to connect|connection (?:refused|timed out|reset|closed)|couldn't connect|unreachable"
    r"|early eof|no route|ssl|certificate|host key verification|returned error: 5",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"://[^/\s'\"]*@")


_USER, _PASSWORD = "JUPYTER_SKILLS_GIT_USER", "JUPYTER_SKILLS_GIT_PASSWORD"
_HELPER = f'!f() {{ printf \'username=%s\\npassword=%s\\n\' "${_USER}" "${_PASSWORD}"; }}; f'


class Stopped(Exception):
    """Whoever waited for git has given up."""


class Git:
    """A repository of our own, empty at first.

    Args:
        folder: Where it lies.
        source: What is fetched into it.
        limits: Bounds on each step.
        stop: Set by whoever no longer waits.
    """

    def __init__(self, folder: Path, source: Reference, limits: Limits, stop: threading.Event) -> None:
        self._folder = folder
        self._source = source
        self._limits = limits
        self._stop = stop

    def fetch(self, *arguments: str) -> None:
        """Runs ``git fetch`` with arguments after the remote's name.

        Raises:
            RemoteProblem: It failed.
        """
        options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head"]
        shallow = [argument for argument in arguments if argument.startswith("--depth")]
        refs = [argument for argument in arguments if argument not in shallow]
        self.run("fetch", *options, *shallow, _REMOTE, *refs, most=self._limits.repository)

    def run(self, *arguments: str, given: bytes = b"", most: int = _MOST_OUTPUT) -> bytes:
        """Runs git in the repository; gives its output.

        Args:
            arguments: Its arguments.
            given: Its standard input.
            most: How much more the repository's folder, output included, may take on the disk, in bytes.

        Raises:
            RemoteProblem: It failed, took too long or too much.
        """
        settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        out, err, entry = (self._folder / name for name in ("stdout", "stderr", "stdin"))
        entry.write_bytes(given)
        before = self._size()
        with entry.open("rb") as stdin, out.open("wb") as stdout, err.open("wb") as stderr, _git_missing():
            process = subprocess.Popen(
                ["git", *settings, *arguments],  # noqa: S607 - the user's own git, wherever it is
                cwd=self._folder,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=self._environment(),
                start_new_session=True,
            )
        try:
            self._wait(process, before + most)
        finally:
            _end(process)
        if process.returncode:
            raise self._problem(err.read_bytes()[-4096:].decode(errors="replace"))
        return out.read_bytes()

    def _wait(self, process: subprocess.Popen[bytes], most: int) -> None:
        deadline = time.monotonic() + self._limits.seconds
        running = True
        while running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
                running = False
            if self._stop.is_set():
                raise Stopped
            if self._size() > most:
                raise RemoteDamaged(
                    f"'{self._source.shown}' sends more than a repository of skills may have",
                    "Give an archive of the skill",
                )
            if running and time.monotonic() > deadline:
                raise RemoteUnreachable(
                    f"'{self._source.shown}' took more than {self._limits.seconds:.0f} seconds", "Try again later"
                )

    def _size(self) -> int:
        total = 0
        for where, _, names in os.walk(self._folder):
            for name in names:
                try:
                    total += os.lstat(os.path.join(where, name)).st_size
                except OSError:  # git has just renamed or removed it
                    continue
        return total

    def _environment(self) -> Mapping[str, str]:
        environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
        # By the environment, for the arguments of programs can be read by every user; git passes addresses on as such.
        address, secrets = _apart(self._source.address)
        settings = {f"remote.{_REMOTE}.url": address}
        if secrets:
            settings[f"credential.{urljoin(address, '/')}.helper"] = _HELPER
        number = environment.get("GIT_CONFIG_COUNT", "")
        first = int(number) if number.isdigit() else 0
        for place, (key, value) in enumerate(settings.items(), first):
            environment |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": value}
        environment |= {"GIT_CONFIG_COUNT": str(first + len(settings)), **secrets}
        is_local = "://" not in self._source.address
        return environment | {
            "GIT_DIR": str(self._folder / "repository"),
            "GIT_ALLOW_PROTOCOL": "file" if is_local else "https:ssh",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def _problem(self, said: str) -> RemoteProblem:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        told = [line for line in lines if line.lower().startswith(("fatal:", "error:"))] or lines
        reason = _CREDENTIALS.sub("://", told[0] if told else "it gave no reason").replace(
            self._source.address, self._source.shown
        )
        words = f"git can't read '{self._source.shown}': {reason[:300]}"
        if _NO_CONNECTION.search(said):
            return RemoteUnreachable(words, "Check the address and your connection, and try again")
        return RemoteRefused(words, "Check the address and the revision, and that 'git ls-remote' works with them")


@contextmanager
def repository(source: Reference, limits: Limits, stop: threading.Event) -> Iterator[Git]:
    """An empty repository for what will be fetched; gone afterwards."""
    with TemporaryDirectory(prefix="jupyter-skills-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "repository").mkdir()
        git = Git(folder, source, limits, stop)
        git.run("init", "--quiet", "--bare", "--template=")
        yield git


@contextmanager
def _git_missing() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise SkillsError(
            "Repositories are fetched by the program 'git', and there is none",
            "Install the package 'git', and try again",
        ) from None
    except OSError as error:
        raise SkillsError(f"The program 'git' can't be started: {error.strerror}", "Check its installation") from None


def _apart(address: str) -> tuple[str, dict[str, str]]:
    """An address without credentials, and these as what ``_HELPER`` reads; ssh has none in its addresses but a name."""
    parts = urlsplit(address)
    if parts.scheme != "https" or "@" not in parts.netloc:
        return address, {}
    secrets = {_USER: unquote(parts.username or ""), _PASSWORD: unquote(parts.password or "")}
    if not all(secret.isprintable() for secret in secrets.values()):
        raise UsageProblem("The credentials in the address can't be ones", "Check them for slips")
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), secrets


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends git and what it started."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    else:
        process.kill()
    process.wait()
