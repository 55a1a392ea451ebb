"""What the tools are called that every turn may have."""

LOAD_SKILL, READ_FILE, RUN_PYTHON, RUN_SHELL = "load_skill", "read_skill_file", "run_python", "run_shell"
