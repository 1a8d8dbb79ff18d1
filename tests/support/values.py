"""The data classes of a package."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType


def data_classes(package: ModuleType) -> list[type]:
    """Those that its modules define, handed out or not."""
    names = [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [package, *map(importlib.import_module, names)]
    classes = {
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isclass)
        if hasattr(one, "__dataclass_params__") and one.__module__ == module.__name__
    }
    return sorted(classes, key=lambda one: (one.__module__, one.__name__))
