"""Names that secrets have."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET = _words(
    "password passwords passwd passphrase passwort secret secrets credential credentials apikey apikeys apisecret "
    "authtoken accesstoken accesskey secretkey privatekey authorization"
)
_OF_A_KEY = _words(
    "api secret private access auth authentication encryption signing service account storage subscription master ssh "
    "rsa aes hmac jwt admin deploy license webhook ingestion management function openai anthropic azure aws gcp google "
    "gemini mistral groq cohere hf huggingface stripe github gitlab slack twilio sendgrid mailgun openrouter deepseek "
    "xai perplexity together fireworks replicate wandb pinecone tavily serper serpapi datadog sentry litellm voyage "
    "jina nvidia cerebras elevenlabs"
)
_NO_TOKENS = _words(
    "max min n num next prev previous pad eos bos unk sep cls mask start end stop first last special per each page "
    "continuation cont sync resume cursor new input output prompt completion image text word sub current "
    "unknown begin this that a the"
)
# A name that ends in one of these tells something about a secret.
_ABOUT = _words(
    "count counts length len size limit name names type types kind field fields policy path file folder dir url uri "
    "column columns col cols attribute attr param parameter variable var selector placeholder message title filename "
    "pathname keyname location endpoint prompt label hint expiry expires expiration expired age ttl index idx ids "
    "format pattern regex rule rules strength required enabled valid version parser helper manager provider store "
    "scheme error errors"
)
_QUESTIONS = _words("n num has is use uses with no show hide require requires needs forgot")


@lru_cache(10_000)
def looks_secret(name: str) -> bool:
    """Whether what has this name is likely a secret: ``OPENAI_API_KEY``, ``authToken``, ``db_password``.

    Args:
        name: Of a variable, an environment variable, a key, a column or a field.
    """
    words = _words_of(name)
    if not words or words[-1] in _ABOUT or (len(words) > 1 and words[0] in _QUESTIONS):
        return False
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if not _SECRET.isdisjoint(words):
        return True
    if last == "token":
        return before not in _NO_TOKENS
    if last in ("key", "keys"):
        return before in _OF_A_KEY
    if last in ("pwd", "pw"):
        return before not in ("", "old")
    return False


def tells_about(name: str) -> bool:
    """Whether what has this name only tells something about a secret: ``password_column``, ``KEY_PATH``."""
    words = _words_of(name)
    return bool(words) and words[-1] in _ABOUT


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name[:200])]
