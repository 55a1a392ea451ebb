"""The way out of the sandbox, for those who open it: by a list of hosts, through this process, written down."""
