"""The steps by which a store of an older release becomes one of this; see ``tables``."""
