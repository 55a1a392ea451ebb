"""Whether a Jupyter server still answers while skills are uploaded: 50 at once, of 5 MB each.

Usage: python benchmarks/server.py [--uploads N] [--megabytes N]

Prints how long ``/api/status`` takes beside the uploads, and how long on the same server without them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import machine

from jupyter_skills.skills.archive import pack
from jupyter_skills.skills.files import FileEntry, MemoryFiles
from tests.server.jupyter import TOKEN, jupyter

BOUND_MS = 100.0


def archive(number: int, size: int) -> bytes:
    """A skill of its own with a file that can't be compressed."""
    manifest = f"---\nname: upload-{number}\ndescription: Measures the server.\n---\nDo it.\n".encode()
    data = random.Random(number).randbytes(size)
    return pack(MemoryFiles({"SKILL.md": FileEntry(manifest), "data.bin": FileEntry(data)}), f"upload-{number}")


async def asked(client: httpx.AsyncClient, over: asyncio.Event, least: int) -> list[float]:
    """How long ``/api/status`` took, in ms, each time until it is over."""
    times: list[float] = []
    while not over.is_set() or len(times) < least:
        began = time.perf_counter()
        (await client.get("/api/status")).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return times


async def measured(url: str, bodies: list[bytes]) -> tuple[list[float], list[float], float]:
    """Times without uploads and beside them, and how long these took, in s."""
    headers = {"Authorization": f"token {TOKEN}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=300, limits=httpx.Limits()) as client:
        over = asyncio.Event()
        over.set()
        (await client.get("/jupyter-skills/api/skills")).raise_for_status()  # opens the store
        quiet = await asked(client, over, 100)
        over.clear()
        watch = asyncio.create_task(asked(client, over, 1))
        began = time.perf_counter()
        files = [{"files": (f"{i}.zip", body, "application/zip")} for i, body in enumerate(bodies)]
        answers = await asyncio.gather(*(client.post("/jupyter-skills/api/skills", files=one) for one in files))
        took = time.perf_counter() - began
        over.set()
        for answer in answers:
            answer.raise_for_status()
        return quiet, await watch, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=50)
    parser.add_argument("--megabytes", type=float, default=5.0)
    options = parser.parse_args()
    bodies = [archive(number, int(options.megabytes * 1e6)) for number in range(options.uploads)]
    print(machine("jupyter-server"))
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JUPYTER_SKILLS_DB": f"sqlite:///{folder}/skills.sqlite3"}
        with jupyter("server", Path(folder), environment) as url:
            quiet, beside, took = asyncio.run(measured(url, bodies))
    print(f"{options.uploads} uploads of {options.megabytes:g} MB took {took:.1f} s")
    for when, times in (("alone", quiet), ("beside them", beside)):
        print(f"/api/status {when:<12} median {median(times):6.1f} ms, slowest {max(times):7.1f} ms of {len(times)}")
    print(f"bound {BOUND_MS:.0f} ms at the median: {'holds' if median(beside) < BOUND_MS else 'MISSED'}")


if __name__ == "__main__":
    main()
