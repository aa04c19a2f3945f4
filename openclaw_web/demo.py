"""Builds and removes the demo world through every app's `demo.py`, lowest app first."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from django.apps import apps
from django.utils import timezone
from django.utils.module_loading import module_has_submodule

from gateway.callers import Caller
from gateway.demo import World, begin_world, open_world

# Agents have workspaces before anything can lie in them.
ORDER = ("agents", "archives", "plans", "workshop", "longrun")


def parts() -> list[ModuleType]:
    """Every app's `demo` module that builds something, in the order in which they are built."""
    modules = [
        import_module(f"{name}.demo")
        for name in ORDER
        if module_has_submodule(apps.get_app_config(name).module, "demo")
    ]
    return [module for module in modules if hasattr(module, "build")]


def build_demo(root: Path, *, caller: Caller) -> World:
    """Fills an empty state dir. Raises DemoError; what was made before a failure is removed again."""
    world = begin_world(root, caller=caller, now=timezone.now())
    try:
        for part in parts():
            part.build(world)
    except BaseException:
        remove_demo(root, caller=caller)
        raise
    return world


def remove_demo(root: Path, *, caller: Caller) -> list[Path]:
    """Removes what the demo made and is still as it made it; returns the files that were changed since."""
    world = open_world(root, caller=caller)
    for part in reversed(parts()):
        part.remove(world)
    return world.remove_files()
