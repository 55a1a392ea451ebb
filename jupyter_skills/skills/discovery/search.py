"""Finding the skill for a task by words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_skills.skills.skill import Skill

_WORD = re.compile(r"[^\W_]+")
# A word of the name tells more than one of the description, and that more than one of the text.
WEIGHTS = (6.0, 2.0, 0.5)
_SATURATION, _LENGTH = 1.2, 0.5
MOST_BODY = 20_000


@dataclass(frozen=True)
class Hit:
    """A skill that matches.

    Args:
        skill: The skill.
        score: How well; only good for comparing hits of one search.
    """

    skill: Skill
    score: float


def search(words: str, skills: Sequence[Skill], most: int = 10) -> list[Hit]:
    """The skills that words fit best, best first (Okapi BM25 over name, description and text).

    Args:
        words: What is looked for, in any order; beginnings of words count too.
        skills: What to look through.
        most: How many hits at most.
    """
    wanted = list(dict.fromkeys(terms_of(words)))
    if not wanted or not skills:
        return []
    weighed = [_weighed(skill) for skill in skills]
    lengths = [sum(terms.values()) for terms in weighed]
    usual = sum(lengths) / len(lengths) or 1.0
    scores = [0.0] * len(skills)
    for term in wanted:
        counts = [_count(terms, term) for terms in weighed]
        having = sum(count > 0 for count in counts)
        rarity = math.log(1 + (len(skills) - having + 0.5) / (having + 0.5))
        for i, count in enumerate(counts):
            dampened = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[i] / usual)
            scores[i] += rarity * count * (_SATURATION + 1) / (count + dampened)
    hits = [Hit(skill, score) for skill, score in zip(skills, scores, strict=True) if score > 0]
    return sorted(hits, key=lambda hit: (-hit.score, hit.skill.name))[:most]


def _weighed(skill: Skill) -> Counter[str]:
    terms: Counter[str] = Counter()
    texts = (skill.name, skill.description, skill.body[:MOST_BODY])
    for text, weight in zip(texts, WEIGHTS, strict=True):
        for term, count in Counter(terms_of(text)).items():
            terms[term] += count * weight  # type: ignore[assignment]  # a Counter of weights
    return terms


def _count(terms: Counter[str], wanted: str) -> float:
    exact = terms[wanted]
    if exact or len(wanted) < 3:
        return exact
    return 0.5 * sum(count for term, count in terms.items() if term.startswith(wanted))


def terms_of(text: str) -> list[str]:
    """Words in small letters without accents, and without the s of a plural."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in _WORD.findall(plain)
    ]
