"""Finding stored skills by words, with each database's own index: SQLite's FTS5, PostgreSQL's tsvector.

Both are given the very terms that ``skills/discovery/search.py`` makes of a text, so that a word finds the same
skills wherever they are kept.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, REAL, TSQUERY, TSVECTOR
from sqlalchemy.engine import Connection

from jupyter_skills.skills.discovery.search import MOST_BODY, WEIGHTS, terms_of
from jupyter_skills.store.tables import WORDS_TABLE, skills

# PostgreSQL keeps so many places of a word at most, and none beyond the highest.
_MOST_PLACES, _HIGHEST_PLACE = 256, 16_383
_LONGEST_TERM = 200
_PREFIX_FROM = 3
_MOST_WORDS = 32
_SAMPLE = 1000  # skills by which it is judged how common a word is
_PARTS = ("name", "description", "body")

# The weights of D, C, B and A, which PostgreSQL wants within 1; and its flag for minding the length of a text.
_RANKS = sa.cast(sa.literal([0.0, *(weight / WEIGHTS[0] for weight in reversed(WEIGHTS))], ARRAY(REAL)), ARRAY(REAL))
_BY_LENGTH = 1

# SQLite's index knows a row by its number only, which is what makes it quick.
_KEY = {"sqlite": "rowid", "postgresql": "skill"}
_words = sa.table(WORDS_TABLE, *map(sa.column, (*_KEY.values(), "terms", *_PARTS)))

_SQLITE = (f"CREATE VIRTUAL TABLE {WORDS_TABLE} USING fts5(name, description, body, prefix='3 4')",)
_POSTGRESQL = (
    f"CREATE TABLE {WORDS_TABLE} (skill INTEGER NOT NULL, terms TSVECTOR NOT NULL, "
    f"CONSTRAINT pk_{WORDS_TABLE} PRIMARY KEY (skill))",
    f"CREATE INDEX ix_{WORDS_TABLE}_terms ON {WORDS_TABLE} USING gin (terms)",
)


def create(connection: Connection) -> None:
    """Makes the index, empty."""
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRESQL:
        connection.exec_driver_sql(statement)


def forget(connection: Connection, key: int) -> None:
    """Takes a skill out of the index.

    Args:
        connection: Within a transaction.
        key: The skill's ``key``.
    """
    connection.execute(_words.delete().where(_key(connection) == key))


def learn(connection: Connection, key: int, name: str, description: str, body: str) -> None:
    """Puts a skill into the index, in place of what it had of it."""
    forget(connection, key)
    texts = [_terms(name), _terms(description), _terms(body[:MOST_BODY])]
    if connection.dialect.name == "sqlite":
        values: dict[str, Any] = {part: " ".join(terms) for part, terms in zip(_PARTS, texts, strict=True)}
    else:
        values = {"terms": sa.cast(_vector(texts), TSVECTOR)}
    connection.execute(_words.insert().values({_key(connection).name: key, **values}))


def asked_for(connection: Connection, words: str, seen: sa.ColumnElement[bool]) -> Iterator[dict[str, float]]:
    """What to look for, each term with how much it tells: first the telling ones, then, if nothing has those, all.

    Args:
        connection: Within a transaction.
        words: What a user looks for; no more than the first words count.
        seen: Which skills the user sees: nothing that others keep to themselves may change an order or a score.
    """
    terms = list(dict.fromkeys(_terms(words)))[:_MOST_WORDS]
    telling = _telling(connection, terms, seen)
    yield from filter(None, (telling, dict.fromkeys(terms, 1.0) if telling.keys() < set(terms) else None))


def matches(connection: Connection, wanted: Mapping[str, float]) -> sa.Subquery:
    """The ``key`` and ``score`` (the higher, the better) of the skills that have any of the terms."""
    if connection.dialect.name == "postgresql":
        score = sa.func.ts_rank(_RANKS, _words.c.terms, _asked(list(wanted)), _BY_LENGTH).label("score")
        found = sa.select(_key(connection).label("key"), score)
        return found.where(_fits(connection, list(wanted))).subquery()
    # FTS5's own rank counts the texts of all users, so a text counts here by the parts of it that a word is in.
    hits = sa.union_all(
        *(
            sa.select(_key(connection).label("key"), sa.literal(rarity * weight).label("weight")).where(
                _fits(connection, [term], f"{part} : ")
            )
            for term, rarity in wanted.items()
            for part, weight in zip(_PARTS, WEIGHTS, strict=True)
        )
    ).subquery()
    return sa.select(hits.c.key, sa.func.sum(hits.c.weight).label("score")).group_by(hits.c.key).subquery()


def _telling(connection: Connection, terms: Sequence[str], seen: sa.ColumnElement[bool]) -> dict[str, float]:
    """The terms that tell skills apart, each with how much; one that half of the skills have does so only alone."""
    if len(terms) < 2:
        return dict.fromkeys(terms, 1.0)
    newest = sa.select(skills.c.key).where(seen).order_by(skills.c.key.desc()).limit(_SAMPLE).subquery()
    of_all = connection.execute(sa.select(sa.func.count()).select_from(newest)).scalar() or 0
    counted = sa.select(sa.func.count()).select_from(_words.join(newest, _key(connection) == newest.c.key))
    having = {term: connection.execute(counted.where(_fits(connection, [term]))).scalar() or 0 for term in terms}
    telling = {term: math.log(2 + of_all / max(1, number)) for term, number in having.items() if number <= of_all / 2}
    return telling or dict.fromkeys(terms, 1.0)


def _fits(connection: Connection, terms: Sequence[str], part: str = "") -> sa.ColumnElement[bool]:
    if connection.dialect.name == "sqlite":
        query = " OR ".join(f'{part}"{term}"{"*" * _by_prefix(term)}' for term in terms)
        return sa.literal_column(WORDS_TABLE).op("MATCH")(query)
    return _words.c.terms.op("@@")(_asked(terms))


def _asked(terms: Sequence[str]) -> sa.ColumnElement[Any]:
    return sa.cast(" | ".join(f"'{term}'{':*' * _by_prefix(term)}" for term in terms), TSQUERY)


def _key(connection: Connection) -> sa.ColumnClause[Any]:
    return _words.c[_KEY[connection.dialect.name]]


def _terms(text: str) -> list[str]:
    """Terms, which are letters and digits and so need no quoting."""
    return [term[:_LONGEST_TERM] for term in terms_of(text)]


def _by_prefix(term: str) -> bool:
    return len(term) >= _PREFIX_FROM


def _vector(texts: Sequence[Sequence[str]]) -> str:
    """A tsvector's text; its own parser would cut words by the rules of one language and one locale."""
    places: dict[str, list[str]] = defaultdict(list)
    place = 0
    for terms, weight in zip(texts, "ABC", strict=True):
        for term in terms:
            place += 1
            if len(places[term]) < _MOST_PLACES:
                places[term].append(f"{min(place, _HIGHEST_PLACE)}{weight}")
    return " ".join(f"'{term}':{','.join(where)}" for term, where in places.items())
