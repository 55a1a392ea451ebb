"""The limits of the sandbox."""

from __future__ import annotations

from traitlets import CFloat, CInt, List, Unicode
from traitlets.config import Configurable

KERNEL_NAME = "python3-isolated"
"""The kernelspec of the isolated kernel, for other Jupyter clients."""
DEFAULT_IMAGE = "jupyter-skills-sandbox:latest"
MIB = 1024 * 1024


class DockerSandbox(Configurable):
    """Settings of the isolated kernel.

    Those of the container take effect when the sandbox next starts, the others (time, output, files, audit) at once.
    """

    image = Unicode(
        DEFAULT_IMAGE,
        help="The image that the isolated kernel runs from: any that has python3 with ipykernel on its PATH.",
    ).tag(config=True)
    memory = Unicode("1g", help="Memory limit, in Docker's notation; there is no swap.").tag(config=True)
    cpus = CFloat(1.0, help="How many processors' worth of time it may use.").tag(config=True)
    pids = CInt(128, help="How many processes and threads it may have.").tag(config=True)
    runtime = Unicode("", help="What runs the container, such as 'runsc' (gVisor); empty: the engine's choice.").tag(
        config=True
    )
    waive = List(
        Unicode(),
        help="Controls to do without, by the names that 'jupyter skills preflight' shows. If the engine lacks "
        "one that is not named here, no sandbox starts.",
    ).tag(config=True)
    network = List(
        Unicode(),
        help="The hosts that code may connect to, through a proxy; none if empty. For example ['pypi.org', "
        "'*.example.org', 'example.org:8080', 'localhost:8000']; ports 80 and 443 if none is named. Each connection is "
        "written down in the audit.",
    ).tag(config=True)
    pool_size = CInt(
        0, help="How many kernels are kept ready, from the first one needed on; each takes some 100 MB."
    ).tag(config=True)
    timeout = CFloat(120.0, help="Seconds that one piece of code may run.").tag(config=True)
    output_limit = CInt(64 * 1024, help="Characters of output kept from one piece of code.").tag(config=True)
    file_limit = CInt(32 * MIB, help="Bytes of generated files taken out after one piece of code.").tag(config=True)
    audit = Unicode(
        "",
        help="The file that gets a line of JSON for each execution and each connection; 'off' for none, empty for "
        "executions.jsonl in the folder jupyter_skills of Jupyter's data.",
    ).tag(config=True)


class RemoteSandbox(Configurable):
    """Settings of an isolated kernel that runs elsewhere than in Docker. They take effect in a fresh notebook."""

    server = Unicode(
        "",
        help="The address of a Jupyter server, Kernel Gateway or Enterprise Gateway whose kernels run isolated code. "
        "How it is reached besides is said by GatewayClient and the JUPYTER_GATEWAY_ variables, the token among them.",
    ).tag(config=True)
    kernel_name = Unicode(KERNEL_NAME, help="The kernelspec to start there.").tag(config=True)
    provider = Unicode(
        "", help="A sandbox provider that litellm knows, such as 'e2b' or 'opensandbox', to run isolated code at."
    ).tag(config=True)
