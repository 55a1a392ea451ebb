"""Which skills may run code of theirs outside of the sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_skills import Skill
from jupyter_skills.errors import SkillsError
from jupyter_skills.skills.source import Source, SourceKind
from jupyter_skills.skills.trust import TrustLedger
from tests.conftest import write_skill


@pytest.mark.parametrize("kind", ["user", "path", "package", "text"])
def test_what_the_user_put_in_place_is_trusted(tmp_path: Path, kind: SourceKind) -> None:
    assert TrustLedger(tmp_path / "trusted").trusts(Skill.from_path(write_skill(tmp_path, "x"), Source(kind)))


@pytest.mark.parametrize("kind", ["project", "folder", "archive", "store"])
def test_what_came_along_is_not_until_the_user_says_so(tmp_path: Path, kind: SourceKind) -> None:
    ledger = TrustLedger(tmp_path / "trusted")
    skill = Skill.from_path(write_skill(tmp_path, "x"), Source(kind))
    assert not ledger.trusts(skill)
    assert ledger.trust(skill) == skill.digest
    assert ledger.trusts(skill)
    assert TrustLedger(tmp_path / "trusted").trusts(skill), "it is remembered"


@pytest.mark.parametrize("change", ["content", "new file", "executable", "renamed"])
def test_any_change_takes_trust_away_and_changing_back_gives_it_back(tmp_path: Path, change: str) -> None:
    ledger = TrustLedger(tmp_path / "trusted")
    folder = write_skill(tmp_path, "x")
    run = folder / "run.sh"
    run.write_text("echo\n")
    ledger.trust(Skill.from_path(folder))
    match change:
        case "content":
            run.write_text("echo \n")
        case "new file":
            (folder / "more").touch()
        case "executable":
            run.chmod(0o755)
        case "renamed":
            run.rename(folder / "go.sh")
    assert not ledger.trusts(Skill.from_path(folder))
    (folder / "go.sh").rename(run) if change == "renamed" else None
    run.write_text("echo\n")
    run.chmod(0o644)
    (folder / "more").unlink(missing_ok=True)
    assert ledger.trusts(Skill.from_path(folder))


def test_trust_is_about_bytes_and_not_about_names(tmp_path: Path) -> None:
    ledger = TrustLedger(tmp_path / "trusted")
    mine = Skill.from_path(write_skill(tmp_path / "a", "x"))
    ledger.trust(mine)
    assert ledger.trusts(Skill.from_path(write_skill(tmp_path / "b", "x"))), "the same bytes elsewhere"
    assert not ledger.trusts(Skill.from_path(write_skill(tmp_path / "c", "x", body="Else.")))


def test_trust_taken_back_is_taken_from_all_versions_of_the_name(tmp_path: Path) -> None:
    ledger = TrustLedger(tmp_path / "trusted")
    old, new, other = (Skill.from_path(write_skill(tmp_path / b, "x" if b != "c" else "y", body=b)) for b in "abc")
    for skill in (old, new, other):
        ledger.trust(skill)
    assert ledger.untrust(new) == 2
    assert [ledger.trusts(skill) for skill in (old, new, other)] == [False, False, True]
    assert ledger.untrust(new) == 0


def test_what_is_noted_says_what_was_trusted_and_a_damaged_note_does_no_harm(tmp_path: Path) -> None:
    ledger = TrustLedger(tmp_path / "trusted")
    skill = Skill.from_path(write_skill(tmp_path, "x"), Source("project"))
    digest = ledger.trust(skill)
    note = ledger.entries()[digest]
    assert (note["name"], note["source"]) == ("x", "project")
    (tmp_path / "trusted" / f"{digest.removeprefix('sha256:')}.json").write_text("{")
    (tmp_path / "trusted" / "junk").write_text(json.dumps({"name": "x"}))
    assert ledger.entries() == {digest: {}}


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "trusted").write_text("a file")
    with pytest.raises(SkillsError, match=r"can't be noted .* Make that folder writable"):
        TrustLedger(tmp_path / "trusted").trust(Skill.from_path(write_skill(tmp_path, "x")))
