"""The verbs of ``jupyter skills`` about the store: how skills come into it, what becomes of them, how they leave."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from jupyter_skills.cli.shell import GOOD, say
from jupyter_skills.errors import SkillNotFound, UsageProblem
from jupyter_skills.words import count, first_names

if TYPE_CHECKING:
    from jupyter_skills.sharing.fetched import Fetched
    from jupyter_skills.sharing.keeping import Kept
    from jupyter_skills.store.records import SkillVersion, StoredSkill
    from jupyter_skills.store.store import SkillStore

_ID, _PREFIX = "skill_", "store:"
_VISIBILITIES = ("private", "shared", "public")
_SHAPES = ("anthropic", "openai", "litellm")
_PAGE = 1000
_MOST_SHOWN = 5
_DIGITS = 19  # of a digest, with what is before the ':'
_PATHS = ("reference", "output")  # and any bytes may be in a path

_Work = Callable[[argparse.Namespace, "SkillStore"], Awaitable[int]]


def add_verbs(verbs: Any) -> None:
    """Adds the verbs of this file to a command line's subparsers."""
    add = _verb(verbs, "add", _add, "put a skill into the store: a new one, or a new version of your own of its name")
    add.add_argument(
        "reference",
        metavar="REF",
        help="a folder, archive or name; https://… of an archive or of a site with an index of skills (#NAME chooses"
        " one); git+https://…, git+ssh://…, git+file://… or git+PATH, with @REVISION, #subdirectory=FOLDER or #NAME",
    )
    add.add_argument("--title", metavar="TITLE", help="what people see (default: the skill's name)")
    _add_visibility(add)
    add.add_argument("--revision", metavar="REV", help="the branch, tag or commit of a git repository")
    add.add_argument("--key-env", metavar="NAME", help="the environment variable with the key that a site asks for")
    add.add_argument("--all", action="store_true", help="all skills of a repository or an index")
    remove = _verb(verbs, "remove", _remove, "delete a skill of the store; 'restore' undoes it")
    _add_skill(remove)
    remove.add_argument("--version", metavar="N", help="delete only this version, for good")
    remove.add_argument("--yes", action="store_true", help="mean it: a version that was deleted can't be restored")
    restore = _verb(verbs, "restore", _restore, "bring a deleted skill back")
    restore.add_argument("skill", metavar="ID", help="its id, or its name")
    versions = _verb(verbs, "versions", _versions, "list the versions of a skill, newest first")
    _add_skill(versions)
    export = _verb(verbs, "export", _export, "write a skill of the store to the disk")
    _add_skill(export)
    export.add_argument("--version", metavar="N", help="the version (default: the default one)")
    export.add_argument(
        "-o", "--output", metavar="FILE", help="a file, or a folder with '/' at the end (default: here)"
    )
    export.add_argument("--folder", action="store_true", help="lay its files out in a folder, instead of a zip")
    export.add_argument("--force", action="store_true", help="replace what is there")
    edit = _verb(verbs, "edit", _edit, "change who sees a skill, how it is called, or which version is the default")
    _add_skill(edit)
    edit.add_argument("--title", metavar="TITLE", help="what people see")
    _add_visibility(edit)
    edit.add_argument("--default-version", metavar="N", help="the version that is meant where none is named")
    push = _verb(verbs, "push", _push, "send a skill to another skills endpoint, as a new version if its name is there")
    _add_skill(push)
    push.add_argument("--version", metavar="N", help="the version (default: the default one)")
    _add_endpoint(push, "--to")
    push.add_argument("--title", metavar="TITLE", help="what people see there (default: its title here)")
    push.add_argument("--id", metavar="REMOTE_ID", help="the skill there that gets a new version")
    pull = _verb(verbs, "pull", _pull, "take a skill from another skills endpoint into the store")
    pull.add_argument("remote", metavar="REMOTE_ID", help="its id or name there")
    pull.add_argument("--version", metavar="VERSION", help="the version, as it is called there")
    _add_endpoint(pull, "--from")
    pull.add_argument("--title", metavar="TITLE", help="what people see (default: the skill's name)")
    _add_visibility(pull)


def _verb(verbs: Any, name: str, work: _Work, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=lambda options: asyncio.run(_with_store(options, work)))
    return parser


def _add_skill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skill", metavar="ID|NAME", help="a skill of the store; your own comes first")


def _add_visibility(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--visibility",
        choices=_VISIBILITIES,
        help="who sees it: you, every user of the store, or whoever reads its public index too",
    )


def _add_endpoint(parser: argparse.ArgumentParser, flag: str) -> None:
    parser.add_argument(
        flag, dest="endpoint", metavar="URL", help="the endpoint's address (default: that of the provider itself)"
    )
    parser.add_argument("--shape", choices=_SHAPES, required=True, help="whose API it speaks")
    parser.add_argument(
        "--key-env",
        metavar="NAME",
        help="the environment variable with the key (default: ANTHROPIC_API_KEY or OPENAI_API_KEY for the provider"
        " itself, LITELLM_API_KEY for LiteLLM, JUPYTER_TOKEN for a Jupyter server on this machine)",
    )


async def _with_store(options: argparse.Namespace, work: _Work) -> int:
    from jupyter_skills.store.store import SkillStore

    for name, value in vars(options).items():
        if name not in _PATHS and isinstance(value, str):
            _check(value)
    async with SkillStore() as store:
        return await work(options, store)


def _check(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        raise UsageProblem(f"{word!a} is no text", "Leave out what is no character") from None


async def _add(options: argparse.Namespace, store: SkillStore) -> int:
    from jupyter_skills.sharing.fetching import fetch

    if options.all and options.title:
        raise UsageProblem("One title can't be that of all", "Give --title with a single skill")
    fetched = await fetch(
        options.reference, revision=options.revision, everything=options.all, key_variable=options.key_env
    )
    return await _keep(options, store, fetched)


async def _remove(options: argparse.Namespace, store: SkillStore) -> int:
    found = await _find(store, options.skill)
    if options.version is None:
        gone = await store.delete(found.id)
        return _tell(
            options,
            gone.as_json(full=False),
            f"Deleted {gone.name}, with all its versions. 'jupyter skills restore {gone.id}' brings it back.",
        )
    version = await store.version(found.id, options.version)
    if not options.yes:
        raise UsageProblem(
            f"Version {version.version} of '{found.name}' could not be restored", "Say that you mean it, with --yes"
        )
    await store.delete_version(found.id, version.version)
    left = await store.get(found.id)
    now = f"its default version is {left.default_version} now" if left.default_version else "it has no version left"
    return _tell(options, version.as_json(), f"Deleted version {version.version} of {found.name}: {now}.")


async def _restore(options: argparse.Namespace, store: SkillStore) -> int:
    word = options.skill.removeprefix(_PREFIX)
    back = await store.restore(word if word.startswith(_ID) else await _deleted(store, word))
    return _tell(options, back.as_json(full=False), f"Restored {back.name} ({back.id}).")


async def _versions(options: argparse.Namespace, store: SkillStore) -> int:
    found = await _find(store, options.skill)
    listed: list[SkillVersion] = []
    after = None
    while True:
        page = await store.versions(found.id, limit=_PAGE, after=after)
        listed += page.items
        after = page.cursor
        if after is None:
            break
    rows = [
        f"{version.version}{' (default)' * (version.version == found.default_version)}:"
        f" {version.created_at:%Y-%m-%d %H:%M} UTC, {count(version.file_count, 'file')}, {count(version.size, 'byte')},"
        f" {version.digest[:_DIGITS]}"
        for version in listed
    ]
    return _tell(options, [version.as_json() for version in listed], *rows)


async def _export(options: argparse.Namespace, store: SkillStore) -> int:
    from jupyter_skills.sharing.export import target_of, write_folder, write_zip

    found = await _find(store, options.skill)
    version = await store.version(found.id, options.version)
    target = target_of(options.output, found.name, "" if options.folder else ".zip")
    if options.folder:
        write_folder(await store.skill(found.id, version.version), target, force=options.force)
    else:
        write_zip(await store.content(found.id, version.version), target, force=options.force)
    facts = {"path": str(target), **version.as_json()}
    files = count(version.file_count, "file")
    return _tell(options, facts, f"Wrote version {version.version} of {found.name} to {target} ({files}).")


async def _edit(options: argparse.Namespace, store: SkillStore) -> int:
    changes = {key: getattr(options, key) for key in ("title", "visibility", "default_version")}
    if not any(value is not None for value in changes.values()):
        raise UsageProblem("edit: nothing to change", "Give --title, --visibility or --default-version")
    found = await _find(store, options.skill)
    now = await store.update(found.id, **{key: value for key, value in changes.items() if value is not None})
    return _tell(
        options,
        now.as_json(full=False),
        f"{now.name} ({now.id}): titled '{now.title}', {now.visibility}, default version {now.default_version}.",
    )


async def _push(options: argparse.Namespace, store: SkillStore) -> int:
    from jupyter_skills.sharing import endpoint_at, push

    found = await _find(store, options.skill)
    skill = await store.skill(found.id, options.version)
    async with endpoint_at(options.endpoint, options.shape, key_variable=options.key_env) as endpoint:
        pushed = await push(endpoint, skill, options.title or found.title, options.id)
    facts = {"outcome": pushed.outcome, "id": pushed.skill_id, "version": pushed.version, "place": pushed.place}
    version = f", version {pushed.version}" if pushed.version else ""
    deed = {
        "created": f"Created {found.name} at {pushed.place}: {pushed.skill_id}{version}.",
        "new version": f"{found.name} has a new version at {pushed.place}: {pushed.skill_id}{version}.",
        "unchanged": f"{pushed.place} has these files of {found.name} already: {pushed.skill_id}{version}.",
    }
    return _tell(options, facts, deed[pushed.outcome])


async def _pull(options: argparse.Namespace, store: SkillStore) -> int:
    from jupyter_skills.sharing import endpoint_at, pull

    async with endpoint_at(options.endpoint, options.shape, key_variable=options.key_env) as endpoint:
        fetched = await pull(endpoint, options.remote, options.version)
    return await _keep(options, store, [fetched])


async def _keep(options: argparse.Namespace, store: SkillStore, fetched: list[Fetched]) -> int:
    from jupyter_skills.sharing.keeping import keep

    kept = [await keep(store, one, title=options.title, visibility=options.visibility) for one in fetched]
    facts = [{"outcome": one.outcome, "left_out": list(one.left_out), **one.skill.as_json(full=False)} for one in kept]
    return _tell(options, facts, *(line for one in kept for line in _deed(one)))


def _deed(kept: Kept) -> list[str]:
    skill = kept.skill
    lines = {
        "created": [f"Added {skill.name} ({skill.id}), {skill.visibility}."],
        "new version": [f"{skill.name} ({skill.id}) has a new version, {skill.latest_version}."],
        "unchanged": [f"{skill.name} ({skill.id}) has these files already, as version {skill.latest_version}."],
    }[kept.outcome]
    if kept.left_out:
        lines.append(f"Left out what is no file: {first_names(kept.left_out, _MOST_SHOWN)}.")
    return lines


async def _find(store: SkillStore, word: str) -> StoredSkill:
    """The skill that a word means: an id, or a name."""
    word = word.removeprefix(_PREFIX)
    return await (store.get(word) if word.startswith(_ID) else store.find(word))


async def _deleted(store: SkillStore, name: str) -> str:
    """The id of the user's deleted skill of a name."""
    ids = [skill.id async for skill in store.every(deleted=True) if skill.name == name][::-1]
    if not ids:
        raise SkillNotFound(f"You have deleted no skill '{name}'", "See 'jupyter skills list --deleted'")
    if len(ids) > 1:
        raise UsageProblem(
            f"You have deleted {len(ids)} skills '{name}'",
            f"Give the id, newest first: {first_names(ids, _MOST_SHOWN)}",
        )
    return ids[0]


def _tell(options: argparse.Namespace, facts: Any, *lines: str) -> int:
    say(json.dumps(facts, ensure_ascii=False, indent=2) if options.json else "\n".join(lines))
    return GOOD
