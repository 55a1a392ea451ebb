"""Where code runs in isolation: a real IPython kernel in a Docker container without network, mounts or ports.

From outside in: ``kernel`` (what a turn uses) · ``provisioner`` (what any Jupyter client uses) · ``bridge``
(ZeroMQ on this side) · ``link`` (the one stream to the container) · ``engine`` (Docker) · ``relay`` (process 1
inside the container, at the other end of the stream).
"""
