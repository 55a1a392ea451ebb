"""Skills from git repositories, friendly and hostile ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from jupyter_skills.errors import (
    InvalidArchive,
    InvalidSkill,
    RemoteDamaged,
    RemoteRefused,
    RemoteUnreachable,
    SkillNotFound,
    SkillsError,
    UsageProblem,
)
from jupyter_skills.sharing import Limits, fetch
from tests.conftest import NO_HANG, until
from tests.sharing.git_server import LOGIN, git_server
from tests.sharing.repository import Repository, manifest

pytestmark = NO_HANG


@pytest.fixture
def mine(repository: Repository) -> Repository:
    """One skill at the top, in one commit."""
    repository.write("SKILL.md", manifest("mine"))
    repository.write("scripts/run.sh", "echo\n").chmod(0o755)
    repository.commit()
    return repository


@pytest.fixture
def several(repository: Repository) -> Repository:
    for name in ("one", "two"):
        repository.write(f"skills/{name}/SKILL.md", manifest(name))
    repository.write("skills/one/examples/inner/SKILL.md", manifest("inner"))
    repository.write("node_modules/x/SKILL.md", manifest("x"))
    repository.write("README.md", "Two skills.")
    repository.commit()
    return repository


async def test_a_repository_may_be_one_skill(mine: Repository) -> None:
    [came] = await fetch(mine.reference)
    assert came.skill.name == "mine"
    assert came.skill.files() == ["SKILL.md", "scripts/run.sh"]
    assert came.skill.content.entry("scripts/run.sh").executable
    assert came.metadata == {"origin": f"git+file://{mine.path}", "revision": mine.git("rev-parse", "HEAD")}
    assert [came.skill.digest] == [one.skill.digest for one in await fetch(f"git+{mine.path}")]


async def test_only_what_was_committed_comes(mine: Repository) -> None:
    mine.write("draft.txt", "not yet")
    assert "draft.txt" not in (await fetch(mine.reference))[0].skill.files()


async def test_branches_tags_and_commits_are_revisions(mine: Repository) -> None:
    first = mine.git("rev-parse", "HEAD")
    mine.git("tag", "-a", "-m", "x", "v1")
    mine.git("branch", "feature/a+b")
    mine.write("SKILL.md", manifest("mine", "Do it better."))
    second = mine.commit()
    for revision, commit in (
        ("v1", first),
        ("feature/a+b", first),
        (first, first),
        (first[:10], first),
        ("refs/heads/main", second),
        ("main", second),
    ):
        [came] = await fetch(mine.reference, revision=revision)
        assert came.revision == commit
        assert (await fetch(f"{mine.reference}@{revision}"))[0].skill.digest == came.skill.digest


async def test_among_several_skills_one_is_chosen_by_name_or_folder_or_all_are_taken(several: Repository) -> None:
    with pytest.raises(UsageProblem, match=r"2 skills .*: one, two"):
        await fetch(several.reference)
    assert [came.skill.name for came in await fetch(several.reference, everything=True)] == ["one", "two"]
    for choice in ("two", "subdirectory=skills/two"):
        [came] = await fetch(f"{several.reference}#{choice}")
        assert came.skill.files() == ["SKILL.md"]
        assert came.skill.name == "two"
        assert came.metadata["origin"].endswith("#subdirectory=skills/two")
    assert (await fetch(f"{several.reference}#inner"))[0].skill.name == "inner"
    with pytest.raises(SkillNotFound, match=r"There are: .*one"):
        await fetch(f"{several.reference}#three")
    with pytest.raises(SkillNotFound, match="'skills'"):
        await fetch(f"{several.reference}#subdirectory=skills")


async def test_the_origin_leads_back_to_the_same_skill(several: Repository) -> None:
    [came] = await fetch(f"{several.reference}#two")
    [again] = await fetch(came.origin, revision=came.revision)
    assert again == came


async def test_two_folders_of_one_name_must_be_told_apart(several: Repository) -> None:
    several.write("other/one/SKILL.md", manifest("one"))
    several.commit()
    with pytest.raises(UsageProblem, match="subdirectory"):
        await fetch(f"{several.reference}#one")


async def test_what_is_not_there_is_said_in_a_line(mine: Repository, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RemoteRefused, match="find remote ref"):
        await fetch(mine.reference, revision="nothing")
    with pytest.raises(RemoteRefused, match="no commit 'deadbeef'"):
        await fetch(mine.reference, revision="deadbeef")
    with pytest.raises(RemoteRefused, match="not appear to be a git repository"):
        await fetch(f"git+{tmp_path / 'empty'}")
    with pytest.raises(RemoteUnreachable):
        await fetch("git+https://user:secret@127.0.0.1:1/x")
    no_skill = Repository(tmp_path / "none")
    no_skill.write("README.md", "x")
    no_skill.commit()
    with pytest.raises(SkillNotFound, match="no skill"):
        await fetch(no_skill.reference)


async def test_credentials_are_used_but_neither_shown_nor_kept(
    mine: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "localhost")
    with git_server(tmp_path, tmp_path) as (host, certificate):
        address = f"git+https://{LOGIN}@{host}/{mine.path.name}/.git"
        with pytest.raises(RemoteUnreachable, match="certificate") as caught:
            await fetch(address)
        assert "a-secret" not in str(caught.value)
        monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
        [came] = await fetch(f"{address}@main")
        assert came.skill.files() == ["SKILL.md", "scripts/run.sh"]
        assert came.metadata["origin"] == f"git+https://{host}/{mine.path.name}/.git"
        assert "a-secret" not in repr(came)
        assert [came.revision] == [one.revision for one in await fetch(f"{address}@{came.revision[:8]}")]
        with pytest.raises(RemoteRefused) as caught_too:
            await fetch(address, revision="nothing")
        assert "a-secret" not in str(caught_too.value)
        with pytest.raises(RemoteRefused, match="terminal prompts disabled"):
            await fetch(f"git+https://{host}/{mine.path.name}/.git")


async def test_credentials_are_in_no_programs_arguments(
    mine: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "localhost")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    with git_server(tmp_path, tmp_path) as (host, certificate):
        monkeypatch.setenv("GIT_SSL_CAINFO", str(certificate))
        await fetch(f"git+https://{LOGIN}@{host}/{mine.path.name}/.git")
    told = (tmp_path / "trace").read_text()
    assert f"remote-https source https://{host}/" in told
    assert "a-secret" not in told


async def test_ssh_is_what_the_user_has_set_it_to_be(
    mine: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ssh.sh"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path / "asked"}\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c "$1"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    [came] = await fetch(f"git+ssh://git@host.invalid{mine.path}@main")
    assert came.skill.name == "mine"
    assert came.metadata["origin"] == f"git+ssh://git@host.invalid{mine.path}"
    assert "git@host.invalid" in (tmp_path / "asked").read_text()


async def test_without_git_its_package_is_named(mine: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SkillsError, match="Install the package 'git'"):
        await fetch(mine.reference)


async def test_nothing_of_a_repository_runs(mine: Repository, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    hook = f"#!/bin/sh\ntouch {mark}\n"
    program = mine.write("../program.sh", hook)
    program.chmod(0o755)
    mine.write(".gitattributes", "* filter=evil diff=evil\nsecret.txt export-ignore\nstamp.txt export-subst\n")
    mine.write("secret.txt", "kept")
    mine.write("stamp.txt", "$Format:%H$")
    mine.write("SKILL.md", manifest("mine"))
    mine.commit()
    for name in ("post-checkout", "post-merge", "pre-receive", "reference-transaction", "post-index-change"):
        mine.write(f".git/hooks/{name}", hook).chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "core.sshCommand", "diff.evil.textconv"):
        mine.git("config", key, str(program))
    mine.git("config", "uploadpack.packObjectsHook", str(program))
    mine.git("config", "core.alternateRefsCommand", str(program))
    [came] = await fetch(mine.reference)
    assert not mark.exists()
    assert came.skill.read("secret.txt") == b"kept"
    assert came.skill.read("stamp.txt") == b"$Format:%H$"


async def test_settings_of_another_repository_in_the_environment_change_nothing(
    mine: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repository(tmp_path / "other")
    other.write("SKILL.md", manifest("other"))
    other.commit()
    for name, value in (("GIT_DIR", ".git"), ("GIT_WORK_TREE", ""), ("GIT_INDEX_FILE", ".git/index")):
        monkeypatch.setenv(name, str(other.path / value))
    before = sorted(other.path.rglob("*"))
    assert (await fetch(f"git+{mine.path}"))[0].skill.name == "mine"
    assert sorted(other.path.rglob("*")) == before


async def test_links_and_submodules_are_left_out_and_told(mine: Repository) -> None:
    (mine.path / "link").symlink_to("/etc/passwd")
    (mine.path / "up").symlink_to("../../..")
    mine.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    mine.write(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c "touch /tmp/never"\n')
    mine.git("add", "--all", "link", "up", ".gitmodules")
    mine.git("commit", "--quiet", "--message=x")
    [came] = await fetch(mine.reference)
    assert set(came.left_out) == {"link", "sub", "up"}
    assert came.skill.files() == [".gitmodules", "SKILL.md", "scripts/run.sh"]


@pytest.mark.parametrize("name", ["..", "a\\b", "C:x", "a\nb"])
async def test_names_that_lead_elsewhere_are_refused(repository: Repository, name: str) -> None:
    blob, skill = repository.blob(b"x"), repository.blob(manifest("mine").encode())
    repository.tree(f"100644 blob {blob}\t{name}", f"100644 blob {skill}\tSKILL.md")
    with pytest.raises((InvalidArchive, RemoteRefused)):
        await fetch(repository.reference)


async def test_names_that_are_one_on_many_computers_are_refused(repository: Repository) -> None:
    blob, skill = repository.blob(b"x"), repository.blob(manifest("mine").encode())
    repository.tree(f"100644 blob {blob}\ta", f"100644 blob {blob}\tA", f"100644 blob {skill}\tSKILL.md")
    with pytest.raises(InvalidArchive, match="one and the same name"):
        await fetch(repository.reference)


async def test_a_huge_file_is_refused_before_it_is_read(mine: Repository) -> None:
    mine.write("huge.bin", b"\0" * 3_000_000)
    mine.commit()
    with pytest.raises(InvalidSkill, match="more than 1,000,000 bytes"):
        await fetch(mine.reference, limits=Limits(size=1_000_000))


async def test_a_huge_repository_is_given_up_on_the_way(mine: Repository) -> None:
    mine.write("noise.bin", os.urandom(3_000_000))
    mine.commit()
    with pytest.raises(RemoteDamaged, match="sends more than"):
        await fetch(mine.reference, limits=Limits(repository=1_000_000))


async def test_a_tree_that_multiplies_is_given_up(repository: Repository) -> None:
    tree = repository.git("mktree", given=f"100644 blob {repository.blob(b'x')}\tSKILL.md\n".encode())
    for _ in range(10):
        lines = "".join(f"040000 tree {tree}\td{number}\n" for number in range(10))
        tree = repository.git("mktree", given=lines.encode())
    repository.git("update-ref", "refs/heads/main", repository.git("commit-tree", "-m", "x", tree))
    with pytest.raises(RemoteDamaged, match="sends more than"):
        await fetch(repository.reference)


async def test_one_that_never_answers_is_given_up(
    mine: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "silent.sh"
    silent.write_text("#!/bin/sh\nexec sleep 1000\n")
    silent.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(silent))
    with pytest.raises(RemoteUnreachable, match="more than 1 seconds"):
        await fetch("git+ssh://git@a.invalid/x.git", limits=Limits(seconds=1))


async def test_whoever_gives_up_leaves_no_program_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent, started = tmp_path / "silent.sh", tmp_path / "started"
    os.mkfifo(started)
    silent.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep 1000\n")
    silent.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(silent))
    task = asyncio.create_task(fetch("git+ssh://git@a.invalid/x.git"))
    pid = int(await asyncio.to_thread(started.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(until, lambda: _is_gone(pid))


async def test_nobody_is_asked_for_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ssh.sh"
    program.write_text(
        "#!/bin/sh\n(read answer < /dev/tty) 2>/dev/null && echo 'asked' >&2\necho 'Permission denied' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    with pytest.raises(RemoteRefused) as caught:
        await fetch("git+ssh://git@a.invalid/x.git")
    assert "asked" not in str(caught.value)


def _is_gone(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip() in ("", "Z", "Zs")


async def test_the_origin_is_text_whatever_the_path_is(mine: Repository) -> None:
    odd = mine.path.with_name("caf\udce9")
    mine.path.rename(odd)
    [came] = await fetch(f"git+{odd}")
    assert came.metadata["origin"] == f"git+file://{mine.path.parent}/caf?"
