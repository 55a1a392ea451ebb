"""How much a snapshot may cost."""

from __future__ import annotations

import time
from typing import Literal

Reason = Literal["too large", "no time left", "can't be copied"]

# What is copied is compared once the code has run, and that time belongs to the same budget.
_SHARE_OF_TAKING = 0.55

# Memory that has not been used before comes slowly, and so do objects that the processor's cache does not hold.
_SECONDS_PER_BYTE = 1 / 0.8e9
_SECONDS_PER_ITEM = 100e-9

_FASTER = 2
"""How much faster copying may turn out to be; what would not be done even then is too large on any machine."""


class OutOfTime(Exception):
    """The time was over before a copy was complete."""


class Budget:
    """The time and memory that copies of a namespace may take.

    Args:
        seconds: For taking them and for comparing them later.
        memory: In bytes.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        self._begin = time.perf_counter()
        self._seconds = seconds * _SHARE_OF_TAKING
        self._memory = memory
        self._copied = 0
        self._copying = 0.0
        self._reserved = 0
        self.spent = 0

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._begin

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.elapsed >= self._seconds

    @property
    def full(self) -> bool:
        """Whether no memory is left."""
        return self.spent + self._reserved >= self._memory

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be taken."""
        return self.spent + self._reserved + size <= self._memory

    def reserve(self, size: int) -> None:
        """Counts bytes that were not copied for lack of time, so that what is too large does not depend on that."""
        self._reserved += size

    def charge(self, size: int, seconds: float = 0.0) -> None:
        """Counts bytes, and learns from the seconds that copying them took."""
        self.spent += size
        if seconds:
            self._copied += size
            self._copying += seconds

    def lacking(self, size: int, items: int = 0) -> Reason | None:
        """Why a copy can't be begun, if it can't: it would not be done in what is left.

        Args:
            size: Its bytes.
            items: How many objects would have to be looked at.
        """
        least = size * _SECONDS_PER_BYTE / _FASTER + items * _SECONDS_PER_ITEM
        if not self.has_room(size) or least > self._seconds > 0:
            return "too large"
        rate = _SECONDS_PER_BYTE
        if self._copied > 16 << 20:
            rate = max(rate / _FASTER, 1.2 * self._copying / self._copied)
        needed = size * rate + items * _SECONDS_PER_ITEM
        return None if needed <= self._seconds - self.elapsed else "no time left"
