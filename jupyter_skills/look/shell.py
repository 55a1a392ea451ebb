"""What a command line would do, by the names of its programs; what isn't known counts as hidden."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from jupyter_skills.look.known import names

# Taking a command line apart costs the square of its length.
LONGEST_COMMAND = 4_000
MOST_WORDS = 400
DEEPEST = 3

_KINDS = {
    "delete": "rm rmdir unlink shred wipe srm truncate del erase rd trash git-clean",
    "move": "mv rename chmod chown chgrp ln setfacl chattr",
    "write": """cp tee install dd touch tar unzip zip gzip gunzip bzip2 xz 7z 7za rsync patch split csplit mkfifo
        mknod mkfs ffmpeg convert magick pandoc sed jupyter-nbconvert""",
    "make": "mkdir mktemp",
    "fetch": """curl wget ssh scp sftp ftp nc ncat netcat socat telnet ping dig nslookup host aria2c httpie
        http lynx w3m kaggle gdown aws gsutil gcloud az rclone huggingface-cli hf gh svn hg git yt-dlp
        traceroute whois""",
    "exit": "kill pkill killall shutdown reboot halt poweroff init systemctl service",
    "secret": "env printenv set export security pass gpg",
    "install": """pip pip3 pipx conda mamba micromamba uv poetry pdm pipenv rye hatch easy_install apt apt-get
        aptitude dpkg yum dnf rpm pacman zypper apk brew port snap flatpak npm npx pnpm yarn bun cargo
        gem go choco winget scoop nix""",
    "": """ls ll la dir pwd cat head tail less more wc echo printf sort uniq cut tr grep egrep fgrep rg find fd
        file stat du df date cal whoami id uname hostname which whereis type ps top htop free uptime nproc lscpu
        lsblk nvidia-smi nvcc tree diff cmp comm md5sum sha1sum sha256sum sha512sum basename dirname realpath
        readlink seq true false test sleep column nl paste join rev tac fold fmt expr jq yq xmllint cd pushd popd
        man groups locale lsof nvtop lsb_release getconf strings xxd od hexdump cksum""",
}
PROGRAMS = {name: kind for kind, several in _KINDS.items() for name in names(several)}
_WRAPPERS = names("sudo doas env nohup time nice ionice timeout command builtin stdbuf setsid unbuffer")
_SHELLS = names("sh bash zsh dash ksh fish cmd powershell pwsh")
_SEPARATORS = frozenset({";", "&", "&&", "|", "||", "|&", ";;", "(", ")", "\n", "{", "}"})
_WORDS_OF_A_SHELL = names("if then else elif fi do done while until for in ! [ [[ ]] ]")
_READING = frozenset({"list", "show", "search", "freeze", "check", "info", "view", "--version", "-V", "help", "--help"})
_WRITING_FLAGS = {"sort": ("-o", "--output"), "find": ("-delete", "-fprint", "-fls"), "sed": ("-i", "--in-place")}
_EXPANDS = re.compile(r"\$\(|`|<\(|>\(|\$\{?\w*!")


def judged(text: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Judges a command line.

    Args:
        text: The command line, or a script of a shell.
        depth: How many shells it is inside of.

    Yields:
        Kinds, as in ``seen.KINDS``, and a short text for each. A program is none by itself: whoever runs the
        command line has said that.
    """
    if len(text) > LONGEST_COMMAND or depth > DEEPEST:
        yield "hidden", "a command too long to be looked at"
        return
    if _EXPANDS.search(text):
        yield "hidden", f"what {text} expands to"
    lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        words = list(lexer)
    except ValueError:
        yield "hidden", text
        return
    if len(words) > MOST_WORDS:
        yield "hidden", "a command too long to be looked at"
        return
    command: list[str] = []
    fed = False
    for word in [*words, ";"]:
        if word in _SEPARATORS or not word.strip("();|&"):
            yield from _command(command, depth, fed=fed)
            command, fed = [], "|" in word
        else:
            command.append(word)


def _command(words: list[str], depth: int, *, fed: bool) -> Iterator[tuple[str, str]]:
    words, targets = _without_redirects(words)
    for target in targets:
        yield "write", f"writes {target!r}"
    while words and (words[0] in _WORDS_OF_A_SHELL or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return
    name, text = words[0].rpartition("/")[2], " ".join(words)
    if name in _WRAPPERS and _rest(words):
        yield from _command(_rest(words), depth, fed=fed)
    elif name in _SHELLS:
        if not fed and "-c" in words and words[-1] != "-c":
            yield from judged(words[words.index("-c") + 1], depth + 1)
        else:
            yield "hidden", f"what {text} runs"
    elif re.fullmatch(r"python[\d.]*|py", name) and words[1:3] == ["-m", "pip"]:
        yield from _program("pip", ["pip", *words[3:]], text)
    elif name == "xargs" or (name in ("find", "fd") and {"-exec", "-execdir", "-ok", "-x", "-X"} & set(words)):
        rest = (
            _rest(words)
            if name == "xargs"
            else words[max(i for i, w in enumerate(words) if w[:3] in ("-ex", "-ok", "-x", "-X")) + 1 :]
        )
        yield from _command(rest, depth, fed=False)
        if not rest:
            yield "hidden", text
    else:
        yield from _program(name, words, text)


def _program(name: str, words: list[str], text: str) -> Iterator[tuple[str, str]]:
    kind = PROGRAMS.get(name)
    if kind is None or any(mark in words[0] for mark in "{$"):
        yield "hidden", f"what {text} does"
        return
    if kind == "install" and not _READING.isdisjoint(words[1:3]):
        return
    if words[0] == "sed" and not any(word.startswith(("-i", "--in-place")) for word in words):
        kind = ""
    if words[0] == "git" and words[1:2] in (["status"], ["log"], ["diff"], ["show"], ["branch"]) and len(words) < 4:
        kind = ""
    if any(word.startswith(flag) for word in words[1:] for flag in _WRITING_FLAGS.get(name, ())):
        kind = "delete" if "-delete" in words else "write"
    if name == "curl" and any(re.match(r"-[a-zA-Z]*[dFT]|--(?:data|form|upload|json)", word) for word in words[1:]):
        kind = "send"
    if kind:
        yield kind, text


def _without_redirects(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of a command, and the files that it writes besides."""
    kept: list[str] = []
    targets: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word.strip("<>&|") == "" and ("<" in word or ">" in word):
            target = words[place + 1] if place + 1 < len(words) else ""
            if ">" in word and target not in ("/dev/null", "1", "2", "/dev/stdout", "/dev/stderr"):
                targets.append(target)
            if kept and kept[-1] in ("1", "2"):
                kept.pop()
            place += 2
        else:
            kept.append(word)
            place += 1
    return kept, targets


def _rest(words: list[str]) -> list[str]:
    """What a program that runs another one is told to run."""
    rest = words[1:]
    while rest and (rest[0].startswith("-") or "=" in rest[0] or re.fullmatch(r"[\d.]+[smhd]?", rest[0])):
        rest = rest[1:]
    return rest
