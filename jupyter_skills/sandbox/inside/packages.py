"""Runs inside the isolated kernel: which packages are there already."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def missing(requirements: list[str]) -> list[str]:
    """Those of some requirements that are not met here.

    Args:
        requirements: In PEP 508's notation.
    """
    try:
        from packaging.requirements import Requirement  # ipykernel brings it along
    except ImportError:
        return requirements
    unmet = []
    for text in requirements:
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            met = not wanted.extras and wanted.specifier.contains(version(wanted.name), prereleases=True)
        except PackageNotFoundError:
            met = False
        if not met:
            unmet.append(text)
    return unmet
