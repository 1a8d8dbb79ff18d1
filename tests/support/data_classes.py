"""The data classes of a package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType


def data_classes(package: ModuleType, *, foreign: str = "") -> list[type]:
    """Those that its modules define, handed out or not.

    Modules whose names begin with ``foreign`` are not this Python's and are left out.
    """
    walked = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = [one.name for one in walked if not (foreign and one.name.startswith(foreign))]
    modules = [package, *map(importlib.import_module, names)]
    classes = {
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isclass)
        if hasattr(one, "__dataclass_params__") and one.__module__ == module.__name__
    }
    return sorted(classes, key=lambda one: (one.__module__, one.__name__))
