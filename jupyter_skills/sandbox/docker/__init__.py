"""The isolated kernel in a Docker container, without network, mounts or ports."""
