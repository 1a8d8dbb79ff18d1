from renode_archive import cache  # noqa: F401
