"""Scenarios about what is taken into the store, and what is found in it."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

from jupyter_skills.testing import Turn
from tests.litellm_hook.scenarios import archive, everything, expect, messages, results, scenario, skill
from tests.litellm_hook.sides import Side

_MIB = 2**20


@scenario(12, "What is no archive is stored.", "bytes that are no zip were stored")
async def anything_is_stored(side: Side) -> None:
    expect(await _refuses(side, b"no zip"), "bytes that are no zip were stored")


@scenario(12, "An archive without a SKILL.md is stored.", "a zip without SKILL.md was stored")
async def archives_without_a_skill_are_stored(side: Side) -> None:
    expect(await _refuses(side, archive({"notes.txt": "Add."})), "a zip without SKILL.md was stored")


@scenario(12, "An open file, as documented, is ignored.", "nothing of the file was stored")
async def open_files_are_ignored(side: Side) -> None:
    opened = io.BytesIO(skill())
    opened.name = "sums.zip"
    sums = await side.add(opened)
    side.model.add(Turn("42."))
    await messages(side, sums)
    expect("Reckons for sums." in everything(side.model.requests[0].body), "nothing of the file was stored")


@scenario(12, "Of several files only the first is kept.", "references/table.md was not stored", docker=True)
async def further_files_are_ignored(side: Side) -> None:
    sums = await side.add(
        ("sums/SKILL.md", b"---\nname: sums\ndescription: Reckons.\n---\nAdd.\n", "text/markdown"),
        ("sums/references/table.md", b"1, 2, 3", "text/markdown"),
    )
    looking = f"import pathlib; print(list(pathlib.Path('{side.skills_folder}').rglob('table.md')))"
    side.model.add(Turn(calls=[*side.opened("sums"), side.code(looking)]), Turn("There."))
    await messages(side, sums)
    expect(len(side.model.requests) == 2, "references/table.md was not stored")
    expect("table.md" in results(side.model.requests[1].body)[-1], "references/table.md was not stored")


@scenario(12, "What a skill says of itself is not read.", "the tool is described by the title")
async def descriptions_are_not_read(side: Side) -> None:
    sums = await side.add(skill(), title="Abacus")
    side.model.add(Turn("42."))
    await messages(side, sums)
    body = side.model.requests[0].body
    expect(all(tool["description"] != "Abacus" for tool in body["tools"]), "the tool is described by the title")
    expect("Reckons for sums." in everything(body), "the description was not sent")


@scenario(13, "A SKILL.md further down passes for the skill's.", "the vendor's instructions were used")
async def nested_skills_win(side: Side) -> None:
    own, vendor = (f"---\nname: sums\ndescription: Adds.\n---\n{said}\n" for said in ("On the abacus.", "By hand."))
    sums = await side.add(archive({"sums/vendor/sums/SKILL.md": vendor, "sums/SKILL.md": own}))
    side.model.add(Turn("Let me see.", calls=side.opened("sums")), Turn("42."))
    await messages(side, sums)
    sent = "".join(everything(request.body) for request in side.model.requests)
    expect("By hand." not in sent, "the vendor's instructions were used")
    expect("On the abacus." in sent, "the skill's instructions were not used")


@scenario(13, "A zip without a top folder loses its folders.", "scripts/add.py was put at add.py", docker=True)
async def flat_archives_lose_their_folders(side: Side) -> None:
    sums = await side.add(archive({"SKILL.md": "---\nname: sums\ndescription: Adds.\n---\n", "scripts/add.py": "1"}))
    looking = f"import pathlib; print(list(pathlib.Path('{side.skills_folder}').rglob('add.py')))"
    side.model.add(Turn(calls=[*side.opened("sums"), side.code(looking)]), Turn("There."))
    await messages(side, sums)
    printed = results(side.model.requests[1].body)[-1]
    expect("add.py" in printed, "add.py was nowhere")
    expect("scripts/add.py" in printed, "scripts/add.py was put at add.py")


@scenario(14, "A small zip is unpacked without bounds, at each request.", "64 KB took up 64 MB at a request")
async def zip_bombs_are_unpacked(side: Side) -> None:
    packed = archive({"sums/SKILL.md": "---\nname: sums\ndescription: Adds.\n---\n", "sums/zeros": bytes(64 * _MIB)})
    tracemalloc.start()
    try:
        sums = await side.add(packed)
        side.model.add(Turn("42."))
        await messages(side, sums)
    except side.litellm.BadRequestError:
        pass  # that is the best that can be done with it, within bounds too
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    expect(peak < 32 * _MIB, "64 KB took up 64 MB at a request")


@scenario(16, "Only the first page can be read.", "3 of 7 skills are found")
async def later_pages_are_unreachable(side: Side) -> None:
    for number in range(7):
        await side.add(skill(f"sums-{number}"), title=f"Sums {number}")
    found = await side.titles(page_size=3)
    expect(len(set(found)) == 7, f"{len(set(found))} of 7 skills are found")


@scenario(16, "The functions that are not async fail in notebooks.", "This event loop is already running")
async def sync_functions_fail_in_notebooks(side: Side) -> None:
    try:
        side.add_without_await(skill())
    except Exception as error:  # noqa: BLE001 -- what it says is told
        expect(False, str(error).rpartition(" - ")[2])
    expect(await side.titles(page_size=3) == ["Sums"], "it was not stored")


@scenario(18, "Paths in an archive may lead out of the sandbox's folder.", "holds", docker=True)
async def paths_lead_out(side: Side) -> None:
    files = {"sums/SKILL.md": "---\nname: sums\ndescription: Adds.\n---\n", "sums/../../out.txt": "out"}
    try:
        sums = await side.add(archive(files))
    except side.litellm.BadRequestError:
        return
    side.model.add(Turn(calls=[side.code("import os; print(os.path.exists('/out.txt'))")]), Turn("No."))
    await messages(side, sums)
    expect("False" in results(side.model.requests[1].body)[0], "a file of the archive's was written to /")


async def _refuses(side: Side, files: Any) -> bool:
    """Whether it is refused as the caller's mistake."""
    try:
        await side.add(files)
    except side.litellm.BadRequestError:
        return True
    return False
