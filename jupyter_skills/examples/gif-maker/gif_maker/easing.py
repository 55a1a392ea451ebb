"""How things move: functions of a loop's time, 0 to 1, to a position, 0 to 1."""

import math


def linear(t):
    """Evenly from 0 to 1; jumps back at the end of the loop."""
    return t


def smooth(t):
    """From 0 to 1 and back, slow at both ends."""
    return (1 - math.cos(2 * math.pi * t)) / 2


def bounce(t):
    """A ball thrown up from the ground: 0 on the ground, 1 at the top, and down again."""
    return 4 * t * (1 - t)


def pendulum(t):
    """From -1 to 1 and back, as a pendulum swings."""
    return math.cos(2 * math.pi * t)
