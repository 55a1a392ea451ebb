"""``python -m gif_maker FILE``: size, frames and length of a GIF."""

import os
import sys

from PIL import Image

with Image.open(sys.argv[1]) as image:
    milliseconds = 0
    for number in range(image.n_frames):
        image.seek(number)
        milliseconds += image.info.get("duration", 0)
    print(f"{image.width}x{image.height} pixels, {image.n_frames} frames, {milliseconds / 1000:g} s,", end=" ")
print(f"{os.path.getsize(sys.argv[1]):,} bytes")
