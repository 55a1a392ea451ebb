"""Where skills are kept, and which ones are in force in a kernel."""
