"""The exit statuses of the command line."""

GOOD, BAD, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
