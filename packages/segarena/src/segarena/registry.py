"""Registry of plug-ins: built-in plug-ins, those of installed packages, and `file.py:Name` paths.

A class becomes a plug-in with one decorator, `@segmenter("name")` (or `user`, `metric`, `dataset`,
`benchmark`; a package with plug-ins of another kind registers them by `register(kind, name)`).
Modules that contain plug-ins are those in segarena's own folders, and every module that an
installed package names in the entry point group `segarena.plugins`. The first lookup of a name
imports all of them, or only the one that registers the name if an earlier process stored an index.
For the syntax of plug-ins see `segarena.plugin_spec`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, partial
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from segarena.errors import (
    InvalidInput,
    PluginError,
    PluginInvalid,
    PredictTimeout,
    SegarenaError,
    UnknownPlugin,
    UntrustedPlugin,
)
from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.install_cache import read_declarations, write_declarations
from segarena.files.python_imports import source_files
from segarena.html_table import table_html
from segarena.options import find_option_error, name_first_option, options_of, suggest_names
from segarena.plugin_spec import PluginSpec
from segarena.tracebacks import with_location

KINDS = ("segmenter", "user", "metric", "dataset", "benchmark")
"""The five roles. Plug-ins of other kinds may be registered too: see `plugin_kinds`."""

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

_PLUGINS_GROUP = "segarena.plugins"

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
_INDEX = "plugins"
"""Name under which the modules of all plug-ins are cached, by kind and by current or former name."""
_is_guarded: ContextVar[bool] = ContextVar("only_built_in", default=False)


def register(
    kind: str,
    name: str,
    *,
    formerly: Sequence[str] = (),
) -> Callable[[Factory], Factory]:
    """Return a decorator that registers a class or function as the plug-in `name` of `kind`.

    Its former names, `formerly`, still resolve for existing run folders; lists show the current
    name.

    Raises:
        PluginError: another plug-in already has that name.
    """

    def add(factory: Factory) -> Factory:
        other = _factories[kind].get(name)
        if other is not None and _origin(other) != _origin(factory):
            raise PluginError(
                f"{kind} {name!r} is registered twice: {_origin(other)} and {_origin(factory)}; "
                "rename one, or uninstall its package"
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
"""Decorators of the five roles: `@segmenter("name")`. A benchmark plug-in is a function that returns a `Benchmark`."""


def plugin_kinds() -> tuple[str, ...]:
    """Return all kinds of plug-ins: the five roles, then the other registered kinds, sorted by name."""
    _import_plugins()
    return (
        *KINDS,
        *sorted(kind for kind, factories in _factories.items() if factories and kind not in KINDS),
    )


class Plugins(dict[str, Callable[..., Any]]):
    """Plug-ins by name; notebooks display them with summary and options."""

    def _repr_html_(self) -> str:
        summaries: list[str] = []
        for factory in self.values():
            first_line, _, _ = (inspect.getdoc(factory) or "").partition("\n")
            summaries.append(first_line)
        options = (", ".join(map(str, options_of(factory))) for factory in self.values())
        rows = zip(self, summaries, options, strict=True)
        return table_html(["name", "description", "options"], rows)


def plugins_by_name(kind: str) -> Plugins:
    """Return all registered plug-ins of `kind`, sorted by name."""
    _import_plugins()
    return Plugins(sorted(_factories[kind].items()))


def indexed_plugins(kind: str) -> Plugins:
    """Return `plugins_by_name(kind)`; if there is an index, import only the modules that it lists for this kind."""
    index = _index()
    if not index:
        return plugins_by_name(kind)
    for name in index.get(kind, {}):
        _import_module_of(kind, name)
    return Plugins(sorted(_factories[kind].items()))


def lookup(kind: str, name: str) -> Callable[..., Any] | None:
    """Return the factory with a current or former name, or None.

    Only the module that registers the name is imported, if an earlier process stored an index of the installed
    plug-ins; without one, all are.
    """
    return _factories[kind].get(current_name(kind, name))


def current_name(kind: str, name: str) -> str:
    """Replace a former name of a plug-in by its current name; return other names unchanged."""
    _import_module_of(kind, name)
    return _todays_names[kind].get(name, name)


def find(kind: str, reference: str) -> Callable[..., Any]:
    """Return the factory that a name or a `file.py:Name` path denotes.

    Raises:
        UnknownPlugin: see `find_registered`.
        PluginInvalid: the file cannot be imported, or lacks the name; the message lists its classes.
        UntrustedPlugin: within `only_built_in`, the plug-in is not part of segarena, or runs programs that its
            options name.
    """
    is_file = ".py:" in reference or reference.endswith(".py")
    if is_file and not _is_guarded.get():
        return _from_file(kind, reference)
    if is_file or (_is_guarded.get() and not _is_ours(find_registered(kind, reference))):
        raise UntrustedPlugin(
            f"{kind} {reference} is not part of segarena, or starts other programs; reading a run executes it only if "
            "you trust it"
        )
    return find_registered(kind, reference)


def find_registered(kind: str, name: str) -> Callable[..., Any]:
    """Return the factory that is registered under a name; never load one from a file.

    Raises:
        UnknownPlugin: no plug-in has that name; the message lists similar names, or all if none is similar. For
            a path as the name of a dataset, it says that there is no such folder.
    """
    if (factory := lookup(kind, name)) is not None:
        return factory
    every = plugins_by_name(kind)
    if current_name(kind, name) in every:
        # A package was installed while this process ran.
        return every[current_name(kind, name)]
    if kind == "dataset" and Path(name).name != name and not Path(name).expanduser().is_dir():
        raise UnknownPlugin(
            f"no folder {name!r}; expected the path of a folder, the name of a dataset, such as 'demo', or "
            "my_file.py:MyClass"
        )
    missing = "".join(f"{text}; " for text in import_errors())
    unknown = f"{missing}no {kind} is called {name!r}"
    candidates = list(every)
    if kind == "dataset":
        unknown += ", and there is no such folder"
        candidates += _list_folders()
    hint = suggest_names(name, candidates) or f"known: {', '.join(every) or 'none'}."
    raise UnknownPlugin(f"{unknown}; {hint} A file works too: my_file.py:MyClass.")


def _list_folders() -> list[str]:
    """Return the names of the folders in the current directory; none if it cannot be read."""
    try:
        return [path.name for path in Path().iterdir() if path.is_dir()]
    except OSError:
        return []


@contextmanager
def only_built_in() -> Generator[None]:
    """Restrict `find` and `build` to own plug-ins that start no programs; see `segarena.records.plugin_trust`."""
    before = _is_guarded.set(True)
    try:
        yield
    finally:
        _is_guarded.reset(before)


def build(kind: str, plugin: PluginSpec | str) -> Any:
    """Build a plug-in with its options.

    Raises:
        UnknownPlugin, UntrustedPlugin: see `find`.
        PluginInvalid: see `find`; also if the constructor does not accept the options (see
            `segarena.options.find_option_error`) or fails, or if its result lacks members of the role.
        SegarenaError: the constructor raised it.
    """
    spec = PluginSpec.of(plugin)
    factory = find(kind, spec.reference)
    options = _options_for(kind, spec, factory)
    fault = find_option_error(factory, options)
    if fault:
        raise PluginInvalid(f"{kind} {spec}: {fault}")
    try:
        made = factory(**options)
    except PredictTimeout as error:
        # The author of the plug-in needs to know where it hangs.
        raise PluginInvalid(with_location(str(error), error)) from error
    except SegarenaError:
        raise
    except (Exception, SystemExit) as error:
        why = with_location(f"{type(error).__name__}: {error}", error)
        raise PluginInvalid(f"{kind} {spec} cannot be built: {why}") from error
    check_role(kind, made, str(spec))
    return made


def check_role(
    kind: str,
    plugin: object,
    name: str,
) -> None:
    """Raise PluginInvalid unless a plug-in has the members of its role, without checking their values."""
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
    """Describe a plug-in for the records: name, options (defaults included), and for a `file.py` its SHA-256."""
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


def _import_module_of(kind: str, name: str) -> None:
    """Import the module that registers a plug-in; all modules if there is no index.

    A name that the index of the installed plug-ins lacks needs no import: nothing installed registers it.
    """
    if _is_registered(kind, name):
        return
    index = _index()
    if not index:
        _import_plugins()
    elif name in index.get(kind, {}):
        # If this import fails, importing all modules finds the error again and keeps it for messages.
        with suppress(Exception):
            importlib.import_module(index[kind][name])
        if not _is_registered(kind, name):
            _import_plugins()


def _is_registered(kind: str, name: str) -> bool:
    return name in _factories[kind] or name in _todays_names[kind]


@cache
def _index() -> dict[str, dict[str, str]]:
    """Return the modules of all plug-ins by kind and name, as an earlier process stored them; {} if none are stored."""
    try:
        return msgspec.convert(read_declarations(_INDEX), dict[str, dict[str, str]])
    except msgspec.ValidationError:
        return {}


@cache
def _import_plugins() -> tuple[str, ...]:
    """Import all modules with plug-ins; return one line for each that fails. If none fails, store their index."""
    indexed = _index()
    rooms = map(importlib.import_module, BUILT_IN_PACKAGES)
    failed = (
        *chain.from_iterable(map(_import_room, rooms)),
        *import_entry_points(_PLUGINS_GROUP),
    )
    found = _modules_of_plugins()
    if not failed and found != indexed:
        write_declarations(_INDEX, found)
    return failed


def is_installed(kind: str, name: str) -> bool:
    """Return whether segarena or an installed package registers the plug-in with a current or former name."""
    factory = lookup(kind, name)
    return factory is not None and _package(factory) in _installed_packages()


def _modules_of_plugins() -> dict[str, dict[str, str]]:
    """Return the modules of the plug-ins that installed packages define, by kind and name."""
    installed = _installed_packages()
    found: dict[str, dict[str, str]] = {}
    for kind, factories in _factories.items():
        found[kind] = {}
        for name, factory in factories.items():
            if _package(factory) in installed:
                found[kind][name] = factory.__module__
        for former, name in _todays_names[kind].items():
            if name in found[kind]:
                found[kind][former] = found[kind][name]
    return found


def _installed_packages() -> set[str]:
    """Return the installed packages that define plug-ins, which excludes a user's own files and scripts."""
    packages = {"segarena"}
    for entry in entry_points(group=_PLUGINS_GROUP):
        packages.add(entry.value.partition(".")[0])
    return packages


def _package(factory: Callable[..., Any]) -> str:
    # A partial function has no module of a package; its name is then found by importing everything.
    return getattr(factory, "__module__", "").partition(".")[0]


@cache
def import_entry_points(group: str) -> tuple[str, ...]:
    """Import every module in an entry point group, and the modules directly in those that are packages.

    Return one line for each module that fails. An error in another package must not stop segarena,
    so it only becomes part of messages.
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
    """Import the modules that are directly in a package; yield one line for each module that fails.

    Modules of its subpackages are not imported here.
    """
    for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
        name = f"{package.__name__}.{module.name}"
        try:
            if not module.ispkg:
                importlib.import_module(name)
        except Exception as error:  # importing runs the code of another package
            yield f"plug-in module {name} failed to import: {type(error).__name__}: {error}"


def _from_file(kind: str, reference: str) -> Callable[..., Any]:
    path, name = _split_path(reference)
    if not Path(path).is_file():
        raise PluginInvalid(f"{kind} {reference!r}: there is no file {path}; correct the path")
    module = _load_file(str(Path(path).resolve()))
    factory = getattr(module, name, None)
    if not callable(factory):
        raise _missing_class(kind, reference, module)
    return factory


def _missing_class(
    kind: str,
    reference: str,
    module: ModuleType,
) -> PluginInvalid:
    """Return the error for a file that lacks the named object; it lists the classes that the user may have meant."""
    path, name = _split_path(reference)
    classes: list[str] = []
    fitting: list[str] = []
    required = _MEMBERS.get(kind, ())
    for key, value in vars(module).items():
        # Imported classes do not belong to the file.
        if not inspect.isclass(value) or value.__module__ != module.__name__:
            continue
        classes.append(key)
        if all(hasattr(value, member) for member in required):
            fitting.append(key)
    candidates = fitting or classes
    message = f"{kind} {reference!r}: {path} "
    if name:
        message += f"has no {name!r}; it "
    message += f"defines {', '.join(candidates) or 'no class'}"
    if candidates and not name:
        message += f"; write {path}:{candidates[0]}"
    return PluginInvalid(message)


def forget_edited_files() -> None:
    """Drop changed plug-in files from the module cache, so that the next lookup imports them again.

    This includes modules that such a file imports from its own folder.
    """
    for path, (_, hashes) in list(_loaded_files.items()):
        if hashes == _source_hashes(path):
            continue
        del _loaded_files[path]
        _forget_modules(hashes)
    # Import finders cache folder listings, which may lack new files.
    importlib.invalidate_caches()


def _forget_modules(files: Collection[str]) -> None:
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
            del sys.modules[name]


def _make_neighbours_importable(path: str, sources: Collection[str]) -> None:
    """Let a plug-in file import modules of its folder, as it can when Python runs it as a script.

    Args:
        path: the plug-in file.
        sources: its own path and those of the modules that it imports from its folder.

    Raises:
        PluginInvalid: Python would import another module of the same name instead.
    """
    folder = Path(path).resolve().parent
    neighbours: set[str] = set()
    for source in sources:
        if Path(source) != folder / Path(path).name:
            neighbours.add(Path(source).relative_to(folder).parts[0].removesuffix(".py"))
    # The package itself lies beside a plug-in in a checkout of its repository.
    neighbours.discard("segarena")
    if not neighbours:
        return
    if str(folder) not in sys.path:
        # At the end: a file in this folder must not replace an installed module for the rest of the program.
        sys.path.append(str(folder))
        importlib.invalidate_caches()
    for name in sorted(neighbours):
        other = _imported_instead(name, folder)
        if other:
            raise PluginInvalid(
                f"{path} imports {name}, which is in its folder and also in {other}; rename the one in its folder, "
                "or evaluate the model as a worker"
            )


def _imported_instead(name: str, folder: Path) -> str:
    """Return where Python finds a top-level module if that is outside a folder, else ""."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module that was made at run time may have no spec
        return ""
    if spec is None:
        return ""
    places = list(spec.submodule_search_locations or ())
    if spec.origin is not None:
        places.append(spec.origin)
    if spec.has_location or spec.origin is None:
        for place in places:
            if Path(place).resolve().is_relative_to(folder):
                return ""
    return places[-1]


def _source_hashes(path: str) -> dict[str, str]:
    """Return the SHA-256 of a plug-in file and of the modules that it imports from its folder."""
    hashes: dict[str, str] = {}
    for source in source_files(Path(path)):
        if source.is_file():
            hashes[str(source)] = sha256_of_file(source)
    return hashes


_loaded_files: dict[str, tuple[ModuleType, dict[str, str]]] = {}
"""Modules of plug-in files by path, with the hashes of their sources.

A file is imported as a single module however often it is named, so that its classes stay identical.
"""


def _load_file(path: str) -> ModuleType:
    if path in _loaded_files:
        return _loaded_files[path][0]
    # Hash before the import: a file that is edited meanwhile must count as changed.
    hashes = _source_hashes(path)
    name = "segarena_file_" + sha256(path)[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginInvalid(f"{path} cannot be imported as Python")
    _make_neighbours_importable(path, hashes)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module during creation
    try:
        spec.loader.exec_module(module)
    except PredictTimeout as error:
        _forget_modules({path, *hashes})
        why = with_location(str(error), error)
        raise PluginInvalid(f"{path} cannot be imported: {why}") from error
    except (Exception, SystemExit) as error:
        _forget_modules({path, *hashes})
        why = with_location(f"{type(error).__name__}: {error}", error)
        if isinstance(error, ModuleNotFoundError):
            why += "; install what the file needs into segarena's environment, or evaluate it as a worker"
        raise PluginInvalid(f"{path} cannot be imported: {why}") from error
    _loaded_files[path] = (module, hashes)
    return module


def _options_for(
    kind: str,
    spec: PluginSpec,
    factory: Callable[..., Any],
) -> dict[str, Any]:
    try:
        return name_first_option(factory, spec.options)
    except InvalidInput as error:
        raise PluginInvalid(f"{kind} {spec}: {error}") from error


def _split_path(reference: str) -> tuple[str, str]:
    path, ending, name = reference.rpartition(".py")
    return path + ending, name.removeprefix(":")


def _is_ours(factory: Callable[..., Any]) -> bool:
    """Return whether a plug-in is part of segarena and runs no programs named in its options."""
    package, _, _ = factory.__module__.partition(".")
    starts_programs = getattr(factory, "starts_programs", False)
    return package == "segarena" and not starts_programs


def _origin(factory: Callable[..., Any]) -> str:
    return f"{factory.__module__}.{factory.__qualname__}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
