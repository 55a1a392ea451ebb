"""``jupyter skills …`` about the store, as a user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_skills.cli import build_parser
from jupyter_skills.skills.skill import Skill
from jupyter_skills.store.store import SkillStore
from tests.conftest import Said, write_skill
from tests.server.jupyter import TOKEN, jupyter
from tests.sharing.repository import Repository, manifest, zipped
from tests.sharing.site import site
from tests.sharing.stores import KEY, Anthropic, LiteLLM


@pytest.fixture
def told(said: Said) -> Callable[..., Any]:
    """Runs a command line with ``--json``; gives what it told."""

    def run(*words: str) -> Any:
        status, out, err = said(*words, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture
def mine(workdir: Path) -> Path:
    folder = write_skill(workdir / "drafts", "mine", description="Does mine.")
    (folder / "run.sh").write_text("echo\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def as_somebody(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("JUPYTER_SKILLS_USER", name)


def test_a_skill_comes_gets_versions_goes_and_comes_back(said: Said, told: Callable[..., Any], mine: Path) -> None:
    status, out, _ = said("add", str(mine), "--title", "My thing")
    assert status == 0
    assert out.startswith("Added mine (skill_")
    assert out.endswith(", private.\n")
    [same] = told("add", "drafts/mine/SKILL.md")
    assert (same["outcome"], same["latest_version"], same["display_title"]) == ("unchanged", "1", "My thing")
    (mine / "more.txt").write_text("more")
    assert "has a new version, 2." in said("add", str(mine))[1]
    assert [version["version"] for version in told("versions", "mine")] == ["2", "1"]
    assert said("versions", same["id"])[1].splitlines()[0].startswith("2 (default): ")
    assert said("remove", "mine")[1].endswith(f"'jupyter skills restore {same['id']}' brings it back.\n")
    assert said("versions", "mine")[0] == 2
    assert said("restore", same["id"])[1] == f"Restored mine ({same['id']}).\n"
    assert told("edit", f"store:{same['id']}", "--visibility", "shared")["visibility"] == "shared"


def test_restoring_by_name_works_while_it_is_clear_which_one_is_meant(said: Said, mine: Path) -> None:
    assert said("add", str(mine))[0] == 0
    assert said("remove", "mine")[0] == 0
    assert said("restore", "mine")[0] == 0
    assert said("remove", "mine")[0] == 0
    assert said("add", str(mine))[0] == 0
    assert said("remove", "mine")[0] == 0
    status, _, err = said("restore", "mine")
    assert (status, "Give the id" in err) == (2, True)
    assert said("restore", "nothing")[0] == 2


def test_a_version_is_deleted_for_good_only_if_that_is_meant(said: Said, told: Callable[..., Any], mine: Path) -> None:
    said("add", str(mine))
    (mine / "more.txt").write_text("more")
    said("add", str(mine))
    status, _, err = said("remove", "mine", "--version", "2")
    assert (status, "--yes" in err) == (2, True)
    assert said("remove", "mine", "--version", "9", "--yes")[0] == 2
    assert said("remove", "mine", "--version", "2", "--yes")[1] == (
        "Deleted version 2 of mine: its default version is 1 now.\n"
    )
    assert [version["version"] for version in told("versions", "mine")] == ["1"]


def test_the_default_version_can_be_an_older_one(said: Said, told: Callable[..., Any], mine: Path) -> None:
    said("add", str(mine))
    (mine / "SKILL.md").write_text(manifest("mine", "Do it better."))
    said("add", str(mine))
    assert told("edit", "mine", "--default-version", "1", "--title", "One")["default_version"] == "1"
    assert said("export", "mine")[0] == 0
    assert "better" not in Skill.from_zip("mine.zip").body
    assert said("export", "mine", "--version", "2", "--force")[0] == 0
    assert "better" in Skill.from_zip("mine.zip").body
    assert said("edit", "mine")[0] == 2
    assert said("edit", "mine", "--default-version", "7")[0] == 2


def test_what_is_exported_is_what_was_added(said: Said, told: Callable[..., Any], mine: Path) -> None:
    said("add", str(mine))
    facts = told("export", "mine", "-o", "a/b/")
    assert (facts["path"], facts["digest"]) == ("a/b/mine.zip", Skill.from_path(mine).digest)
    assert Skill.from_zip("a/b/mine.zip").digest == facts["digest"]
    assert told("export", "mine", "-o", "x.skill")["path"] == "x.skill"
    assert told("export", "mine", "-o", "a/b/", "--folder")["path"] == "a/b/mine"
    assert Skill.from_path("a/b/mine").digest == facts["digest"]
    assert said("add", "x.skill")[1].count("already") == 1


def test_nothing_is_overwritten_by_accident(said: Said, mine: Path, workdir: Path) -> None:
    said("add", str(mine))
    (workdir / "mine.zip").write_text("precious")
    (workdir / "mine").mkdir()
    (workdir / "mine" / "precious").touch()
    (workdir / "drafts" / "mine.zip").write_text("precious")
    for words in ((), ("-o", "drafts"), ("--folder", "-o", "mine.zip")):
        status, out, err = said("export", "mine", *words)
        assert (status, out) == (2, "")
        assert "already" in err
    assert said("export", "mine", "--folder", "-o", "./mine")[1] == "Wrote version 1 of mine to mine/mine (2 files).\n"
    assert (workdir / "mine.zip").read_text() == "precious"
    (workdir / "mine/mine/stale.txt").touch()
    assert said("export", "mine", "--folder", "-o", "mine/")[0] == 2
    assert said("export", "mine", "--folder", "-o", "mine/", "--force")[0] == 0
    assert not (workdir / "mine/mine/stale.txt").exists()
    assert (workdir / "mine/precious").exists()
    shutil.rmtree(workdir / "mine/mine")
    (workdir / "mine/mine").mkdir()
    status, _, err = said("export", "mine", "--folder", "-o", "mine/", "--force")
    assert (status, "already" in err) == (2, True), "a folder that is no skill's is never replaced"
    assert said("export", "mine", "--force")[0] == 0
    assert not [path for path in workdir.iterdir() if path.name.startswith(".")]


def test_an_export_that_fails_leaves_nothing(said: Said, mine: Path, workdir: Path) -> None:
    said("add", str(mine))
    (workdir / "file").touch()
    for words in (("-o", "file/x.zip"), ("-o", "file/x", "--folder"), ("-o", "/dev/null/x.zip")):
        status, _, err = said("export", "mine", *words)
        assert (status, err.count("\n")) == (2, 1)
    assert sorted(path.name for path in workdir.iterdir()) == ["drafts", "file"]


def test_others_see_what_is_shared_and_change_nothing(
    said: Said, told: Callable[..., Any], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_somebody(monkeypatch, "ada")
    [hers] = told("add", str(mine))
    as_somebody(monkeypatch, "bob")
    unseen = said("versions", hers["id"])
    assert unseen[0] == 2
    assert unseen[2].replace(hers["id"], "ID") == said("versions", "skill_" + "0" * 32)[2].replace(
        "skill_" + "0" * 32, "ID"
    )
    as_somebody(monkeypatch, "ada")
    said("edit", "mine", "--visibility", "shared")
    as_somebody(monkeypatch, "bob")
    assert said("export", "mine")[0] == 0
    for words in (("remove", "mine"), ("edit", "mine", "--title", "x")):
        assert said(*words)[0] == 1
    [his] = told("add", str(mine))
    assert (his["outcome"], his["owner"]) == ("created", "bob")
    assert his["id"] != hers["id"]


def test_a_repository_is_added_with_its_commit(said: Said, told: Callable[..., Any], workdir: Path) -> None:
    repository = Repository(workdir / "repository")
    for name in ("one", "two"):
        repository.write(f"skills/{name}/SKILL.md", manifest(name))
    (repository.path / "skills/one/link").symlink_to("/etc/passwd")
    first = repository.commit()
    repository.write("skills/two/SKILL.md", manifest("two", "Do it better."))
    second = repository.commit()
    status, _, err = said("add", repository.reference)
    assert (status, "one, two" in err, "--all" in err) == (2, True, True)
    assert "Left out what is no file: link." in said("add", f"{repository.reference}#one")[1]
    added = told("add", repository.reference, "--all", "--revision", first, "--visibility", "shared")
    assert [one["outcome"] for one in added] == ["unchanged", "created"]
    assert {one["metadata"]["revision"] for one in added} == {first}
    assert {one["visibility"] for one in added} == {"shared"}
    [two] = told("add", f"{repository.reference}@main#two")
    assert (two["outcome"], two["metadata"]["revision"]) == ("new version", second)
    assert said("add", f"{repository.reference}@--upload-pack=id")[0] == 2
    assert said("add", repository.reference, "--all", "--title", "x")[0] == 2


def test_what_is_bad_is_told_from_what_is_missing(said: Said, workdir: Path) -> None:
    (workdir / "bad.zip").write_bytes(b"PK")
    (write_skill(workdir, "Bad Name") / "SKILL.md").write_text(manifest("Bad Name"))
    with site() as web:
        web.routes["/.well-known/agent-skills/index.json"] = b"[]"
        cases = {
            ("add", "bad.zip"): 1,
            ("add", "./Bad Name"): 1,
            ("add", web.url): 1,
            ("add", f"{web.url}/none.zip"): 2,
            ("add", "nothing"): 2,
            ("add", "./nowhere"): 2,
            ("add", "ftp://a.example/x"): 2,
            ("add", "bad.zip", "--revision", "x"): 2,
            ("remove", "nothing"): 2,
            ("restore", "skill_" + "0" * 32): 2,
            ("export", "nothing"): 2,
            ("push", "nothing", "--shape", "openai"): 2,
            ("pull", "x_1", "--shape", "litellm"): 2,
            ("completion",): 2,
        }
        for words, expected in cases.items():
            status, out, err = said(*words)
            assert (words, status, out) == (words, expected, "")
            assert err.startswith("error: ")
            assert err.count("\n") == 1
            assert err.count(". ") >= 1, "what happened, and what to do"


def test_the_words_of_strangers_are_shown_as_text(said: Said, told: Callable[..., Any], workdir: Path) -> None:
    folder = write_skill(workdir, "mine", description='"a\\u202e\\e[2Jb"')
    (folder / "link").symlink_to("/etc/passwd")
    status, out, _ = said("add", "./mine", "--json")
    assert (status, json.loads(out)[0]["description"]) == (0, Skill.from_path(folder).description)
    assert "\u202e" not in out
    assert "\x1b" not in out
    status, _, err = said("edit", "mine", "--title", "a\x1b[2J\u202eb")
    assert status == 2
    assert "\x1b" not in err


def test_a_store_that_can_not_be_used_is_one_line(said: Said, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine / "no.db").write_text("This is no database." * 100)
    monkeypatch.setenv("JUPYTER_SKILLS_DB", f"sqlite:///{mine / 'no.db'}")
    status, out, err = said("add", str(mine))
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_a_skill_is_pushed_and_pulled(
    said: Said, told: Callable[..., Any], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    said("add", str(mine), "--title", "My thing")
    with site() as web:
        there = Anthropic(web)
        to = ("--to", web.url, "--shape", "anthropic", "--key-env", "MY_KEY")
        assert said("push", "mine", *to)[1] == f"Created mine at {web.url}: skill_01, version skillver_1.\n"
        assert there.skills["skill_01"]["title"] == "My thing"
        assert told("push", "mine", *to)["outcome"] == "unchanged"
        assert said("push", "mine", "--to", web.url, "--shape", "anthropic")[2].count("ANTHROPIC_API_KEY") == 1
        there.added("theirs", zipped("theirs"))
        come = ("--from", web.url, "--shape", "anthropic", "--key-env", "MY_KEY")
        assert "Added theirs" in said("pull", "theirs", *come, "--visibility", "shared")[1]
        assert told("pull", "skill_02", *come)[0]["metadata"]["origin"] == f"{web.url}#skill_02"
        LiteLLM(web)
        to = ("--to", web.url, "--shape", "litellm", "--key-env", "MY_KEY")
        assert said("push", "mine", *to)[0] == 0
        status, _, err = said("push", "mine", *to)
        assert (status, "one version" in err) == (2, True)


@pytest.fixture
def server(workdir: Path, home: Path) -> Iterator[str]:
    """A Jupyter server of somebody else, with a store of its own."""
    environment = {**os.environ, "JUPYTER_SKILLS_DB": f"sqlite:///{home / 'theirs.db'}", "JUPYTER_SKILLS_USER": "eve"}
    with jupyter(
        "server", workdir, environment, "--ServerApp.base_url=/hub/", "--SkillsExtension.well_known=True"
    ) as url:
        yield f"{url}/hub/jupyter-skills"


@pytest.mark.parametrize("shape", ["anthropic", "openai"])
def test_skills_travel_over_a_real_jupyter_server(
    said: Said, told: Callable[..., Any], mine: Path, server: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    place = f"{server}/{shape}"
    said("add", str(mine))
    assert said("push", "mine", "--to", place, "--shape", shape)[0] == 2, "it wants its token"
    monkeypatch.setenv("JUPYTER_TOKEN", TOKEN)
    made = told("push", "mine", "--to", place, "--shape", shape)
    assert made["outcome"] == "created"
    assert told("push", "mine", "--to", f"{place}/v1", "--shape", shape)["outcome"] == "unchanged"
    (mine / "more.txt").write_text("more")
    said("add", str(mine))
    again = told("push", "mine", "--to", place, "--shape", shape)
    assert (again["outcome"], again["id"]) == ("new version", made["id"])
    as_somebody(monkeypatch, "somebody-else")
    [pulled] = told("pull", made["id"], "--from", place, "--shape", shape)
    assert told("versions", pulled["id"])[0]["digest"] == Skill.from_path(mine).digest
    [older] = told("pull", "mine", "--from", place, "--shape", shape, "--version", made["version"])
    assert older["outcome"] == "new version"
    assert said("pull", "skill_nothing", "--from", place, "--shape", shape)[0] == 2


def test_what_a_real_jupyter_server_publishes_is_added(
    said: Said,
    told: Callable[..., Any],
    mine: Path,
    server: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with monkeypatch.context() as theirs:
        theirs.setenv("JUPYTER_SKILLS_DB", f"sqlite:///{home / 'theirs.db'}")
        theirs.setenv("JUPYTER_SKILLS_USER", "eve")
        told("add", str(mine), "--visibility", "public")
    assert said("add", server)[0] == 2, "it wants its token"
    monkeypatch.setenv("JUPYTER_TOKEN", TOKEN)
    [added] = told("add", server)
    assert added["metadata"]["origin"] == f"{server}/.well-known/agent-skills/index.json#mine"
    assert told("versions", "mine")[0]["digest"] == Skill.from_path(mine).digest
    assert told("add", f"{server}#mine", "--key-env", "JUPYTER_TOKEN")[0]["outcome"] == "unchanged"


def completed(words: list[str], *, program: str = "jupyter-skills") -> list[str]:
    """What bash offers for the last of some words."""
    function = "_jupyter_skills" if program == "jupyter-skills" else "_jupyter_skills_of_jupyter"
    script = (
        'source <(jupyter-skills completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        f'{function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", program, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    return sorted(done.stdout.split())


def test_bash_completes_verbs_options_values_names_and_files(said: Said, mine: Path) -> None:
    said("add", str(mine))
    assert completed(["re"]) == ["remove", "restore"]
    assert "sandbox" in completed([""])
    assert completed(["sandbox", "b"]) == ["build"]
    assert completed(["add", "--re"]) == ["--revision"]
    assert completed(["add", "--visibility", ""]) == ["private", "public", "shared"]
    assert completed(["push", "mine", "--shape", "a"]) == ["anthropic"]
    assert completed(["push", "mine", "--to", ""]) == []
    assert completed(["export", "mi"]) == ["mine"]
    assert completed(["export", "--folder", "mi"]) == ["mine"]
    assert completed(["export", "mine", "-o", "dra"]) == ["drafts"]
    assert completed(["completion", ""]) == ["bash", "fish", "zsh"]
    assert completed(["show", "gif"]) == ["gif-maker"]
    assert completed(["skills", "versi"], program="jupyter") == ["versions"]
    assert completed(["skills", "sandbox", "pr"], program="jupyter") == ["prune"]
    assert "skills" in completed(["sk"], program="jupyter")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_every_verb_and_option(said: Said, shell: str) -> None:
    script = said("completion", shell)[1]
    verbs = build_parser()._subparsers._group_actions[0].choices
    for verb, parser in verbs.items():
        assert verb in script
        for action in parser._actions:
            for flag in action.option_strings:
                assert (flag.lstrip("-") if shell == "fish" else flag) in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, capture_output=True).returncode == 0


def test_names_are_those_of_the_store_and_of_discovery(said: Said, mine: Path, workdir: Path) -> None:
    names = said("completion", "--names")[1].split()
    assert "gif-maker" in names
    assert "mine" not in names
    said("add", str(mine))
    write_skill(workdir / ".agents/skills", "found")
    assert {"mine", "found", "gif-maker"} <= set(said("completion", "--names")[1].split())


def test_asking_for_names_makes_no_store(said: Said, home: Path, workdir: Path) -> None:
    said("completion", "--names")
    assert not list(home.rglob("*.sqlite3"))


def test_nobody_can_lay_a_link_where_an_export_writes(said: Said, mine: Path, workdir: Path) -> None:
    said("add", str(mine))
    (workdir / "victim").write_text("precious")
    (workdir / f".mine.zip.{os.getpid()}").symlink_to("victim")
    (workdir / "mine.zip").symlink_to("victim")
    assert said("export", "mine")[0] == 2
    assert said("export", "mine", "--force")[0] == 0
    assert not (workdir / "mine.zip").is_symlink()
    assert (workdir / "victim").read_text() == "precious"


def test_an_exported_archive_has_the_mode_that_the_user_gives_files(said: Said, mine: Path, workdir: Path) -> None:
    said("add", str(mine))
    (workdir / "usual").touch()
    said("export", "mine")
    assert (workdir / "mine.zip").stat().st_mode == (workdir / "usual").stat().st_mode
    assert sorted(path.name for path in workdir.iterdir()) == ["drafts", "mine.zip", "usual"]


def test_what_is_no_text_is_refused_in_a_line(said: Said, mine: Path, workdir: Path) -> None:
    said("add", str(mine))
    said("export", "mine", "-o", "z\udcff.zip")
    assert Skill.from_zip("z\udcff.zip").name == "mine"
    for words in (
        ("add", "z\udcff.zip"),
        ("versions", "\udcff"),
        ("remove", "skill_\udcff"),
        ("restore", "\udcff"),
        ("export", "mine", "--version", "\udcff"),
        ("edit", "mine", "--title", "\udcff"),
        ("pull", "skill_\udcff", "--shape", "openai"),
    ):
        status, out, err = said(*words)
        assert (words, status, out) == (words, 2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert "is no text" in err


def test_a_repository_whose_path_is_no_text_is_added_with_a_readable_origin(
    said: Said, told: Callable[..., Any], workdir: Path
) -> None:
    repository = Repository(workdir / "caf\udce9")
    repository.write("SKILL.md", manifest("mine"))
    repository.commit()
    [added] = told("add", f"git+{repository.path}", "--visibility", "shared")
    assert added["metadata"]["origin"] == f"git+file://{workdir}/caf?"


def test_what_the_store_has_and_what_was_deleted_is_listed_with_ids(said: Said, mine: Path) -> None:
    assert said("list", "--stored")[:2] == (0, "The store has no skill yet.\n")
    skill_id = json.loads(said("add", str(mine), "--json")[1])[0]["id"]
    out = said("list", "--stored")[1]
    assert skill_id in out
    assert "private, version 1" in out
    said("remove", skill_id)
    assert said("list", "--stored")[1] == "The store has no skill yet.\n"
    status, out, _ = said("list", "--deleted", "--json")
    assert (status, [row["id"] for row in json.loads(out)]) == (0, [skill_id])
    assert f"{skill_id}  {mine.name} (" in said("list", "--deleted")[1]


async def test_somebody_else_s_shared_skill_can_be_made_one_s_own(said: Said, mine: Path) -> None:
    async with SkillStore(user="bob") as store:
        shared = await store.create(mine, visibility="shared")
    mine.joinpath("SKILL.md").unlink()
    status, out, err = await asyncio.to_thread(said, "add", f"store:{shared.id}")
    assert (status, err) == (0, "")
    assert out.startswith(f"Added {shared.name} (skill_")
    assert shared.id not in out
