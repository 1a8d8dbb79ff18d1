from renode_cache import cache  # noqa: F401
