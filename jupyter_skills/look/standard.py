"""What is known of Python's own modules: which of them a notebook may call freely, and what they hold of each other."""

from __future__ import annotations

from jupyter_skills.look.effects import FUNCTIONS, INNER
from jupyter_skills.look.known import STANDARD, names

# What a function of these does is told in the tables of ``effects.py``, or is nothing that anyone need be asked for.
# A call into any other of Python's modules counts as hidden.
_CALM = names("""__future__ abc argparse array ast asyncio base64 binascii bisect builtins bz2 cProfile calendar cmath
    cmd codecs collections colorsys concurrent configparser contextlib contextvars copy csv curses dataclasses datetime
    decimal difflib dis email encodings enum errno filecmp fileinput fnmatch fractions functools gc getopt getpass
    gettext glob graphlib grp gzip hashlib heapq hmac html http.cookies inspect io ipaddress itertools json keyword
    linecache locale logging lzma math mimetypes mmap numbers opcode operator optparse os pathlib platform plistlib
    posixpath ntpath genericpath pprint profile pstats pwd quopri queue random re reprlib sched secrets select shlex
    sqlite3 stat statistics string stringprep struct symtable sys sysconfig tarfile tempfile textwrap threading time
    timeit token tokenize tomllib traceback tracemalloc types typing unicodedata urllib uuid warnings wave weakref
    xml.etree xml.dom.minidom zipfile zlib zoneinfo""")
# Under these names one of them holds another.
_ALIASES = {
    "bltns": "builtins",
    "builtin_mod": "builtins",
    "builtin": "builtins",
    "stdlib_re": "re",
    "_pyprofile": "profile",
    "cPickle": "pickle",
    "mp": "multiprocessing",
}
_ANYWHERE = INNER | {"threading", "gc"}
# What has the name of a module and is none, and the names of modules that are methods of other things, too.
_NO_MODULES = names("datetime.time locale.gettext ast.operator ast.keyword sys.platform queue.time")
_ALSO_METHODS = names("""copy time glob stat select bisect keyword operator platform random html token string struct
    numbers calendar locale enum email signal queue array""")
_RUN_TEXTS = frozenset({"exec", "eval", "__import__"})


def inner(path: str, name: str) -> str:
    """The module that an attribute of another module is, such as ``random._os``; empty if it is none.

    Args:
        path: The dotted name of what it is an attribute of.
        name: The attribute.
    """
    found = _ALIASES.get(name) or (name if name in _ALIASES.values() else name.lstrip("_"))
    whole = f"{path}.{name}"
    if found == path or found not in STANDARD or whole in FUNCTIONS or whole in _NO_MODULES:
        return ""
    if found in INNER:
        return found
    if "()" in path:
        return ""
    top, _, rest = path.partition(".")
    of_module = top in STANDARD and not (rest and (name in _ALSO_METHODS or rest.rpartition(".")[2][0].isupper()))
    return found if of_module or found in _ANYWHERE or name == "bltns" else ""


def is_strange(path: str, called: bool) -> bool:
    """Whether it is a function of Python's own of which nothing is known here.

    Args:
        path: Its dotted name.
        called: Whether it is called, not only named: constants and errors are named without harm.
    """
    parts = path.split(".")
    if parts[0] not in STANDARD or "()" in path:
        return False
    if len(parts) == 1:
        return called  # no module can be called, so that it is something else of that name
    last = parts[-1]
    if last in _RUN_TEXTS or (called and last == "main"):
        return True
    if "error" in last.lower() or last.endswith(("Exception", "Warning")) or (last.isupper() and not called):
        return False
    return parts[0] not in _CALM and not any(".".join(parts[:end]) in _CALM for end in (2, 3))
