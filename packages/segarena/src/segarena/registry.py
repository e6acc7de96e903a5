"""Registry of plug-ins: built-in ones, those of installed packages, and `file.py:Name` paths.

A class becomes a plug-in with one decorator, `@segmenter("name")` (or `user`, `metric`, `dataset`, `benchmark`; a
package that has plug-ins of a further kind registers them by `register(kind, name)`). Modules that do so are imported
when a name is first looked up: our own folders, and every module that an installed package names in the entry point
group `segarena.plugins`. `segarena.plugin_spec` says how plug-ins are written.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from segarena.errors import (
    InvalidInput,
    PluginError,
    PluginInvalid,
    SegarenaError,
    UnknownPlugin,
    UntrustedPlugin,
)
from segarena.files.hashes import sha256, sha256_of_file
from segarena.html_table import table_html
from segarena.options import find_option_error, name_first_option, options_of, suggest_names
from segarena.plugin_spec import PluginSpec

KINDS = ("segmenter", "user", "metric", "dataset", "benchmark")
"""The five roles. Packages may register plug-ins of further kinds: see `kinds`."""

BUILT_IN_PACKAGES = (
    "segarena.segmenters",
    "segarena.segmenters.images",
    "segarena.segmenters.volumes",
    "segarena.segmenters.videos",
    "segarena.segmenters.oneshot",
    "segarena.segmenters.learned",
    "segarena.segmenters.workers",
    "segarena.users",
    "segarena.metrics",
    "segarena.datasets",
    "segarena.statistics.round_statistics",
)

_MEMBERS = {
    "segmenter": ("encode", "predict"),
    "user": ("next",),
    "metric": ("columns", "__call__"),
    "dataset": ("name", "sample_ids", "fingerprint", "load"),
    "benchmark": ("users", "metrics", "rounds", "summary"),
}
"""Members that each role must have; see `segarena.roles`."""

Factory = TypeVar("Factory", bound=Callable[..., Any])
_factories: defaultdict[str, dict[str, Callable[..., Any]]] = defaultdict(dict)
_todays_names: defaultdict[str, dict[str, str]] = defaultdict(dict)
_is_guarded: ContextVar[bool] = ContextVar("only_built_in", default=False)


def register(kind: str, name: str, *, formerly: Sequence[str] = ()) -> Callable[[Factory], Factory]:
    """Return a decorator that makes a class or function the plug-in `name` of `kind`.

    Names that it had `formerly` still resolve, for existing run folders; lists show the current name.

    Raises:
        PluginError: another plug-in has that name already.
    """

    def add(factory: Factory) -> Factory:
        other = _factories[kind].get(name)
        if other is not None and _origin(other) != _origin(factory):
            raise PluginError(
                f"{kind} {name!r} is registered twice: {_origin(other)} and {_origin(factory)}"
            )
        _factories[kind][name] = factory
        _todays_names[kind].update(dict.fromkeys(formerly, name))
        return factory

    return add


segmenter = partial(register, "segmenter")
user = partial(register, "user")
metric = partial(register, "metric")
dataset = partial(register, "dataset")
benchmark = partial(register, "benchmark")
"""The decorators of the five roles: `@segmenter("name")`. A benchmark is a function that returns one."""


def plugin_kinds() -> tuple[str, ...]:
    """Return all kinds of plug-ins: the five roles, then those of packages, sorted."""
    _import_plugins()
    return (
        *KINDS,
        *sorted(kind for kind, factories in _factories.items() if factories and kind not in KINDS),
    )


class Plugins(dict[str, Callable[..., Any]]):
    """Plug-ins by name, shown in notebooks with summary and options."""

    def _repr_html_(self) -> str:
        told = ((inspect.getdoc(factory) or "").partition("\n")[0] for factory in self.values())
        options = (", ".join(map(str, options_of(factory))) for factory in self.values())
        return table_html(["name", "what it is", "options"], zip(self, told, options, strict=True))


def plugins_by_name(kind: str) -> Plugins:
    """Return all registered plug-ins of `kind`, sorted by name."""
    _import_plugins()
    return Plugins(sorted(_factories[kind].items()))


def lookup(kind: str, name: str) -> Callable[..., Any] | None:
    """Return the factory with a current or former name, or None."""
    return plugins_by_name(kind).get(current_name(kind, name))


def current_name(kind: str, name: str) -> str:
    """Return the current name of a plug-in with a former name; other names unchanged."""
    _import_plugins()
    return _todays_names[kind].get(name, name)


def find(kind: str, reference: str) -> Callable[..., Any]:
    """Return the factory of a name or a `file.py:Name` path.

    Raises:
        UnknownPlugin: nothing has that name; the message lists the near ones.
        PluginInvalid: the file cannot be imported, or lacks the name; the message lists its classes.
        UntrustedPlugin: within `only_built_in`, it is not part of segarena.
    """
    is_file = ".py:" in reference or reference.endswith(".py")
    if is_file and not _is_guarded.get():
        return _from_file(kind, reference)
    if is_file or (_is_guarded.get() and not _is_ours(find_registered(kind, reference))):
        raise UntrustedPlugin(
            f"{kind} {reference} is not part of segarena; reading a run does not run it unless trusted"
        )
    return find_registered(kind, reference)


def find_registered(kind: str, name: str) -> Callable[..., Any]:
    """Return the registered factory of a name, never one from a file.

    Raises:
        UnknownPlugin: nothing has that name; the message lists the near ones.
    """
    if (factory := lookup(kind, name)) is not None:
        return factory
    every = plugins_by_name(kind)
    hint = suggest_names(name, every) or f"known: {', '.join(every) or 'none'}."
    missing = "".join(f"{text}; " for text in import_errors())
    raise UnknownPlugin(
        f"{missing}no {kind} is called {name!r}; {hint} A file works too: my_file.py:MyClass."
    )


@contextmanager
def only_built_in() -> Generator[None]:
    """Restrict `find` and `build` to plug-ins of segarena in this block; see `segarena.records.trust`."""
    before = _is_guarded.set(True)
    try:
        yield
    finally:
        _is_guarded.reset(before)


def build(kind: str, plugin: PluginSpec | str) -> Any:
    """Build a plug-in with its options.

    Raises:
        UnknownPlugin, PluginInvalid: see `find`; also when the constructor does not take the options, see
            `segarena.options.find_option_error`; or what it makes cannot play the role.
    """
    spec = PluginSpec.of(plugin)
    factory = find(kind, spec.reference)
    options = _options_for(kind, spec, factory)
    fault = find_option_error(factory, options)
    if fault:
        raise PluginInvalid(f"{kind} {spec}: {fault}")
    try:
        made = factory(**options)
    except SegarenaError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginInvalid(
            f"{kind} {spec} cannot be built: {type(error).__name__}: {error}"
        ) from error
    check_role(kind, made, str(spec))
    return made


def check_role(kind: str, plugin: object, name: str) -> None:
    """Raise PluginInvalid unless a plug-in has the members of its role; their values are not checked."""
    needed = _MEMBERS.get(kind, ())
    lacking = [
        member
        for member in needed
        if not (hasattr(type(plugin), member) or hasattr(plugin, member))
    ]
    if lacking:
        raise PluginInvalid(
            f"{kind} {name} has no {' and no '.join(lacking)}; a {kind} has {', '.join(needed)}: see segarena.roles"
        )


def describe(kind: str, plugin: PluginSpec | str) -> dict[str, Any]:
    """Return the description of a plug-in for records: name, all options with defaults, hash of its file."""
    spec = PluginSpec.of(plugin)
    factory = find(kind, spec.reference)
    defaults = {
        option.name: option.default for option in options_of(factory) if not option.is_required
    }
    options = {
        key: _plain(value)
        for key, value in {**defaults, **_options_for(kind, spec, factory)}.items()
    }
    description: dict[str, Any] = {"kind": kind, "name": spec.reference, "options": options}
    if ".py:" in spec.reference:
        description["sha256"] = sha256_of_file(Path(_split_path(spec.reference)[0]))
    return description


def import_errors() -> tuple[str, ...]:
    """Return one line for each module of plug-ins that cannot be imported."""
    return _import_plugins()


@cache
def _import_plugins() -> tuple[str, ...]:
    """Import all modules with plug-ins; return one line for each that fails."""
    rooms = map(importlib.import_module, BUILT_IN_PACKAGES)
    return (
        *chain.from_iterable(map(_import_room, rooms)),
        *import_entry_points("segarena.plugins"),
    )


@cache
def import_entry_points(group: str) -> tuple[str, ...]:
    """Import every module that installed packages name in an entry point group; return one line for each that fails.

    An error of another package must not stop us, so it only becomes part of messages.
    """
    failed: list[str] = []
    for entry in entry_points(group=group):
        try:
            failed += _import_room(entry.load())
        except Exception as error:  # importing runs the code of another package
            failed.append(
                f"plug-in package {entry.value} failed to import: {type(error).__name__}: {error}"
            )
    return tuple(failed)


def _import_room(package: Any) -> Iterator[str]:
    """Import the modules that lie directly in a package; yield one line for each that fails.

    Packages within it are its modules' own affair.
    """
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        name = f"{package.__name__}.{module.name}"
        try:
            if not module.ispkg:
                importlib.import_module(name)
        except Exception as error:  # as above
            yield f"plug-in module {name} failed to import: {type(error).__name__}: {error}"


def _from_file(kind: str, reference: str) -> Callable[..., Any]:
    path, name = _split_path(reference)
    if not Path(path).is_file():
        raise PluginInvalid(f"{kind} {reference!r}: there is no file {path}")
    module = _load_file(str(Path(path).resolve()))
    factory = getattr(module, name, None)
    if not callable(factory):
        own = {
            key: value
            for key, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__
        }
        classes = [key for key, value in own.items() if inspect.isclass(value)]
        fitting = [
            key
            for key in classes
            if all(hasattr(own[key], member) for member in _MEMBERS.get(kind, ()))
        ]
        has_no = f"has no {name!r}; it " if name else ""
        write = f"; write {path}:{(fitting or classes)[0]}" if classes and not name else ""
        raise PluginInvalid(
            f"{kind} {reference!r}: {path} {has_no}defines {', '.join(fitting or classes) or 'no class'}{write}"
        )
    return factory


@cache
def _load_file(path: str) -> ModuleType:
    name = "segarena_file_" + sha256(path)[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginInvalid(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module during creation
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginInvalid(
            f"{path} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return module


def _options_for(kind: str, spec: PluginSpec, factory: Callable[..., Any]) -> dict[str, Any]:
    try:
        return name_first_option(factory, spec.options)
    except InvalidInput as error:
        raise PluginInvalid(f"{kind} {spec}: {error}") from error


def _split_path(reference: str) -> tuple[str, str]:
    path, ending, name = reference.rpartition(".py")
    return path + ending, name.removeprefix(":")


def _is_ours(factory: Callable[..., Any]) -> bool:
    """Return whether a plug-in is part of segarena and does not start programs named in its options."""
    return factory.__module__.partition(".")[0] == "segarena" and not getattr(
        factory, "starts_programs", False
    )


def _origin(factory: Callable[..., Any]) -> str:
    return f"{factory.__module__}.{factory.__qualname__}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
