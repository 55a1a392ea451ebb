"""What IPython's magics do, and its syntax inside of their cells."""

from __future__ import annotations

import re

from jupyter_skills.look.known import names

# Magics whose text is a command line, whose text is Python, and those that do no harm.
SHELL = names("sx system sc ! bash sh script zsh perl ruby python python2 python3 pypy cmd powershell R js_node")
INTERPRETERS = names("script perl ruby python python2 python3 pypy cmd powershell R")
ALIASES = names("ls ll lf lk ldir lx cat cp mv rm mkdir rmdir less more man")
PYTHON = frozenset({"time", "timeit", "prun", "capture", "memit", "mprun", "lprun", "code_wrap"})
CALM = names("""who who_ls whos pinfo pinfo2 pdoc pdef pfile psource psearch pwd dhist dirs lsmagic magic quickref
    precision matplotlib colors xmode pprint page doctest_mode gui autoreload aimport tb history hist logstate
    logoff autocall automagic autoawait latex markdown svg SVG pycat bookmark unload_ext autosave""")
KINDS = {
    **dict.fromkeys(names("pip conda mamba micromamba uv poetry"), "install"),
    **dict.fromkeys(names("writefile file save logstart logon notebook"), "write"),
    **dict.fromkeys(names("cd pushd popd"), "folder"),
    **dict.fromkeys(names("load loadpy"), "read"),
    "pastebin": "send",
    "killbgscripts": "run",
}
EXTENSIONS = names("autoreload line_profiler memory_profiler tensorboard jupyter_skills")

_ASSIGNED = re.compile(r"([\w.(*][\w.\[\](), \t'\"*]{0,200}=[ \t]*)([!%])(.*)")
_HELP = re.compile(r"[ \t]*\?{0,2}%{0,2}[\w.*\[\]]{1,200}\?{1,2}[ \t]*")


def as_calls(code: str) -> str:
    """Writes the magics in a cell as the calls that IPython makes of them; each stays in its line.

    It is a likeness for cells inside of cells, such as that of ``%%capture``. What it gets wrong can't be parsed or
    is a magic that nobody knows, and counts as hidden either way.
    """
    first = code.lstrip()
    if first.startswith("%%"):
        line, _, body = first.partition("\n")
        name, _, rest = line[2:].partition(" ")
        return f"get_ipython().run_cell_magic({name.strip()!r}, {rest.strip()!r}, {body!r})\n"
    return "\n".join(map(_line, code.split("\n")))


def _line(line: str) -> str:
    text = line.lstrip(" \t")
    indent = line[: len(line) - len(text)]
    assigned = _ASSIGNED.fullmatch(text)
    if assigned:
        return f"{indent}{assigned[1]}{_call(assigned[2], assigned[3], 'getoutput')}"
    if _HELP.fullmatch(line) and line.strip("? \t"):
        return f"{indent}pass"
    if text.startswith("!!"):
        return indent + _call("!", text[2:], "getoutput")
    if text.startswith(("!", "%")):
        return indent + _call(text[0], text[1:], "system")
    return line


def _call(mark: str, rest: str, shell: str) -> str:
    if mark == "!":
        return f"get_ipython().{shell}({rest!r})"
    name, _, words = rest.strip().partition(" ")
    return f"get_ipython().run_line_magic({name!r}, {words.strip()!r})"
