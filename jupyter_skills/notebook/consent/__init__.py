"""Asking the person at the notebook whether code may run in their kernel, and code they take to run themselves."""
