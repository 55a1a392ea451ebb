"""What an engine is: its parts, their versions, and how it keeps containers apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EngineFacts:
    """An engine as it describes itself; what it doesn't say is empty.

    Args:
        product: Its name, such as ``Docker``.
        version: Its version.
        api_version: The version of its API.
        operating_system: Of the machine it runs on.
        architecture: Of that machine.
        kernel: The version of that machine's kernel.
        runc: The version of runc, which starts containers.
        containerd: The version of containerd, which looks after them.
        storage_driver: What puts images' layers together.
        cgroup_version: ``1`` or ``2``.
        cgroup_driver: Who makes control groups: ``systemd`` or ``cgroupfs``.
        swap_limit: Whether the kernel can limit swap.
        security_options: Such as ``seccomp``, with its profile.
        rootless: Whether the engine itself runs without root.
        user_namespaces: Whether root inside is somebody else outside, for ``rootless`` or by ``userns-remap``.
        runtime: What containers are run by.
        runtimes: All that it could run them by.
    """

    product: str
    version: str
    api_version: str
    operating_system: str
    architecture: str
    kernel: str
    runc: str
    containerd: str
    storage_driver: str
    cgroup_version: str
    cgroup_driver: str
    swap_limit: bool
    security_options: tuple[str, ...]
    rootless: bool
    user_namespaces: bool
    runtime: str
    runtimes: tuple[str, ...]

    @classmethod
    def of(cls, info: Mapping[str, Any], runtime: str = "") -> EngineFacts:
        """The engine that an ``Engine.info`` tells of.

        Args:
            info: What the engine says.
            runtime: What containers are to be run by; empty for the engine's own choice.
        """
        components = {
            _text(part.get("Name")): _text(part.get("Version"))
            for part in info.get("Components") or ()
            if isinstance(part, dict)
        }
        options = [_text(option).removeprefix("name=") for option in info.get("SecurityOptions") or ()]
        names = {option.partition(",")[0] for option in options}
        platform = info.get("Platform")
        product = _text(platform.get("Name")) if isinstance(platform, dict) else ""
        return cls(
            product=product or next((name for name in components if name.startswith("Podman")), "Docker"),
            version=_text(info.get("ServerVersion")),
            api_version=_text(info.get("ApiVersion")),
            operating_system=_text(info.get("OperatingSystem")),
            architecture=_text(info.get("Architecture")),
            kernel=_text(info.get("KernelVersion")),
            runc=components.get("runc", ""),
            containerd=components.get("containerd", ""),
            storage_driver=_text(info.get("Driver")),
            cgroup_version=_text(info.get("CgroupVersion")),
            cgroup_driver=_text(info.get("CgroupDriver")),
            swap_limit=info.get("SwapLimit") is True,
            security_options=tuple(options),
            rootless="rootless" in names,
            user_namespaces=bool(names & {"rootless", "userns"}),
            runtime=runtime or _text(info.get("DefaultRuntime")),
            runtimes=tuple(sorted(map(_text, info.get("Runtimes") or ()))),
        )


def _text(value: object) -> str:
    return "" if value is None else str(value)
