"""Our own routes."""
