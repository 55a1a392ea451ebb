"""The rows of kernels, and what is swept up after them."""

from __future__ import annotations

import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from jupyter_skills import Skill
from jupyter_skills.errors import InvalidArchive, SkillNotFound, UsageProblem
from jupyter_skills.store.clock import now
from jupyter_skills.store.entries import Entries, Entry
from jupyter_skills.store.kernels import KernelInUse, in_kernel, kernels, sweep
from jupyter_skills.store.loaded import Kernel, LoadedSkill
from jupyter_skills.store.store import SkillStore
from jupyter_skills.store.tables import blobs, kernel_skills
from tests.conftest import write_skill
from tests.postgres import Cluster
from tests.store.processes import a_skill

MONTH = 30 * 86_400_000_000
ROUNDS = 12


@pytest.fixture
def zipped(tmp_path: Path) -> Skill:
    return Skill.from_zip(Skill.from_path(write_skill(tmp_path / "packed", "zipped")).to_zip())


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    return Skill.from_path(write_skill(tmp_path, "mine"))


def a_kernel(store: SkillStore, folder: Path, kernel_id: str, owner: str = "ann") -> Entries:
    folder.mkdir(exist_ok=True)
    file = folder / f"kernel-{kernel_id}.json"
    file.touch()
    return Entries(store, Kernel(owner, kernel_id, str(file)))


def load(entries: Entries, skill: Skill) -> list[Entry]:
    return entries.exchange({skill.name: Entry.of(skill.name, LoadedSkill(skill))})


def kept(store: SkillStore) -> int:
    return store.database.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(blobs)).scalar_one())


def change(store: SkillStore, **values: object) -> None:
    store.database.write(lambda connection: connection.execute(sa.update(kernel_skills).values(**values)))


def test_a_kernel_whose_connection_file_is_gone_has_ended(store: SkillStore, skill: Skill, tmp_path: Path) -> None:
    ended, going_on = (a_kernel(store, tmp_path, name) for name in ("ended", "going-on"))
    load(ended, skill)
    load(going_on, skill)
    assert sweep(store.database, "ann") == 0
    (tmp_path / "kernel-ended.json").unlink()
    assert sweep(store.database, "ann", spare="ended") == 0
    assert sweep(store.database, "ann") == 1
    assert ended.all() == []
    assert len(going_on.all()) == 1


def test_other_users_kernels_and_those_of_other_machines_are_left_alone(
    store: SkillStore, skill: Skill, tmp_path: Path
) -> None:
    bobs, remote = a_kernel(store, tmp_path / "x", "bobs", "bob"), a_kernel(store, tmp_path / "x", "remote")
    load(remote, skill)
    change(store, host="elsewhere")
    load(bobs, skill)
    shutil.rmtree(tmp_path / "x")
    assert sweep(store.database, "ann") == 0
    assert len(bobs.all()) == len(remote.all()) == 1


def test_what_nobody_has_used_for_a_month_is_forgotten_and_use_is_noted(
    store: SkillStore, skill: Skill, tmp_path: Path
) -> None:
    entries = a_kernel(store, tmp_path, "old")
    load(entries, skill)
    change(store, loaded_at=now() - MONTH + 1_000_000_000, host="elsewhere")
    assert sweep(store.database, "ann") == 0
    assert len(entries.all()) == 1, "now it was used"
    change(store, host="elsewhere")
    assert (
        store.database.read(lambda c: c.execute(sa.select(kernel_skills.c.loaded_at)).scalar_one()) > now() - MONTH / 2
    )
    change(store, loaded_at=now() - MONTH - 1_000_000)
    assert sweep(store.database, "ann") == 1


def test_bytes_go_with_the_last_row_that_names_them(store: SkillStore, zipped: Skill, tmp_path: Path) -> None:
    first, second = (a_kernel(store, tmp_path, name) for name in ("first", "second"))
    load(first, zipped)
    load(second, zipped)
    assert kept(store) == 1
    first.exchange({"zipped": None})
    assert second.opened(second.all()[0]).digest == zipped.digest
    (tmp_path / "kernel-second.json").unlink()
    sweep(store.database, "ann")
    assert kept(store) == 0


async def test_bytes_of_a_stored_version_stay(store: SkillStore, zipped: Skill, tmp_path: Path) -> None:
    stored = await store.create(zipped)
    entries = a_kernel(store, tmp_path, "first")
    load(entries, zipped)
    assert kept(store) == 1, "the same bytes are kept once"
    entries.exchange({"zipped": None})
    assert (await store.skill(stored.id)).digest == zipped.digest


async def test_bytes_of_a_kernel_stay_when_the_stored_skill_is_purged(
    store: SkillStore, zipped: Skill, tmp_path: Path
) -> None:
    stored = await store.create(zipped)
    entries = a_kernel(store, tmp_path, "first")
    load(entries, zipped)
    await store.delete(stored.id)
    assert await store.purge(0) == 1
    assert entries.opened(entries.all()[0]).digest == zipped.digest


def test_a_row_never_says_what_a_skill_may_do(store: SkillStore, zipped: Skill, tmp_path: Path) -> None:
    entries = a_kernel(store, tmp_path, "first")
    load(entries, zipped)
    change(store, detail="package jupyter-agent-skills")
    assert not entries.opened(entries.all()[0]).source.installed
    change(store, kind="something new")
    with pytest.raises(SkillNotFound, match="Upgrade"):
        entries.opened(entries.all()[0])


def test_the_rows_of_a_kernel_are_told_by_the_beginning_of_its_id(
    store: SkillStore, skill: Skill, zipped: Skill, tmp_path: Path
) -> None:
    ids = ("7c1e-one", "7c2f-two", "7c2f")
    for kernel_id in ids:
        load(a_kernel(store, tmp_path, kernel_id), skill)
    load(a_kernel(store, tmp_path, "7c1e-bobs", "bob"), zipped)
    assert kernels(store) == [KernelInUse(kernel_id, ("mine",)) for kernel_id in sorted(ids)]
    assert in_kernel("7c1", store) == [
        {
            "name": "mine",
            "description": "Does a thing.",
            "pinned": False,
            "run": "",
            "kind": "folder",
            "place": str(skill.folder),
            "problem": "",
        }
    ]
    assert len(in_kernel("7c2f", store)) == 1, "one that is meant exactly"
    with pytest.raises(UsageProblem, match="beginning of 3"):
        in_kernel("7c", store)
    with pytest.raises(SkillNotFound, match="in a kernel '8'"):
        in_kernel("8", store)


def test_a_folder_whose_path_is_no_text_can_not_be_kept(tmp_path: Path, skill: Skill) -> None:
    odd = tmp_path / "caf\udce9"
    odd.mkdir()
    from_odd = Skill.from_path(write_skill(odd, "mine"))
    with pytest.raises(Exception, match="is no text"):
        Entry.of("mine", LoadedSkill(from_odd))
    assert Entry.of("mine", LoadedSkill(replace(skill, name="other"))).name == "mine"


def test_a_kernel_whose_file_is_there_keeps_its_skills_however_long_nobody_looks(
    store: SkillStore, skill: Skill, tmp_path: Path
) -> None:
    entries = a_kernel(store, tmp_path, "idle")
    load(entries, skill)
    change(store, loaded_at=now() - 2 * MONTH)
    assert sweep(store.database, "ann") == 0
    assert len(entries.all()) == 1
    change(store, loaded_at=now() - 2 * MONTH, connection_file="")
    assert sweep(store.database, "ann") == 1, "where no file tells, the time does"


def test_another_machine_of_the_same_name_is_another_machine(store: SkillStore, skill: Skill, tmp_path: Path) -> None:
    entries = a_kernel(store, tmp_path, "theirs")
    load(entries, skill)
    host = store.database.read(lambda connection: connection.execute(sa.select(kernel_skills.c.host)).scalar_one())
    name, _, machine = host.rpartition(" ")
    assert name == socket.gethostname()[:200]
    assert len(machine) == 16
    change(store, host=f"{name} {machine[::-1]}x")
    (tmp_path / "kernel-theirs.json").unlink()
    assert sweep(store.database, "ann") == 0
    assert len(entries.all()) == 1
    change(store, host=host)
    assert sweep(store.database, "ann") == 1


def test_an_archive_that_was_damaged_in_the_store_is_the_problem_of_its_own_row(
    store: SkillStore, skill: Skill, zipped: Skill, tmp_path: Path
) -> None:
    entries = a_kernel(store, tmp_path, "one")
    load(entries, zipped)
    load(entries, skill)
    store.database.write(lambda connection: connection.execute(sa.update(blobs).values(content=b"other bytes")))
    damaged, fine = in_kernel("one", store)
    assert (damaged["name"], fine["name"], fine["problem"]) == ("zipped", "mine", "")
    assert "damaged" in damaged["problem"]
    with pytest.raises(InvalidArchive, match="'zipped' can't be read"):
        entries.opened(entries.all()[0])


@pytest.mark.parametrize("ids", [("same",) * 4, ("one", "two", "three", "four")])
def test_those_who_replace_archives_at_once_leave_no_bytes_behind(
    store: SkillStore, tmp_path: Path, ids: tuple[str, ...]
) -> None:
    def replace_often(number: int) -> None:
        entries = a_kernel(store, tmp_path / str(number), ids[number])
        for turn in range(ROUNDS):
            load(entries, a_skill("replaced", f"From {number} in turn {turn}."))

    with ThreadPoolExecutor(len(ids)) as threads:
        list(threads.map(replace_often, range(len(ids))))
    assert kept(store) == len(set(ids))
    for kernel_id in set(ids):
        a_kernel(store, tmp_path, kernel_id).exchange({"replaced": None})
    assert kept(store) == 0


@pytest.mark.database
def test_nor_do_they_wait_for_each_other_in_a_ring(postgres: Cluster, postgres_url: str, tmp_path: Path) -> None:
    before = (postgres.folder / "log").read_text().count("deadlock detected")
    store = SkillStore(postgres_url, user="ann")
    test_those_who_replace_archives_at_once_leave_no_bytes_behind(store, tmp_path, ("one", "two", "three", "four"))
    store.database.close()
    assert (postgres.folder / "log").read_text().count("deadlock detected") == before
