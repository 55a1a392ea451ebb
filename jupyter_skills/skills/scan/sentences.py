"""The patterns of sentences that ``scan`` looks for, and how sentences that warn of such things are told apart."""

from __future__ import annotations

import re

from jupyter_skills.skills.scan.rules import Rule

_SECRETS = (
    r"(?:(?:api|access|secret|private|ssh|signing|encryption)[\s_-]?keys?|"
    r"(?:access|auth|api|session|bearer|github|refresh)[\s-]tokens?|passwords?|credentials?|secrets|"
    r"(?:seed|recovery)\s+phrases?|environment\s+variables|(?:browser|session)\s+cookies|key-?chain|wallets?)"
)
_PRIVATE_PLACE = (
    r"(?:~?/?(?:\.ssh/(?!config|known_hosts|\w+\.pub)\w*|\.aws/credentials|\.git-credentials|\.netrc|\.gnupg)\b/?|"
    r"~/\.ssh\b(?!/)|/etc/shadow|(?:the\s+)?(?:user'?s\s+)?(?:macOS\s+|login\s+)?keychain|"
    r"browser(?:'s)?\s+(?:saved\s+)?(?:cookies|passwords)|(?:the\s+)?contents?\s+of\s+(?:the\s+|their\s+|any\s+)?"
    r"[\"'`]?(?:[~/\w]{0,20}/)?\.env\b)"
)
# Where an imperative begins.
_DO = (
    r"(?:^[ \t>*+\-\d.)]{0,12}|[.!?:;,][ \t]+|"
    r"\b(?:then|and|please|must|should|always|also|first|next|to|now|silently|quietly|secretly|asking)\s*,?\s+)"
)
_SEND = r"(?:send|upload|post|transmit|forward|e-?mail|exfiltrate|submit|report|leak|deliver)"
_OUTSIDE = (
    r"\bto\s+(?:(?:the\s+|this\s+|our\s+|my\s+|an?\s+)?(?:following\s+|remote\s+|external\s+|collection\s+|logging\s+)?"
    r"(?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.|(?:[\w-]{1,40}\.){1,3}(?:com|net|org|io|dev|site|xyz|app|ru|cn|me|top)\b|"
    r"(?:webhook|pastebin|gist|telegram|discord|paste\s?site|drop\s?box|collector|attacker)\b)|(?:me|us)\b)"
)
_PRIOR = (
    r"(?:(?:all|any|every|the|your|of|these|those|other)\s+){0,3}"
    r"(?:previous|prior|above|earlier|preceding|system|developer|existing|original|user'?s)"
)
_THE_USER = r"(?:the\s+user|users|them|anyone|the\s+human)\b"
_NO = r"\b(?:do\s+not|don'?t|never|must\s+not|should\s+not|avoid)\s+(?:ever\s+)?"
_FACT = r"(?:it|you|something|the\s+\w+)(?:'s|\s+(?:is|are|was|were|has|have|will))\b"

SENTENCES = (
    Rule(
        "asks-for-secrets",
        "Asks the model to read out or send away secrets",
        (
            rf"{_DO}{_SEND}\b[^.\n]{{0,80}}?(?:{_SECRETS}|{_PRIVATE_PLACE}|\.env\b)(?:[^.\n]|\.\w){{0,80}}?{_OUTSIDE}",
            rf"{_SECRETS}[^.\n]{{0,80}}?\b(?:and|then)\s+{_SEND}\s+(?:it|them|these|those|that|everything|all|the)\b"
            rf"[^.\n]{{0,40}}?{_OUTSIDE}",
            rf"{_DO}(?:read|cat|collect|gather|copy|grab|extract|steal|dump|harvest|print|show|output|include|attach|paste|"
            rf"upload|send|(?:base64[- ])?encode|exfiltrate)\b[^.\n]{{0,50}}?{_PRIVATE_PLACE}",
            rf"{_DO}(?:print|show|output|dump|display|reveal|include|paste|repeat|list|echo)\b[^.\n]{{0,30}}?"
            rf"\b(?:all|any|every|each|full|complete|the\s+user'?s|their|your)\s+(?:\w+\s+){{0,2}}?{_SECRETS}[^.\n]{{0,40}}?"
            r"\b(?:you\s+(?:can\s+)?(?:find|have|know)|in\s+(?:the|your)\s+(?:answer|reply|response|output|chat|message|report)|"
            r"verbatim|in\s+full|in\s+plain)",
            rf"{_DO}(?:read|open|take|load|get)\b[^\n]{{0,40}}?(?:\.env\b|{_PRIVATE_PLACE})[^.\n]{{0,30}}?\b(?:and|then)\s+"
            r"(?:include|send|append|paste|post|upload|attach|add|put|output|print)\s+(?:it\b|its|them|the\s+contents?|everything|that)",
            rf"{_DO}(?:exfiltrate|steal|harvest)\b[^.\n]{{0,60}}?{_SECRETS}",
            r"\bask\s+(?:the\s+user|them)\b[^.\n]{0,30}?\b(?:(?:seed|recovery)\s+phrase|private\s+key|master\s+password|"
            r"(?:their|sudo|login|account)\s+password)",
        ),
        ("key", "token", "password", "credential", "secret", "phrase", "environment", "cookie", "wallet", "/", ".env"),
    ),
    Rule(
        "overrides-instructions",
        "Tells the model to set aside what it was told by others",
        (
            rf"\b(?:ignore|disregard|forget|override|bypass|discard)\s+{_PRIOR}(?:\s+\w+){{0,2}}?\s+"
            r"(?:instructions?|prompts?|rules|guidelines|directives|messages?|wishes|commands|orders)\b",
            r"\b(?:ignore|disregard|bypass|override)\s+(?:all\s+|any\s+|your\s+|the\s+){0,2}(?:safety|security|ethical|content)\s+"
            r"(?:rules|guidelines|instructions|polic(?:y|ies)|restrictions|filters|guardrails)\b",
            r"\b(?:ignore|disregard)\s+(?:what|whatever|anything)\s+(?:the\s+)?(?:user|system|developer)\b",
            r"\b(?:these|this\s+skill'?s?|the\s+following)\s+instructions?\s+"
            r"(?:take\s+(?:precedence|priority)\s+over|override|supersede|replace)\s+"
            r"(?:all|any|the|your)\b[^.\n]{0,40}?\b(?:system|user|safety|previous|prior|other)\b",
            r"\byou\s+(?:are|have)\s+(?:now\s+|no\s+longer\s+)(?:bound\s+by|restricted\s+by|free\s+from|under\s+no|no)\b"
            r"[^.\n]{0,40}?\b(?:rules|restrictions|guidelines|policies|limits|limitations)\b",
        ),
        ("ignore", "disregard", "forget", "override", "bypass", "discard", "instruction", "you are", "you have"),
    ),
    Rule(
        "hides-from-user",
        "Tells the model to keep something from the user",
        (
            rf"{_NO}(?:tell|inform|alert|notify|warn)(?:ing)?\s+{_THE_USER}"
            rf"(?!\s+(?:to\b|how\b|what\s+is\b|about\s+(?:each|every)\b|until\b|unless\b|users?\b|(?:that\s+)?{_FACT}))",
            rf"{_NO}(?:mention|reveal|disclose|show|report)\s+"
            r"(?:this|it|these|that|the\s+(?:upload|request|command|download|instructions?|transfer|copy|step))\b"
            r"[^.\n]{0,40}?\bto\s+(?:the\s+user|anyone|the\s+human)\b",
            rf"\bwithout\s+(?:telling|informing|notifying|alerting|letting|mentioning\s+(?:it|this)\s+to)\s+{_THE_USER}",
            r"\b(?:hide|conceal|keep)\s+(?:this|it|these|that|the\s+\w+)\s+(?:\w+\s+){0,3}?from\s+(?:the\s+user|the\s+human)\b",
            r"\bthe\s+user\s+(?:(?:must|should|need)\s+not|mustn't|shouldn't|needn't)\s+(?:ever\s+)?"
            r"(?:know|notice|find\s+out|be\s+told|learn\s+(?:of|about))\b(?!\s+(?:how|which|where))",
            r"\bthe\s+user\s+(?:does\s+not|doesn't)\s+need\s+to\s+(?:know|notice|see)\s+(?:about\s+|of\s+)?(?:this|it|that)\b",
            r"\b(?:silently|secretly|covertly|surreptitiously|discreetly)\s+"
            r"(?:send|upload|copy|collect|transmit|post|forward|exfiltrate|read\s+and|record|download\s+and)\b",
        ),
        ("user", "them", "anyone", "human", "ly "),
    ),
    Rule(
        "locked-archive",
        "Has a locked archive downloaded and run, which no scanner can look into",
        (
            r"\bdownload\b(?=[^\n]{0,200}?\.(?:zip|rar|7z)\b)[^\n]{0,300}(?:\n[^\n]{1,200}){0,3}?"
            r"\bpass(?:word|phrase|code)?\b\s*(?:is\b|:|=|`|\"|\()",
            r"\b(?:extract|unzip|unpack|open)\b[^\n]{0,80}?\b(?:with|using)\s+(?:the\s+)?pass(?:word|phrase|code)?\b"
            r"[^\n]{0,80}?\b(?:and|then)\s+(?:run|execute|launch|install|open)\b",
        ),
        ("pass",),
    ),
    Rule(
        "network-shell",
        "Has commands run that stand on a web page, where they may change at any time",
        (
            r"\b(?:visit|go\s+to|open|browse\s+to|navigate\s+to)\b[^.\n]{0,40}?https?://\S{1,150}[^.\n]{0,40}?"
            r"\b(?:copy|paste|run|execute)\b[^.\n]{0,60}?\b(?:terminal|powershell|command\s+(?:prompt|line)|shell)\b",
        ),
        ("http",),
    ),
)

# What has no business in code either.
ANYWHERE = tuple(rule for rule in SENTENCES if rule.kind in {"overrides-instructions", "hides-from-user"})

# Only sound like a warning.
_URGES = re.compile(
    r"\b(?:never|do\s+not|don'?t|must\s+not|should\s+not|may\s+not|cannot|can'?t)\s+(?:be\s+)?"
    r"(?:skip|forg[eo]t|hesitat|worr|only|omit|miss|fail|wait|ask|stop|delay|work|proceed|continue|start)\w*",
    re.IGNORECASE,
)
_WARNS = re.compile(
    r"\b(?:never|(?:do|does|did|must|should|shall|will|may|can|could|would)\s+not|cannot|avoid|refuse[sd]?|reject(?:s|ed)?|"
    r"forbid\w*|prohibit\w*|prevent\w*|block(?:s|ed|ing)?|den(?:y|ies|ied))\b|n't\b|[❌✗🚫⛔]",
    re.IGNORECASE,
)
_DISCUSSES = re.compile(
    r"\b(?:attack(?:s|ers?)?|malicious\w*|adversar\w+|(?:prompt|command|code|shell|sql)\s+injections?|injections?\s+attempts?|injected|red\s+flags?|vulnerab\w+|detect(?:s|ing)?|suspicious\w*|"
    r"destructive|unsafe|insecure|exploit\w*|threats?|anti-?patterns?|hijack\w*|jailbreak\w*|phishing|malware|"
    r"trojan\w*|flagged|looks?\s+for|such\s+as|e\.g\.|instead\s+of|rather\s+than|pentest\w*|red[\s-]team\w*)\b",
    re.IGNORECASE,
)


def warns(before: str) -> bool:
    """Whether what stands before something in its sentence says not to do it."""
    clause = re.split(r";|\bbut\b", before)[-1]
    return bool(_WARNS.search(_URGES.sub(" ", clause)))


def discusses(before: str) -> bool:
    """Whether what stands before something speaks of it as an attack or a mistake."""
    return bool(_DISCUSSES.search(before))
