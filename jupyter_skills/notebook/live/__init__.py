"""The live kernel: model's code in the user's own namespace, run and shown as a cell of theirs would be."""
