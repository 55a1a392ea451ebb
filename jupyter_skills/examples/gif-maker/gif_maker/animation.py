"""From a drawing function to a GIF."""

from PIL import Image

from gif_maker.canvas import Canvas


def animate(draw, path, size=(240, 240), seconds=2.0, fps=20, background="white", colours=64, loop=True):
    """Calls ``draw(canvas, t)`` for each frame, ``t`` from 0 up to, not including, 1, and saves the GIF."""
    if max(size) > 1000 or seconds * fps > 400:
        raise ValueError("keep to 1000 pixels and 400 frames: GIFs grow fast")
    frames = []
    count = max(2, round(seconds * fps))
    for number in range(count):
        canvas = Canvas(size, background)
        draw(canvas, number / count)
        frames.append(canvas.finished())
    palette = _palette(frames, colours)
    plain = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    options = {"loop": 0} if loop else {}
    plain[0].save(path, save_all=True, append_images=plain[1:], duration=round(1000 / fps), optimize=True, **options)
    return path


def _palette(frames, colours):
    """One palette for all frames, from some of them side by side."""
    some = frames[:: max(1, len(frames) // 8)]
    width, height = some[0].size
    strip = Image.new("RGB", (width * len(some), height))
    for number, frame in enumerate(some):
        strip.paste(frame, (number * width, 0))
    return strip.quantize(colours)
