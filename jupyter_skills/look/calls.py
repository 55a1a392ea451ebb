"""What calls do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jupyter_skills.look import by_text, special
from jupyter_skills.look.atoms import (
    MADE,
    SHELL,
    UNKNOWN,
    Atoms,
    attribute,
    beginnings,
    called,
    effect,
    is_path,
    joined,
    paths,
    text,
    texts,
)
from jupyter_skills.look.effects import FILE_WORDS, FUNCTIONS, METHODS, TEXT_WITHOUT_FILE
from jupyter_skills.look.given import Given
from jupyter_skills.look.ipython import in_ipython
from jupyter_skills.look.known import DECODERS, URL, names
from jupyter_skills.look.standard import is_strange

if TYPE_CHECKING:
    from jupyter_skills.look.walker import Walker

# What these are given is looked at or told, and goes nowhere.
_LOOKING = frozenset(
    f"builtins.{name}"
    for name in names("print repr str type isinstance issubclass hasattr id dir help callable bool len hash")
)
# What these give holds the things that they were given.
_PASSING = frozenset(
    f"builtins.{name}"
    for name in names("iter next reversed enumerate zip list tuple set frozenset sorted dict filter max min")
)
_PARTS = frozenset({"items", "values", "setdefault", "get", "pop", "popitem", "__getitem__"})
_CHANGING = names("""append extend insert remove pop clear sort reverse update setdefault popitem add discard
    difference_update intersection_update symmetric_difference_update appendleft extendleft popleft rotate fill
    itemset resize fit fit_transform fit_predict partial_fit set_params load_state_dict zero_grad __setitem__
    __delitem__ __setattr__ __delattr__ __iadd__ move_to_end subtract byteswap setflags setfield""")
_CHANGES_FIRST = names("""builtins.setattr builtins.delattr builtins.next random.shuffle numpy.random.shuffle
    numpy.put numpy.place numpy.copyto numpy.fill_diagonal numpy.putmask numpy.put_along_axis heapq.heappush
    heapq.heappop heapq.heapify heapq.heappushpop heapq.heapreplace bisect.insort bisect.insort_left
    bisect.insort_right operator.setitem operator.delitem operator.iadd operator.iconcat""")
_ASIDE = names("startswith endswith replace split append add join format index find count strip rstrip removeprefix")
_BY_NAME = names("apply agg aggregate transform pipe map applymap filter reduce starmap")
_RECEIVERS = names(
    "unlink rmdir write_text write_bytes touch mkdir read_text read_bytes symlink_to hardlink_to iterdir rglob glob"
)
_SECOND = names("""shutil.copy shutil.copy2 shutil.copyfile shutil.copytree joblib.dump torch.save
    pyarrow.parquet.write_table pyarrow.feather.write_feather""")
_HANDLERS = {**special.HANDLERS, **by_text.HANDLERS}
_BY_NAME_OF = {**special.BY_NAME, **by_text.BY_NAME}
_QUIET = frozenset({"read", "make", "query", "folder", ""})
_URL_READERS = names("imread loadtxt genfromtxt open_dataset open_mfdataset")
_CRYPTIC = names("decode translate lower upper swapcase replace fromhex casefold title removeprefix removesuffix strip")


def judge(walker: Walker, node: ast.Call, callee: Atoms) -> None:
    """Looks at a call and all it is given.

    Args:
        walker: Where the code has come to.
        node: The call.
        callee: What it may call.
    """
    found = paths(callee)
    looking = bool(found) and all(path in _LOOKING for path in found)
    follows = found == ["builtins.getattr"]
    values = [
        walker.value(arg)
        if (looking or (follows and not place)) and isinstance(arg, ast.Name | ast.Attribute | ast.Call)
        else walker.use(arg)
        for place, arg in enumerate(node.args)
    ]
    words: dict[str | None, Atoms] = {}
    for word in node.keywords:
        words[word.arg] = joined((words.get(word.arg, frozenset()), walker.use(word.value)))
    given = Given(walker, node, values, words)
    _changes(given, found)
    for path in found:
        if path.startswith(SHELL):
            in_ipython(given, path.removeprefix(SHELL))
            continue
        handler = _HANDLERS.get(path)
        if handler is None and path not in FUNCTIONS:
            handler = _BY_NAME_OF.get(path.rpartition(".")[2])
        if handler is None or handler(given, path):
            _plain(given, path)
    by_text.plots(given)
    _strange(given, found)


def _plain(given: Given, path: str) -> None:
    kind = effect(path, called=True)
    last = path.rpartition(".")[2].removesuffix("()")
    if kind == "hidden" and path.startswith("?.") and last.startswith("_"):
        return  # told where the attribute stands
    if last == "extractall" and isinstance(given.node.func, ast.Attribute):
        inner = given.node.func.value
        if isinstance(inner, ast.Attribute) and inner.attr == "str":
            return  # of a column of texts, not of an archive
    if not kind or (last in TEXT_WITHOUT_FILE and not _names_file(given)):
        return
    if last in ("write", "writelines") and any(path.startswith(f"{opener}()") for opener in special.OPENERS):
        return
    if kind == "read":
        _read(given, last, path)
    elif kind in ("write", "delete", "move", "make", "folder"):
        verb = {"write": "writes", "delete": "deletes", "move": "moves or changes", "make": "makes"}.get(
            kind, "moves to"
        )
        given.say(kind, f"{verb} {_target(given, last, path)}")
    elif kind == "run":
        special.run(given, path)
    elif kind in ("fetch", "send"):
        takes = {"data", "json", "files", "content", "body", "params"} & {str(word) for word in given.words}
        sends = kind == "send" or takes or (last == "urlopen" and len(given.values) > 1)
        given.say("send" if sends else "fetch", given.call)
    elif kind == "database":
        special.database(given, path)
    elif kind == "hidden" and path not in FUNCTIONS and is_strange(path, called=True):
        given.say(kind, f"calls {path}, which is not known here")
    else:
        given.say(kind, given.call)


def _names_file(given: Given) -> bool:
    return bool(given.values) or any(word is None or word in FILE_WORDS for word in given.words)


def _target(given: Given, last: str, path: str) -> str:
    func = given.node.func
    of_object = path.startswith("?") or "()" in path
    if isinstance(func, ast.Attribute) and of_object and (last in _RECEIVERS or not _names_file(given)):
        return given.receiver()
    if last in ("write", "writelines") and isinstance(func, ast.Attribute):
        return f"to {given.walker.cited(func.value)}"
    if path in _SECOND:
        return given.shown_at(1, "dst", "f", "where", "dest", "filename")
    return given.shown(*sorted(FILE_WORDS))


def _read(given: Given, last: str, path: str) -> None:
    atoms = given.atoms(0, *sorted(FILE_WORDS))
    if any(is_path(atom) and atom.endswith("()") and not atom.startswith("pathlib.") for atom in atoms):
        return
    starts = beginnings(atoms)
    fetches = (last.startswith("read_") and last not in ("read_text", "read_bytes")) or last in _URL_READERS
    if fetches and ("~" in atoms or any(map(URL.match, starts))):
        given.say("fetch", given.call)
        if "~" not in atoms and all(map(URL.match, starts)) and not atoms - {f"={s}" for s in starts}:
            return
    elif fetches and not starts and _names_file(given):
        given.say("maybe", f"may fetch {given.shown(*sorted(FILE_WORDS))}")
    given.say("read", f"reads {_target(given, last, path)}")


def _changes(given: Given, found: list[str]) -> None:
    walker, node = given.walker, given.node
    if isinstance(node.func, ast.Attribute):
        in_place = [word.value for word in node.keywords if word.arg == "inplace"]
        certain = not all(isinstance(value, ast.Constant) and not value.value for value in in_place)
        named = node.func.attr in _CHANGING and not any(path[0] != "?" and "()" not in path for path in found)
        if named or certain:
            walker.changed(walker.values.get(id(node.func.value), UNKNOWN))
    if node.args and any(path in _CHANGES_FIRST for path in found):
        walker.changed(given.values[0])
    walker.changed(given.words.get("out", frozenset()))


def _strange(given: Given, found: list[str]) -> None:
    """What a call says of itself by what it is given, whatever is called."""
    func = given.node.func
    name = func.attr if isinstance(func, ast.Attribute) else ""
    known = [path for path in found if not path.startswith("?")]
    shows = any(path.startswith("IPython.display.") for path in known)
    if shows or (not known and name not in _ASIDE):
        for atoms in (*given.values, *given.words.values()):
            if any(map(URL.match, beginnings(atoms))):
                given.say("fetch", given.call)
                break
    if name in _BY_NAME or any(path.rpartition(".")[2] in _BY_NAME for path in found):
        for atoms in given.values:
            for value in beginnings(atoms):
                kind = METHODS.get(value, "")
                if kind not in _QUIET:
                    given.say(kind, f"calls {value} by its name")
    if any(
        isinstance(word.value, ast.Constant) and word.value.value is True
        for word in given.node.keywords
        if word.arg == "trust_remote_code"
    ):
        given.say("hidden", given.call)


def result(walker: Walker, node: ast.Call, callee: Atoms) -> Atoms:
    """What a call gives."""
    values = [walker.values.get(id(arg), UNKNOWN) for arg in node.args]
    found: list[Atoms] = []
    for atom in sorted(callee):
        if atom.startswith("def:"):
            found.append(_own(walker, atom, node, values))
        elif atom in ("builtins.__import__", "importlib.import_module", "importlib.__import__", "builtins.getattr"):
            found.append(_looked_up(atom, values))
        elif atom in _PASSING:
            found += values
        elif atom == "builtins.str" and values:
            found.append(frozenset(each for each in values[0] if each[0] in "=%~") or UNKNOWN)
        elif atom in ("builtins.chr", "builtins.bytes", "builtins.bytearray") or atom.rpartition(".")[2] in DECODERS:
            found.append(MADE)
        elif atom in ("os.path.join", "posixpath.join", "os.path.expanduser", "os.path.abspath") and values:
            known = texts(values[0]) if len(values) == 1 else None
            found.append(joined(map(text, known)) if known else UNKNOWN | {f"%{s}" for s in beginnings(values[0])})
        elif atom == "functools.partial" and values:
            found.append(values[0])
        elif is_path(atom):
            found.append(called(atom))
    if isinstance(node.func, ast.Attribute):
        found.append(_of_method(node.func.attr, walker.values.get(id(node.func.value), UNKNOWN), values))
    return joined(found) or UNKNOWN


def _of_method(name: str, receiver: Atoms, values: list[Atoms]) -> Atoms:
    starts = beginnings(receiver)
    if name in DECODERS or name in ("decode", "translate", "fromhex") or (starts and name in _CRYPTIC):
        return MADE
    if name == "join" and starts and not all(starts):
        return MADE
    if name == "format" and starts:
        return UNKNOWN | {f"%{start.partition('{')[0]}" for start in starts}
    if name in _PARTS:
        return receiver | joined(values)
    return frozenset() if any(is_path(atom) for atom in receiver) else UNKNOWN


def _own(walker: Walker, name: str, node: ast.Call, values: list[Atoms]) -> Atoms:
    """What a function of this code gives; it learns what it is given."""
    if name not in walker.functions:
        walker.moved = True  # it stands further down, so that the next round knows it
        return UNKNOWN
    function, scope = walker.functions[name]
    places = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    named = {*places, *(arg.arg for arg in function.args.kwonlyargs)}
    rest = [arg.arg for arg in (function.args.vararg, function.args.kwarg) if arg]
    starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    for place, value in enumerate(values):
        if starred or place >= len(places):
            for target in (*(places if starred else ()), *rest):
                walker.learn(scope, target, value)
        else:
            walker.learn(scope, places[place], value)
    for word in node.keywords:
        value = walker.values.get(id(word.value), UNKNOWN)
        for target in [word.arg] if word.arg in named else [*(named if word.arg is None else ()), *rest]:
            walker.learn(scope, str(target), value)
    return walker.env.get((scope.number, walker.returning), UNKNOWN)


def _looked_up(path: str, values: list[Atoms]) -> Atoms:
    if path == "builtins.getattr":
        names = texts(values[1]) if len(values) > 1 else None
        default = values[2] if len(values) > 2 else frozenset()
        return joined((default, *(attribute(values[0], name) for name in names))) if names else UNKNOWN
    names = texts(values[0]) if values else None
    if not names:
        return UNKNOWN
    found = set(names)
    if path != "importlib.import_module":
        found |= {name.partition(".")[0] for name in names}
    return frozenset(name for name in found if name and is_path(name)) or UNKNOWN
