"""A frame to draw on, in the finished picture's pixels."""

from PIL import Image, ImageDraw, ImageFont

# Everything is drawn this many times larger and scaled down: smooth edges without more effort.
SCALE = 3


class Canvas:
    """One frame."""

    def __init__(self, size, background):
        self.size = size
        self._image = Image.new("RGB", (size[0] * SCALE, size[1] * SCALE), background)
        self._draw = ImageDraw.Draw(self._image)

    def ellipse(self, centre, radius, fill=None, outline=None, width=1):
        """A circle, or with two radii an ellipse."""
        rx, ry = radius if isinstance(radius, tuple) else (radius, radius)
        x, y = centre
        self._draw.ellipse(self._scaled([(x - rx, y - ry), (x + rx, y + ry)]), fill, outline, round(width * SCALE))

    def rectangle(self, corner, opposite, fill=None, outline=None, width=1, radius=0):
        """A rectangle between two corners; with a radius its corners are round."""
        (x0, y0), (x1, y1) = corner, opposite
        box = self._scaled([(min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1))])
        self._draw.rounded_rectangle(box, radius * SCALE, fill, outline, round(width * SCALE))

    def line(self, points, fill="black", width=2):
        """A line through points."""
        self._draw.line(self._scaled(points), fill, round(width * SCALE), joint="curve")

    def polygon(self, points, fill=None, outline=None, width=1):
        """A closed shape."""
        self._draw.polygon(self._scaled(points), fill, outline, round(width * SCALE))

    def text(self, position, text, fill="black", size=16, anchor="mm"):
        """Text; the anchor is one of Pillow's, in the middle by default."""
        font = ImageFont.load_default(size * SCALE)
        self._draw.text(self._scaled([position])[0], text, fill, font, anchor)

    def finished(self):
        """The frame at its own size."""
        return self._image.resize(self.size, Image.Resampling.LANCZOS)

    @staticmethod
    def _scaled(points):
        return [(x * SCALE, y * SCALE) for x, y in points]
