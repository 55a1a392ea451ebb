"""``jupyter skills completion``: scripts that complete its command line, made from its parser.

They hold all verbs, options and choices, so that completing starts no Python; only names of skills are asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jupyter_skills.cli.shell import GOOD, say
from jupyter_skills.errors import SkillsError

_SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "jupyter-skills"
_NAMES, _FILES = "names", "files"
_OF_SKILLS = ("REF", "ID", "ID|NAME")
_OF_FILES = ("REF", "PATH", "FILE", "FOLDER")


def add_verbs(verbs: Any) -> None:
    """Adds the verbs of this file to a command line's subparsers."""
    text = "print a script that completes this command line, for your shell's start-up file"
    parser = verbs.add_parser("completion", help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("shell", nargs="?", choices=_SHELLS, help="your shell")
    parser.add_argument(
        "--names", action="store_true", help="print the names of skills instead, as the scripts ask for"
    )
    parser.set_defaults(run=_complete)


def _complete(options: argparse.Namespace) -> int:
    from jupyter_skills.cli import build_parser
    from jupyter_skills.errors import UsageProblem

    if options.names:
        say("\n".join(sorted(_names())))
        return GOOD
    if options.shell is None:
        raise UsageProblem("completion: no shell is named", f"Give one of {', '.join(_SHELLS)}")
    commands = list(_commands(build_parser(), ()))
    say({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands))
    return GOOD


@dataclass(frozen=True)
class _Word:
    """An option or a positional argument.

    Args:
        flags: How it is written; none for a positional one.
        help: What it is for.
        takes: What can follow it: words, ``names`` or ``files``; None for an option that stands alone.
    """

    flags: tuple[str, ...]
    help: str
    takes: tuple[str, ...] | None


@dataclass(frozen=True)
class _Command:
    """A verb, or a verb and its action.

    Args:
        path: Its words; none for the program itself.
        verbs: The verbs that may follow, with their help.
        words: Its options and arguments.
    """

    path: tuple[str, ...]
    verbs: dict[str, str]
    words: tuple[_Word, ...]


def _commands(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[_Command]:
    """A parser and all those below it."""
    verbs: dict[str, str] = {}
    words = []
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # argparse has no public way to ask a parser what it takes
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            verbs = {choice.dest: _help(choice) for choice in action._choices_actions}
        else:
            words.append(_Word(tuple(action.option_strings), _help(action), _taken(action)))
    yield _Command(path, verbs, tuple(words))
    for name, other in below.items():
        yield from _commands(other, (*path, name))


def _taken(action: argparse.Action) -> tuple[str, ...] | None:
    if action.nargs == 0:
        return None
    if action.choices is not None:
        return tuple(map(str, action.choices))
    name = str(action.metavar)
    return (*((_NAMES,) if name in _OF_SKILLS else ()), *((_FILES,) if name in _OF_FILES else ()))


def _help(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    return (text % {"default": action.default, "prog": _PROGRAM} if "%(" in text else text).replace("\n", " ")


def _names() -> set[str]:
    """All names that can be given; a store that can't be read has none."""
    from jupyter_skills.skills.discovery import discover
    from jupyter_skills.store.finding import stored_names

    names = {found.name for found in discover() if found.usable}
    with suppress(SkillsError):
        names |= set(stored_names())
    return names


def _bash(commands: list[_Command]) -> str:
    cases = []
    for command in commands:
        path = " ".join(command.path)
        for word in command.words:
            cases += [
                f'    "{path} {flag}") takes="{" ".join(word.takes)}" ;;'
                for flag in word.flags
                if word.takes is not None
            ]
        flags = " ".join(flag for word in command.words for flag in word.flags)
        rest = sorted({taken for word in command.words if not word.flags for taken in word.takes or ()})
        cases.append(f'    "{path} -") takes="{flags}" ;;')
        cases.append(f'    "{path} ") takes="{" ".join([*command.verbs, *rest])}" ;;')
    deeper = "|".join(f'"{" ".join(command.path)}"' for command in commands if command.path)
    return _BASH.format(program=_PROGRAM, cases="\n".join(cases), deeper=deeper, names=_NAMES, files=_FILES)


_BASH = """\
# Completes {program} and 'jupyter skills' in bash:  source <({program} completion bash)
_jupyter_skills_takes() {{  # what can follow: a command's path, and an option, '-' or nothing
  takes=none
  case "$1 $2" in
{cases}
  esac
}}
_jupyter_skills_from() {{  # completes the word at COMP_CWORD; the words before $1 are the program
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="" takes index word found
  COMPREPLY=()
  for ((index = $1; index < COMP_CWORD; index++)); do
    word="${{path:+$path }}${{COMP_WORDS[index]}}"
    case "$word" in {deeper}) path="$word" ;; esac
  done
  found=none
  if ((COMP_CWORD > $1)); then
    _jupyter_skills_takes "$path" "${{COMP_WORDS[COMP_CWORD - 1]}}"
    case "${{COMP_WORDS[COMP_CWORD - 1]}}" in -?*) found="$takes" ;; esac
  fi
  if [ "$found" = none ]; then
    case "$current" in -*) word=- ;; *) word="" ;; esac
    _jupyter_skills_takes "$path" "$word"
    found="$takes"
  fi
  for word in $found; do
    case "$word" in
    none) ;;
    {names})
      while IFS= read -r word; do
        case "$word" in "$current"*) COMPREPLY+=("$word") ;; esac
      done < <({program} completion --names 2>/dev/null) ;;
    {files}) local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
    *) case "$word" in "$current"*) COMPREPLY+=("$word") ;; esac ;;
    esac
  done
}}
_jupyter_skills() {{ _jupyter_skills_from 1; }}
_jupyter_skills_of_jupyter() {{
  if ((COMP_CWORD > 1)) && [ "${{COMP_WORDS[1]}}" = skills ]; then
    _jupyter_skills_from 2
  else
    COMPREPLY=($(compgen -W "$(compgen -c jupyter- | sed 's/^jupyter-//' | sort -u)" -- "${{COMP_WORDS[COMP_CWORD]}}"))
  fi
}}
complete -F _jupyter_skills {program}
complete -p jupyter >/dev/null 2>&1 || complete -o bashdefault -o default -F _jupyter_skills_of_jupyter jupyter"""


def _zsh(commands: list[_Command]) -> str:
    functions = []
    for command in commands:
        specs = [spec for word in command.words for spec in _zsh_specs(word)]
        if command.verbs:
            verbs = " ".join(_quoted(f"{name}:{_plain(text)}") for name, text in command.verbs.items())
            cases = "\n".join(f"      {name}) {_zsh_name((*command.path, name))} ;;" for name in command.verbs)
            body = _ZSH_VERBS.format(specs=" ".join(specs), verbs=verbs, cases=cases)
        else:
            body = f"  _arguments {' '.join(specs)}"
        functions.append(f"{_zsh_name(command.path)}() {{\n{body}\n}}")
    return _ZSH.format(program=_PROGRAM, functions="\n".join(functions), root=_zsh_name(()))


def _zsh_name(path: tuple[str, ...]) -> str:
    return "_".join(["_jupyter_skills", *path])


def _zsh_specs(word: _Word) -> list[str]:
    actions = {
        (_NAMES,): "_jupyter_skills_names",
        (_FILES,): "_files",
        (_NAMES, _FILES): "_jupyter_skills_names_or_files",
    }
    takes = word.takes
    action = "" if not takes else actions.get(takes, f"({' '.join(takes)})")
    text = _plain(word.help).replace("[", "(").replace("]", ")")
    if not word.flags:
        return [_quoted(f"*:{text}:{action}")]
    follows = "" if takes is None else f": :{action or ' '}"
    return [_quoted(f"{flag}[{text}]{follows}") for flag in word.flags]


def _plain(text: str) -> str:
    return text.replace("\\", " ").replace(":", " ")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_ZSH_VERBS = """\
  local context state line
  typeset -A opt_args
  _arguments -C {specs} '1: :->verb' '*:: :->rest'
  case $state in
  verb)
    local -a verbs
    verbs=({verbs})
    _describe verb verbs ;;
  rest)
    case $line[1] in
{cases}
    esac ;;
  esac"""

_ZSH = """\
#compdef {program}
# Completes {program} in zsh:  source <({program} completion zsh)
_jupyter_skills_names() {{ compadd -- ${{(f)"$({program} completion --names 2>/dev/null)"}} }}
_jupyter_skills_names_or_files() {{ _jupyter_skills_names; _files }}
{functions}
if [ "$funcstack[1]" = _{program} ]; then {root} "$@"; else compdef {root} {program}; fi"""


def _fish(commands: list[_Command]) -> str:
    lines = [f"# Completes {_PROGRAM} in fish:  {_PROGRAM} completion fish | source", f"complete -c {_PROGRAM} -f"]
    for command in commands:
        where = _fish_condition(command)
        for name, text in command.verbs.items():
            lines.append(f"complete -c {_PROGRAM} -n {_fish_quoted(where)} -a {name} -d {_fish_quoted(text)}")
        lines += [_fish_line(word, where) for word in command.words]
    return "\n".join(lines)


def _fish_condition(command: _Command) -> str:
    """When a command's words fit: its own verbs were given, and none of those that may follow."""
    given = [f"__fish_seen_subcommand_from {verb}" for verb in command.path]
    if command.verbs:
        given.append(f"not __fish_seen_subcommand_from {' '.join(command.verbs)}")
    return "; and ".join(given)


def _fish_line(word: _Word, where: str) -> str:
    parts = [f"complete -c {_PROGRAM} -n {_fish_quoted(where)}"]
    parts += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in word.flags]
    takes = word.takes or ()
    if word.flags and word.takes is not None:
        parts.append("-r")
    if _FILES in takes:
        parts.append("-F")
    values = [f"({_PROGRAM} completion --names)" if taken == _NAMES else taken for taken in takes if taken != _FILES]
    if values:
        parts.append(f"-a {_fish_quoted(' '.join(values))}")
    return " ".join([*parts, f"-d {_fish_quoted(word.help)}"])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
