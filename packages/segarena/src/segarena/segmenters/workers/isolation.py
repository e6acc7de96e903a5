"""Segmenter plug-in in a process without the ground truth and, with bubblewrap, without the dataset's files."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput, PluginInvalid
from segarena.files.hashes import sha256_of_file
from segarena.plugin_capabilities import FileListing, built_class, segmenter_capabilities
from segarena.plugin_spec import PluginSpec
from segarena.registry import describe, find
from segarena.roles import Dataset
from segarena.segmenters.workers.worker import Worker
from segarena.segmenters.workers.worker_config import WorkerLost

SANDBOX = "sandbox"
"""Isolation by bubblewrap: a separate process, without the dataset's files."""

PROCESS = "process"
"""Isolation by a separate process only, because bubblewrap cannot be used."""

PROGRAM = "segarena.segmenters.workers.isolated_program"

_PROCESS_START_S = 60.0
"""Seconds for starting the process and importing segarena, in addition to the limit of the plug-in."""

_TRIAL_S = 30.0
_BWRAP = "bwrap"
_OPTIONS = (
    "--unshare-user",
    # The worker sees its own processes alone, and so neither the memory nor the files of this one.
    "--unshare-pid",
    "--unshare-ipc",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--dev-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    # Hide shared memory, in which other processes may keep arrays.
    "--tmpfs",
    "/dev/shm",  # noqa: S108 - hidden, not used
)


class IsolatedWorker(Worker):
    """A segmenter plug-in that runs as a worker, with the Python interpreter of this process.

    Args:
        plugin: the segmenter as written ("grabcut", "my_model.py:MyModel").
        hidden: folders and files of the dataset, which the worker cannot read.
        limit_s: seconds for the import and the constructor of the plug-in.

    Raises:
        PluginInvalid: the plug-in cannot be built, or exceeds the limit.
    """

    def __init__(
        self,
        plugin: str,
        hidden: Sequence[str],
        limit_s: float = 600.0,
    ) -> None:
        self._plugin = plugin
        self._hidden = tuple(hidden)
        self._limit_s = limit_s
        words = [sys.executable, "-m", PROGRAM, plugin, str(limit_s)]
        if sandbox_fault() == "":
            words = [*_bwrap_words(self._hidden), *words]
        try:
            super().__init__(shlex.join(words), start_s=limit_s + _PROCESS_START_S)
        except PluginInvalid as error:
            # The command of the worker, which its message names, was not written by the user.
            if isinstance(error.__cause__, WorkerLost):
                message = f"segmenter {plugin}, isolated, did not start: it {error.__cause__}"
            else:
                message = str(error).removeprefix("worker: ").removeprefix("PluginInvalid: ")
            raise PluginInvalid(message) from error
        # The run itself records the name of the plug-in.
        self.display_name = ""

    def __reduce__(self) -> Any:
        return partial(IsolatedWorker, self._plugin, self._hidden, self._limit_s), ()

    @property
    def identity(self) -> dict[str, dict[str, str]]:  # pyright: ignore[reportIncompatibleVariableOverride] -- read only
        """Hashes of the weights; the run itself records the plug-in's sources and the packages."""
        return {"weights": super().identity["weights"]}

    @property
    def peak_bytes_elsewhere(self) -> int:
        """0, which means unknown: the process has a different id in its own namespace."""
        return 0


def isolation_kind() -> str:
    """Return how this machine isolates segmenters: `SANDBOX` if bubblewrap works, otherwise `PROCESS`."""
    return PROCESS if sandbox_fault() else SANDBOX


@cache
def sandbox_fault() -> str:
    """Return why bubblewrap cannot hide files from a process on this machine; "" if it can."""
    if shutil.which(_BWRAP) is None:
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    try:
        trial = subprocess.run(  # noqa: S603 - a fixed command
            [*_bwrap_words(()), "true"],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_TRIAL_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}"
    if trial.returncode:
        lines = trial.stderr.strip().splitlines() or ["no error output"]
        return f"bubblewrap does not work here: {lines[-1][:200]}"
    return ""


def check_isolation(plugin: object) -> None:
    """Raise InvalidInput for segmenters that cannot be isolated: objects of this process, and controls.

    Raises:
        InvalidInput: see above; the message names the reason.
    """
    if not isinstance(plugin, PluginSpec):
        raise InvalidInput(
            f"isolate: expected a plug-in as written, such as 'my_model.py:MyModel', got {type(plugin).__name__}; "
            "an object of this process could reach the ground truth"
        )
    if ".py:" in plugin.reference:
        # The file is not imported here: its code would run in the process that has the ground truth.
        return
    factory = find("segmenter", plugin.reference)
    if segmenter_capabilities(built_class(factory)).sees_truth:
        raise InvalidInput(
            f"isolate: {plugin.reference} is a control that sees the ground truth by design; leave out isolate"
        )


def describe_isolated(plugin: PluginSpec) -> dict[str, Any]:
    """Describe a plug-in for the records, without importing its file.

    Options of a plug-in in a file are therefore those that were given, without the defaults.
    """
    file, is_file, _ = plugin.reference.rpartition(".py:")
    if not is_file:
        return describe("segmenter", plugin)
    return {
        "kind": "segmenter",
        "name": plugin.reference,
        "options": dict(plugin.options),
        "sha256": sha256_of_file(Path(f"{file}.py").expanduser()),
    }


def hidden_files(
    dataset: Dataset,
    options: Mapping[str, Any],
    plugin: PluginSpec,
) -> tuple[str, ...]:
    """Return the outermost files and folders that contain a dataset's samples.

    Args:
        dataset: the dataset; the folders of all files that it lists are hidden.
        options: its options; existing paths among them are hidden.
        plugin: the segmenter, whose own file must stay readable.

    Raises:
        InvalidInput: the plug-in's file or this Python is in a folder that would be hidden.
    """
    found: set[Path] = set()
    for text in _texts(options.values()):
        path = Path(text).expanduser()
        if text and path.exists():
            found.add(path.resolve())
    if isinstance(dataset, FileListing):
        folders: set[Path] = set()
        for sample in dataset.sample_ids:
            for file in dataset.files_of(sample):
                # A link may lead to another folder, whose other files may also reveal the ground truth.
                folders.add(file.parent)
                folders.add(file.resolve().parent)
        found.update(folder.resolve() for folder in folders)
    outermost = [path for path in found if not any(parent in found for parent in path.parents)]
    needed = [Path(sys.prefix).resolve(), Path(__file__).resolve()]
    if ".py:" in plugin.reference:
        needed.append(Path(plugin.reference.rpartition(":")[0]).expanduser().resolve())
    for path in outermost:
        for file in needed:
            if file == path or path in file.parents:
                raise InvalidInput(
                    f"isolate: expected {file} outside the dataset's folder {path}, which the worker cannot read; "
                    "move one of the two"
                )
    return tuple(sorted(map(str, outermost)))


def _texts(values: Iterable[Any]) -> list[str]:
    texts: list[str] = []
    for value in values:
        if isinstance(value, (str, os.PathLike)):
            texts.append(os.fspath(value))
        elif isinstance(value, (list, tuple)):
            texts += _texts(value)
        elif isinstance(value, dict):
            texts += _texts(value.values())
    return texts


def _bwrap_words(hidden: Sequence[str]) -> list[str]:
    words = [_BWRAP, *_OPTIONS]
    for path in hidden:
        if Path(path).is_dir():
            words += ["--tmpfs", path, "--remount-ro", path]
        else:
            words += ["--ro-bind", os.devnull, path]
    return [*words, "--"]
