"""``python -m jupyter_skills.cli``."""

import sys

from jupyter_skills.cli import main

sys.exit(main())
