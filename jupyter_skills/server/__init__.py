"""The Jupyter server extension: its routes and the one place where errors become status codes."""
