"""What comes of a piece of code, in the sandbox or in the live kernel, and what of that may be shown."""
