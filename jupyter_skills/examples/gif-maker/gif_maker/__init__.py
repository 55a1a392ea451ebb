"""Small animated GIFs: a drawing function in, a file out."""

from gif_maker import easing
from gif_maker.animation import animate
from gif_maker.canvas import Canvas

__all__ = ["Canvas", "animate", "easing"]
