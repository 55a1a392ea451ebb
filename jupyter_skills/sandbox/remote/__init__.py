"""Isolated kernels that run elsewhere: behind a Jupyter server or gateway, or at a sandbox provider."""
