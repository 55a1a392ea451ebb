"""Where code runs in isolation: an IPython kernel in a container without network, mounts or ports, or elsewhere.

From outside in: ``kernel`` (what a turn uses) · ``calls`` (one call of it) · ``host`` (what it needs of a place) ·
``docker/`` and ``remote/`` (the places) · ``inside/`` (what runs in there).
"""
