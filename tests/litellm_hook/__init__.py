"""Tests of the hook that puts skills into litellm's own calls."""

from jupyter_skills.models.litellm_import import import_now

import_now()  # some modules here import litellm by its name, which alone would fetch prices
