"""IPython: the two magics, the live kernel, and how a turn looks in a cell."""
