"""What a careful reader would want to know of a skill before trusting it.

It reads and runs nothing. It shows a reader where to look and is no guard: whoever knows the patterns can write around
them, so that no skill is safe for having no findings.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right

from jupyter_skills.errors import InvalidSkill
from jupyter_skills.skills.files import FileEntry, SkillFiles
from jupyter_skills.skills.scan.page import Finding, Page
from jupyter_skills.skills.scan.python import python_facts
from jupyter_skills.skills.scan.rules import BLOB, COMMANDS, KEYS, NOTES, READS_PRIVATE, RUNS, SENDS, Level, Rule
from jupyter_skills.skills.scan.sentences import ANYWHERE, SENTENCES, discusses, warns
from jupyter_skills.skills.scan.text import Lines, hidden_text, markdown_parts

__all__ = ["Finding", "alerts_in", "scan"]

# A larger file is only named, and so is every file once so much has been read.
MOST_READ = 1024 * 1024
MOST_READ_IN_ALL = 4 * 1024 * 1024
LARGE = 1024 * 1024

_PROSE = frozenset({"md", "mdx", "markdown", "txt", "rst", "adoc"})
_CODE = frozenset(
    {"py", "sh", "bash", "zsh", "fish", "js", "mjs", "cjs", "ts", "tsx", "jsx", "rb", "pl", "php", "lua", "r", "jl"}
    | {"ps1", "psm1", "bat", "cmd", "vbs", "go", "rs", "java", "c", "cpp", "h", "applescript", "command"}
)
_KNOWN_BINARY = frozenset(
    {"png", "jpg", "jpeg", "gif", "webp", "ico", "bmp", "tif", "tiff", "avif", "heic", "mp3", "mp4", "wav", "ogg"}
    | {"webm", "mov", "ttf", "otf", "woff", "woff2", "eot", "pdf", "docx", "xlsx", "pptx", "doc", "xls", "ppt"}
    | {"dotx", "potx", "odt", "ods", "odp", "epub"}
)
_HAS_BLOBS = (
    *("ipynb", "svg", "lock", "pem", "crt", "cer", "key", "pub", "asc", "map", "sum"),
    *("-lock.json", "-lock.yaml"),
)
_MACHINE_CODE = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)
_COOKIE = re.compile(r"(?:[^\n]*\n)?[ \t]*#[^\n]{0,80}?coding[=:][ \t]*([-\w.]+)")  # PEP 263
_PLAIN_ENCODINGS = ("utf-8", "utf8", "ascii", "us-ascii", "latin-1", "iso-8859-1", "cp1252")
_COMMENT = re.compile(r"\s*(?:#(?!!)|//|\*|REM\b|::|%|--\s|;)", re.IGNORECASE)
_SAYS = re.compile(r"\s*(?:echo|printf|print|console\.\w+|log\w*|warn|error|die|info|fail|Write-\w+)\b", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.!?][\"')*]*\s+(?=[A-Z*`\"])|\n\s*\n|\n\s*(?:[-*+|>#]|\d+[.)])\s*")
_QUOTES = ('"', "'", "`", "\u201c", "\u2018", "\u00ab")
_MESSAGES = {rule.kind: rule.message for rule in (*COMMANDS, *NOTES)}


def alerts_in(files: SkillFiles) -> list[Finding]:
    """What a reader should look at before anything else; see ``scan``."""
    return [finding for finding in scan(files) if finding.level == "alert"]


def scan(files: SkillFiles) -> list[Finding]:
    """Reads all files of a skill.

    Args:
        files: The files.

    Returns:
        The findings, alerts first, then by path, line and kind.

    Raises:
        InvalidSkill: There are too many files.
    """
    found: list[Finding] = []
    room = MOST_READ_IN_ALL
    for path in files.paths():
        page = Page(path)
        try:
            entry = files.entry(path)
        except InvalidSkill:
            page.add("unread", "alert", "Could not be read")
        else:
            room -= _read(page, entry, min(room, MOST_READ))
        found += page.findings()
    return sorted(found, key=lambda f: (f.level != "alert", f.path, f.line or 0, f.kind, f.message, f.excerpt))


def _read(page: Page, entry: FileEntry, most: int) -> int:
    """Judges a file if it has at most so many bytes; the answer is how many it took to."""
    content, name = entry.content, page.path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name else ""
    for start, end, level, _ in hidden_text(page.path, code=True):
        page.add("hidden-text", level, "Its name holds characters that don't show", 0, page.path, (start, end))
    if entry.executable:
        page.add("executable", "note", "May be executed")
    if content.startswith(_MACHINE_CODE) or (content[:2] == b"MZ" and b"PE\0\0" in content[:1024]):
        page.add("machine-code", "note", "Is a program in machine code, which can't be read")
        return 0
    matters = suffix in _PROSE | _CODE or content.startswith(b"#!")
    if len(content) > LARGE:
        page.add("large-file", "note", f"Has {len(content):,} bytes")
    text = _text(content, matters)
    if text is None:
        if suffix not in _KNOWN_BINARY:
            page.add("binary", "note", "Is neither text nor a known kind of image, font or document")
        return 0
    if len(content) > most:
        page.add("unread", "alert" if matters else "note", "Was not read, as there is too much of it")
        return 0
    lines, first = Lines(text), text[:200].partition("\n")[0]
    if text.startswith("#!"):
        page.add("script", "note", "Is a script", 1, text, (0, len(first)))
    prose = suffix in _PROSE or not (suffix or text.startswith("#!"))
    for start, end, level, message in hidden_text(text, not prose):
        page.add("hidden-text", level, message, lines.at(start), text, (start, end))
    if not name.endswith(_HAS_BLOBS):
        _blobs(page, text, lines)
    _notes(page, KEYS, text, lines, 0)
    if prose:
        _prose(page, text, lines)
    else:
        _code(page, text, first if text.startswith("#!") and suffix not in _CODE else suffix, 0, "")
        _sentences(page, text, lines, ANYWHERE)
    return len(content)


def _text(content: bytes, matters: bool) -> str | None:
    """A file as text, if it is text; what would be run or read is text whatever bytes are mixed into it."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", errors="replace")
    elif matters:
        text = content.decode(errors="replace")
    elif b"\0" in content[:8192]:
        return None
    else:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _blobs(page: Page, text: str, lines: Lines) -> None:
    for match in BLOB.finditer(text):
        start, end = match.span()
        before = text[max(0, start - 200) : start]
        if len(set(match[0][:400])) < 12 or "data:" in before[-80:] or "-----BEGIN" in before[-80:]:
            continue
        runs = RUNS.search(before) or RUNS.search(text[end : end + 200])
        message = "Holds a long encoded text next to what runs code" if runs else "Holds a long encoded text"
        page.add("encoded-blob", "alert" if runs else "note", message, lines.at(start), text, (start, start + 60))


def _notes(page: Page, rule: Rule, text: str, lines: Lines, before: int) -> None:
    for match in rule.matches(text, text.lower()):
        page.add(rule.kind, rule.level, rule.message, before + lines.at(match.start()), text, match.span())


def _code(page: Page, text: str, language: str, before: int, lead: str) -> None:
    """Judges code that stands after so many lines of its file; ``lead`` is what Markdown says before it."""
    lines, level = Lines(text), _level(discusses(lead) or warns(lead))
    python = python_facts(textwrap.dedent(text)) if "py" in language else None
    cookie = _COOKIE.match(text) if "py" in language else None
    if cookie and cookie[1].lower().replace("_", "-") not in _PLAIN_ENCODINGS:
        message = "Is read by Python in an encoding that can hide what runs"
        page.add("hidden-text", "alert", message, before + lines.at(cookie.start(1)), text, cookie.span())
    if python is None:
        for rule in NOTES:
            _notes(page, rule, text, lines, before)
        _commands(page, text, lines, before, lead)
        secret = READS_PRIVATE.search(text)
        if secret and SENDS.search(text):
            line = before + lines.at(secret.start())
            page.add("exfiltration", level, _MESSAGES["exfiltration"], line, text, secret.span())
        return
    for kind, line in python.hits:
        page.add(kind, level, _MESSAGES[kind], before + line, text, lines.span(line))
    for kind, line in python.notes.items():
        page.add(kind, "note", _MESSAGES[kind], before + line, text, lines.span(line))
    for string, line in python.strings:
        if len(string) > 5:
            _commands(page, string, Lines(string), before + line - 1, lead)


def _level(lesser: object) -> Level:
    return "note" if lesser else "alert"


def _commands(page: Page, text: str, lines: Lines, before: int, lead: str) -> None:
    # A line that goes on in the next one is one command.
    joined = text.replace("\\\n", "  ")
    lowered, about = joined.lower(), discusses(lead) or warns(lead)
    for rule in COMMANDS:
        for match in rule.matches(joined, lowered):
            start, end = match.span()
            first = joined.rfind("\n", max(0, start - 300), start) + 1 or max(0, start - 300)
            line = joined[first:end] + joined[end : end + 200].partition("\n")[0]
            said = _SAYS.match(line) and sum(map(joined[first:start].count, "\"'")) % 2
            level = _level(about or said or _COMMENT.match(line) or (rule.lesser and rule.lesser(line)))
            page.add(rule.kind, level, rule.message, before + lines.at(start), text, (start, end))


def _sentences(page: Page, text: str, lines: Lines, rules: tuple[Rule, ...]) -> None:
    unseen, lowered = _comments(text), text.lower()
    for rule in rules:
        for match in rule.matches(text, lowered):
            start, line = match.start(), lines.at(match.start())
            said, command = _context(text, start), rule in COMMANDS
            if warns(said) and not command:
                continue
            place = bisect_right(unseen, start, key=lambda span: span[0]) - 1
            if place >= 0 and start < unseen[place][1]:
                message = f"In a comment that doesn't show: {rule.message}"
                page.add("hidden-comment", "alert", message, line, text, match.span())
                continue
            quoted = not command and text[max(0, start - 1) : start] in _QUOTES
            level = _level(quoted or discusses(said) or warns(said) or (rule.lesser and rule.lesser(match[0])))
            page.add(rule.kind, level, rule.message, line, text, match.span())


def _prose(page: Page, text: str, lines: Lines) -> None:
    prose, fences = markdown_parts(text)
    _sentences(page, prose, lines, (*SENTENCES, *COMMANDS))
    for fence in fences:
        if fence.text.strip():
            _code(page, fence.text, fence.language, fence.line - 1, _lead(prose, lines.starts[fence.line - 2]))


def _comments(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end
        found.append((start, end))
        start = text.find("<!--", end)
    return found


def _context(prose: str, start: int) -> str:
    """What stands before something in its sentence, and what leads into the list or the part it is in."""
    sentence = _SENTENCE_ENDS.split(prose[max(0, start - 400) : start])[-1]
    return f"{_lead(prose, start - len(sentence))} {sentence}"


def _lead(prose: str, start: int) -> str:
    """The heading over a place, and the line before it or, in a list, the line that leads into the list."""
    lines = [line for line in prose[max(0, start - 1500) : start].split("\n") if line.strip()]
    heading = next((line for line in reversed(lines) if line.startswith("#")), "")
    if lines and lines[-1].lstrip().startswith(("-", "*", "|")):
        last = next((line for line in reversed(lines) if line.rstrip().endswith((":", ":**"))), "")
    else:
        last = lines[-1] if lines else ""
    return f"{heading}. {last}"
