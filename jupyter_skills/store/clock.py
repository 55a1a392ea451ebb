"""Times as the store keeps them: microseconds since the epoch, in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """This moment."""
    return time.time_ns() // 1000


def as_time(microseconds: int) -> datetime:
    """A moment as Python knows it."""
    return _EPOCH + timedelta(microseconds=microseconds)
