"""Read by IPython at the start of every kernel in the image, where this lies in /opt/kernel/etc/ipython."""

import os
import shutil

# matplotlib wants a writable folder and a font list in it; making the list takes it a second.
shutil.copytree("/opt/kernel/matplotlib", os.environ["MPLCONFIGDIR"], dirs_exist_ok=True)
