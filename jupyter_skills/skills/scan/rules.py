"""The patterns of commands and code that ``scan`` looks for.

Each is written to be right rather than complete, and no gap in it can grow, so that a hostile line of any length
costs time in proportion to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["alert", "note"]


@dataclass(frozen=True)
class Rule:
    """One thing to look for.

    Args:
        kind: What it is, in a word or two, such as ``reverse-shell``.
        message: What it means for the reader, as one sentence without a full stop.
        patterns: What it looks like, in any of these ways; letters of either case.
        needs: Lower-case texts of which one stands in every match. Looking for these first is far quicker.
        level: How much it matters.
        lesser: Whether a line with a match is an ordinary case of it, which is only noted.
    """

    kind: str
    message: str
    patterns: tuple[str, ...]
    needs: tuple[str, ...]
    level: Level = "alert"
    lesser: Callable[[str], bool] | None = None
    compiled: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile("|".join(self.patterns), re.IGNORECASE | re.MULTILINE))

    def matches(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All places in a text; ``lowered`` is the text in lower case."""
        return self.compiled.finditer(text) if any(need in lowered for need in self.needs) else iter(())


# What takes its program from standard input; ``python -c`` and ``-m`` take only data from it.
_SHELL = (
    r"(?:sudo\s+(?:-\w+\s+)?)?(?:/\w[\w/]{0,40}/)?(?:(?:ba|z|da|k|fi)?sh\b(?![\w.-])|"
    r"(?:python[\d.]{0,4}|perl|ruby|node|php|pwsh|osascript)(?:\s+-)?\s*(?=$|[\n;&\"'`)]))"
)
_SH = r"(?:ba|z|da|k)?sh"
_GET = r"\b(?:curl|wget)\b(?!\s*\|)"
_ADDRESS = r"(?:\w\.[a-z]{2,}|\d\.\d|localhost|\$|\{\w)"
_PS_GET = r"\b(?:iwr|irm|Invoke-WebRequest|Invoke-RestMethod|DownloadString|curl|wget)\b"
_PS_RUN = r"\b(?:iex|Invoke-Expression)\b"
_PY_GET = r"\b(?:requests\.(?:get|post)|httpx\.(?:get|post)|urlopen)\s*\("
_UNBASE = r"\bbase64\s+(?:-d|-D|--decode)\b"
_PRIVATE_FILE = (
    r"(?:\.ssh/(?:id_\w+(?!\.pub|\w)|\*|(?=[\s\"'`;|)]))|\.aws/credentials\b|\.git-credentials\b|\.netrc\b|\.gnupg/|"
    r"\.docker/config\.json|\.kube/config\b|\.pypirc\b|\.config/gcloud/|application_default_credentials|/etc/shadow\b|"
    r"cookies\.sqlite|Login Data\b|login\.keychain|key4\.db|wallet\.dat)"
)
_DISK = r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|r?disk\d|mmcblk\d)"
_END = r"(?=$|[\s;&|\"'`)])"
_ALL_FILES = r"[\"']?(?:/(?:home|etc|usr|var|Users|System)?|~|\$\{?HOME\}?|[A-Z]:\\)(?:[/\\]?\*|[/\\])?[\"']?" + _END
_LOGIN_FILE = r"(?:\.(?:bash|zsh)rc|\.(?:bash_|z)?profile|\.zshenv|/etc/profile)\b"
_START_FILE = (
    r"(?:authorized_keys|/etc/cron[.\w]*/?|/etc/rc\.local|/Library/Launch(?:Agents|Daemons)/|"
    r"systemd/(?:system|user)/[\w@.${}-]{1,60}\.(?:service|timer)|\.config/autostart/)"
)

PRIVATE_FILE = re.compile(_PRIVATE_FILE)
START_FILE = re.compile(f"{_LOGIN_FILE}|{_START_FILE}|LaunchAgents|CurrentVersion\\\\Run")

# Makers' own installers: their manuals say to run them like this, and who uses the tools trusts them anyway.
_MAKERS = re.compile(
    r"https://(?:astral\.sh|sh\.rustup\.rs|get\.docker\.com|bun\.sh|deno\.land|claude\.ai|fnm\.vercel\.app|pixi\.sh|"
    r"deb\.nodesource\.com|install\.python-poetry\.org|aka\.ms|raw\.githubusercontent\.com/"
    r"(?:Homebrew/install|nvm-sh/nvm|helm/helm))/"
)
_NOBODY = re.compile(r"(?:https?://)?(?:[\w-]+\.)?(?:example\.(?:com|org|net)|(?:attacker|evil|malicious)\.\w+)/")


def _from_makers(line: str) -> bool:
    addresses = [f"{address}/" for address in re.findall(r"\w+://[^\s\"'`)]*", line)]
    known = bool(addresses) and all(_MAKERS.match(address) or _NOBODY.match(address) for address in addresses)
    return (known and not re.search(r"\s(?:-k|--insecure)\b", line)) or (not addresses and bool(_NOBODY.search(line)))


def _sets_a_variable(line: str) -> bool:
    usual = re.search(r"\b(?:export\s+\w+=|alias\s|eval\s|source\s|setopt\s|PATH=)", line)
    return bool(usual) and not re.search(r"curl|wget|base64|/dev/tcp|\bnc\b|python|perl|sh\s+-c|https?:", line)


COMMANDS = (
    Rule(
        "network-shell",
        "Runs what it downloads, which nobody has read and which may change at any time",
        (
            rf"{_GET}(?=[^\n;]{{0,200}}?{_ADDRESS})[^\n;]{{0,300}}\|\s*{_SHELL}",
            rf"\b(?:{_SH}|source|python[\d.]{{0,4}})\s+(?:-\w+\s+)?<\(\s*{_GET}",
            rf"(?:\b(?:{_SH}|python[\d.]{{0,4}}|perl|node|ruby)\s+-\w*[ce]\w*|\beval)\s+[\"']?(?:\$\(|`)\s*{_GET}",
            rf"{_PS_RUN}[^\n]{{0,100}}?{_PS_GET}",
            rf"{_PS_GET}[^\n|]{{0,200}}\|\s*{_PS_RUN}",
            rf"\b(?:exec|eval|(?:pickle|marshal)\.loads)\s*\([^\n]{{0,80}}?{_PY_GET}",
            r"\beval\s*\([^\n]{0,80}?\bfetch\s*\(",
            rf"\bpip[\d.]*\s+install\b[^\n]{{0,80}}?(?:\$\(|<\(|`)\s*{_GET}",
            rf"{_GET}[^\n;]{{0,200}}\|\s*(?:xargs\s+)?(?:sudo\s+)?pip[\d.]*\s+install\b",
        ),
        ("curl", "wget", "iex", "invoke-expression", "requests.", "httpx.", "urlopen", "fetch"),
        lesser=_from_makers,
    ),
    Rule(
        "decoded-code",
        "Runs code that is encoded so that it can't be read",
        (
            rf"{_UNBASE}[^\n]{{0,100}}?\|\s*{_SHELL}",
            rf"(?:\b(?:{_SH}|source)\s+(?:-\w+\s+)?|\beval\s+)[\"']?(?:\$\(|<\(|`)"
            rf"(?:[A-Za-z0-9+/]++|[^\nA-Za-z0-9+/]){{0,100}}?{_UNBASE}",
            rf"\bxxd\s+-r\b[^\n]{{0,100}}?\|\s*{_SHELL}",
            rf"\bopenssl\s+(?:enc|base64)\b[^\n|]{{0,100}}\s-d\b[^\n]{{0,100}}?\|\s*{_SHELL}",
            r"\b(?:exec|eval)\s*\([^\n]{0,80}?"
            r"\b(?:[ab](?:16|32|64|85)+decode|unhexlify|bytes\.fromhex|decompress|marshal\.loads)\s*\(",
            r"\b(?:eval|Function)\s*\(\s*(?:\w+\s*\(\s*){0,2}atob\s*\(",
            r"\b(?:eval|Function)\s*\(\s*(?:\w+\s*\(\s*)?Buffer\.from\s*\(\s*"
            r"(?:[\"'][\w+/=]*+[\"']|[\w.]+)\s*,\s*[\"'](?:base64|hex)",
            r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}?\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/]{20}",
            rf"{_PS_RUN}[^\n]{{0,120}}?FromBase64String",
        ),
        ("base64", "xxd", "openssl", "decode", "hex", "decompress", "marshal", "atob", "powershell", "pwsh"),
    ),
    Rule(
        "reverse-shell",
        "Opens a shell on this machine to somebody else",
        (
            rf"\b{_SH}\s+-i\b[^\n]{{0,40}}?[<>]&?\s*/dev/(?:tcp|udp)/",
            r"\bexec\s+\d+<>\s*/dev/(?:tcp|udp)/[^\n]{0,80}(?:\n[^\n]{0,80})?(?:\bsh\b|<&\d|while\s+read)",
            r"\bn(?:c|cat|etcat)(?:\.exe)?\s[^\n|;]{0,80}?(?:-\w*[ec]|--exec|--sh-exec)\s+[\"']?(?:/\w[\w/]{0,40}/)?"
            rf"(?:{_SH}|cmd)\b",
            rf"\bmkfifo\b[^\n]{{0,120}}?\b{_SH}\s+-i[^\n]{{0,60}}?\bn(?:c|cat)\b",
            rf"\bsocat\b[^\n]{{0,120}}?\bexec:[\"']?(?:/\w[\w/]{{0,40}}/)?{_SH}\b",
            r"\bsocket\b[^\n]{0,200}?\bdup2\b[^\n]{0,200}?(?:\bpty\b|/sh\b|bash)",
            rf"Net\.Sockets\.TCPClient[^\n]{{0,400}}?{_PS_RUN}",
        ),
        ("/dev/tcp", "/dev/udp", "nc", "netcat", "socat", "dup2", "tcpclient"),
    ),
    Rule(
        "exfiltration",
        "Sends credentials or the whole environment away",
        (
            rf"{_PRIVATE_FILE}[^\n|]{{0,60}}\|[^\n]{{0,120}}?\b(?:curl|wget|nc|ncat)\s",
            r"\b(?:curl|wget)\b[^\n]{0,200}?(?:@|\bcat\s+|<\s*)[\"']?(?:[~$\w{}/.-]{0,40}/)?"
            rf"(?:{_PRIVATE_FILE}|\.env\b(?![.\w]))",
            r"(?:^|[;&(`\"']|\$)[ \t]*(?:env|printenv|export -p)\s*\|[^\n]{0,120}?\b(?:curl|wget|nc|ncat)\s",
            r"\b(?:curl|wget)\b[^\n]{0,200}?(?:\$\(|`)\s*(?:env|printenv)\b(?!\s+\w)",
            r"\b(?:scp|rsync)\s+(?:-[a-hj-z]+\s+){0,3}[\"']?(?:~|\$HOME|/root|/home/\w+)/"
            rf"{_PRIVATE_FILE}[^\n]{{0,80}}:",
            r"\b(?:fetch|axios|request)\b[^\n]{0,200}?JSON\.stringify\(\s*process\.env\s*\)",
        ),
        ("curl", "wget", "nc", "scp", "rsync", "process.env"),
    ),
    Rule(
        "destructive",
        "Destroys far more than its own files",
        (
            rf"\brm(?=(?:\s+-[\w-]+){{0,4}}\s+(?:-\w*r|--recursive))(?:\s+-[\w-]+){{1,5}}\s+{_ALL_FILES}",
            rf"\bdd\s[^\n|;]{{0,100}}?\bof={_DISK}",
            rf"\bmkfs(?:\.\w+)?\s[^\n|;]{{0,60}}?{_DISK}",
            rf"(?<![<>&\d])>\s*{_DISK}",
            r":\s*\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:",
            rf"\bchmod\s+(?:-R\s+0?777|0?777\s+-R)\s+[\"']?(?:/|~|\$HOME){_END}",
            r"\bRemove-Item\b[^\n|;]{0,40}?-Recurse[^\n|;]{0,40}?\s(?:[A-Z]:\\|\$env:USERPROFILE)[\"']?(?=$|[\s;])",
        ),
        ("rm ", "rm\t", "dd ", "mkfs", "/dev/", "|", "chmod", "remove-item"),
    ),
    Rule(
        "persistence",
        "Changes what runs at every start or login",
        (
            rf"(?:\becho\s[^\n]{{0,300}}?)?(?:>>|\|\s*(?:sudo\s+)?tee\s+-a)\s*[\"']?[^\s|;&]{{0,80}}{_LOGIN_FILE}",
            rf"(?:>>?|\btee\s+(?:-a\s+)?)\s*[\"']?[^\s|;&]{{0,60}}{_START_FILE}",
            rf"\b(?:cp|mv|install|ln\s+-s\w*)\s[^\n|;]{{0,120}}?{_START_FILE}",
            rf"\|\s*(?:sudo\s+)?crontab\s+(?:-u\s+\w+\s+)?-{_END}",
            rf"\bopen\s*\([^\n]{{0,80}}?(?:{_START_FILE}|{_LOGIN_FILE})[^\n]{{0,20}}?,\s*(?:mode=)?[\"'][aw]",
            r"\breg(?:\.exe)?\s+add\b[^\n]{0,80}?\\CurrentVersion\\Run\b",
            r"\b(?:New|Set)-ItemProperty\b[^\n]{0,80}?\\CurrentVersion\\Run\b",
        ),
        (">", "tee", "cp ", "mv ", "install ", "ln ", "crontab", "open", "currentversion"),
        lesser=_sets_a_variable,
    ),
    Rule(
        "disables-safety",
        "Switches off what protects this machine",
        (
            r"\bsetenforce\s+0\b",
            r"\bspctl\s+--(?:master|global)-disable\b",
            r"\bcsrutil\s+disable\b",
            r"\bxattr\s+-\w*[cd]\w*\s",
            r"\bSet-MpPreference\b[^\n]{0,60}?-Disable\w+\s+(?:\$true|1)\b",
            r"\bAdd-MpPreference\b[^\n]{0,40}?-Exclusion",
            r"\bufw\s+disable\b",
            r"\bsystemctl\s+(?:stop|disable|mask)\s+(?:--now\s+)?(?:firewalld|ufw|apparmor|auditd|falcon-sensor)\b",
            r"\bgit\s+config\s+(?:--\w+\s+)?http\.sslVerify\s+[\"']?(?:false|0)\b",
        ),
        ("setenforce", "spctl", "csrutil", "xattr", "mppreference", "ufw", "systemctl", "sslverify"),
    ),
    Rule(
        "locked-archive",
        "Unpacks a download that is locked, so that no scanner can look into it",
        (
            r"\b(?:curl|wget)\b[^\n]{0,200}(?:\n[^\n]{0,200}){0,3}?"
            r"\b(?:unzip\s+(?:-\w+\s+)?-P\s*\S|7z\w?\s+[xe]\s[^\n]{0,60}?-p\S|unrar\s+[xe]\s+-p\S)",
        ),
        ("unzip", "7z", "unrar"),
    ),
)

NOTES = (
    Rule(
        "network",
        "Uses the network",
        (
            r"\b(?:curl|wget)\s+[^\s|]",
            r"^[ \t]*(?:import|from)\s+(?:requests|httpx|aiohttp|urllib3|urllib\.request|socket|websockets?)\b",
            r"\bawait\s+fetch\s*\(|\baxios\b|\bXMLHttpRequest\b|\brequire\(\s*[\"'](?:node:)?(?:https?|net)[\"']",
            r"\bInvoke-(?:WebRequest|RestMethod)\b",
        ),
        ("curl", "wget", "import", "fetch", "axios", "xmlhttp", "require", "invoke-"),
        "note",
    ),
    Rule(
        "install",
        "Installs or fetches packages",
        (
            r"\b(?:pip[\d.]*|pipx|npm|pnpm|yarn|apt|apt-get|brew|cargo|gem|conda|mamba|dnf|yum|apk|choco|winget|go|"
            r"uv\s+(?:pip|tool))\s+(?:-[\w-]+\s+){0,3}(?:install|add)\b",
            r"\b(?:uvx|npx|bunx)\s+[-\w@]",
            r"\buv\s+add\s",
        ),
        ("install", "add", "npx", "uvx", "bunx"),
        "note",
    ),
    Rule("sudo", "Asks for the administrator's rights", (r"(?:^|[;&|(`\"'$])[ \t]*sudo\s+[-\w/]",), ("sudo",), "note"),
    Rule(
        "subprocess",
        "Starts other programs",
        (
            r"^[ \t]*(?:import|from)\s+subprocess\b",
            r"\bos\.(?:system|popen|exec[lv]\w*)\s*\(",
            r"\bchild_process\b",
            r"\bStart-Process\b",
        ),
        ("subprocess", "os.", "child_process", "start-process"),
        "note",
    ),
)
KEYS = Rule(
    "environment-keys",
    "Speaks of keys in the environment",
    (r"(?<![A-Za-z0-9_])(?-i:[A-Z][A-Z0-9_]{0,60}?_(?:API_?KEY|ACCESS_KEY|SECRET|TOKEN|PASSWORD|SECRET_KEY)\b)",),
    ("key", "secret", "token", "password"),
    "note",
)

# A run of base64 or hex, in one line or in lines one after the other.
BLOB = re.compile(
    r"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/-]{400,}+={0,2}|"
    r"(?:^[ \t\"'b(]{0,12}[A-Za-z0-9+/]{60,76}+={0,2}(?:\\n)?[\"',)+\\ ]{0,6}\n){6,}+",
    re.MULTILINE,
)
RUNS = re.compile(rf"\b(?:exec|eval|Function)\s*\(|{_PS_RUN}|\|\s*{_SH}\b|{_UNBASE}")
READS_PRIVATE = re.compile(
    r"\b(?:cat|base64|tar|zip|gzip|Get-Content|readFile\w*|open|file_get_contents|File\.read)\b"
    rf"[^\n|]{{0,80}}?{_PRIVATE_FILE}|=\s*[\"']?(?:\$\(|`)\s*(?:env|printenv)\s*[)`|]|"
    r"JSON\.stringify\(\s*process\.env\s*\)|Object\.entries\(\s*process\.env\s*\)"
)
SENDS = re.compile(
    r"\bcurl\b[^\n]{0,200}?\s(?:-d|--data\S*|-F|--form|-T|--upload-file|-X\s*(?:POST|PUT))\b|"
    r"\bwget\b[^\n]{0,100}?--post|\bn(?:c|cat)\s+[\w.$-]+\s+\d|"
    r"\bfetch\s*\(|\baxios\b|\bhttps?\.request\(|\.post\(|\bInvoke-(?:WebRequest|RestMethod)\b"
)
