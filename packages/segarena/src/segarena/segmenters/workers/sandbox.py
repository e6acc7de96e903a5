"""Sandbox for untrusted programs: a worker can read only its folder, a Python installation and its requests.

bubblewrap (Linux) gives the program its own namespaces: no network, no other processes, an empty
environment, read-only files, and writable files in memory only. Organisers can replace it with
their own command, such as one that starts a container.
"""

from __future__ import annotations

import glob
import math
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.worker import Worker

BWRAP = "bwrap"
FOLDER = "{folder}"
"""Placeholder for the program's folder in the organiser's command."""

_UNUSED_USER_IDS = range(61_184, 65_520)
"""User ids that systemd reserves for users of a single program, which own no files."""
_PROGRAM_FOLDER = "/sent"
# Programs find their dynamic loader and libraries under these paths.
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_SETTINGS = (
    # Libraries such as BLAS are often links through this folder, and the loader needs its cache.
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)
_WRITABLE_FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
}
_NAMESPACES = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    # The program must not outlive the evaluation.
    "--die-with-parent",
    # Without a session of its own, a program could inject input into the terminal that started it.
    "--new-session",
    "--clearenv",
    "--hostname",
    "worker",
)
# Root keeps only the capabilities that setpriv needs to change to an unused user.
_ADMINISTRATOR_RIGHTS = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
_USER_RIGHTS = ("--unshare-user", "--cap-drop", "ALL")
_TRIAL_LIMIT_S = 60.0
_RETRY_S = 60.0
"""A failed trial run is repeated after this time, because the machine may only have been busy."""
_PRINT_PREFIXES = (
    "import sys; print(sys.prefix, sys.base_prefix, "
    "*(p for p in sys.path if p.endswith('-packages')), sep=chr(10))"
)
_LAUNCH = """\
import os, sys
bwrap, path, number, *words = sys.argv[1:]
options = b"".join(os.fsencode(word) + bytes(1) for word in words[: int(number)])
file = os.memfd_create("options", 0)
os.write(file, options)
os.lseek(file, 0, os.SEEK_SET)
os.execve(bwrap, [bwrap, "--args", str(file), *words[int(number) :]], {"PATH": path})
"""
"""Launcher that turns itself into bubblewrap. Process 1 in the sandbox is bubblewrap itself, and
the program can read its command line and environment in /proc. Therefore its options, which contain
paths of the host, come from an anonymous file, and its environment is empty."""

_MAX_OPEN_FILES = 1024
_MAX_ERROR_LETTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Command and limits that confine programs.

    Attributes:
        command: "bwrap", or a command that starts a confined program, with {folder} for the
            program's folder: "docker run -i --rm --network none -v {folder}:/work:ro -w /work
            my_image".
        python: the interpreter whose packages programs can import; by default the one that runs
            segarena. With your own command, the name of the interpreter inside it.
        reads: additional files and folders that programs may read, such as weights.
        devices: patterns of device files that programs may use, such as "/dev/nvidia*" for GPUs; folders that
            match are left out. Everything that a driver needs next to them must be below /usr or in `reads`.
        memory_gb: memory limit for all processes of a program together.
        disk_gb: size of /tmp, and of /dev/shm; both are in memory, in addition to `memory_gb`, and
            disappear with the program.
        processes: maximum number of processes and threads.
        start_s: seconds for a start, and for encoding again after a crash.
    """

    command: str = BWRAP
    python: str = ""
    reads: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    memory_gb: float = 8.0
    disk_gb: float = 1.0
    processes: int = 256
    start_s: float = 120.0

    def words(self, folder: Path, program: str) -> list[str]:
        """Return the command that starts a program from a folder inside the sandbox.

        Raises:
            PluginInvalid: a program that the sandbox needs is not installed, or a device is missing.
        """
        if self.command == BWRAP:
            return [
                *self._bwrap_words(folder),
                *_change_user_words(),
                *self._limit_words(),
                self._python,
                program,
            ]
        if self.devices:
            raise PluginInvalid(
                f"devices: expected none with your own sandbox command, got {', '.join(self.devices)}; "
                "let the command pass them on, such as docker run --gpus all"
            )
        template = shlex.split(self.command)
        words = [word.replace(FOLDER, str(folder)) for word in template]
        return [*words, self.python or "python", program]

    def start(
        self,
        folder: Path,
        program: str,
        name: str = "",
    ) -> Worker:
        """Start a program from a folder as a segmenter.

        Raises:
            PluginInvalid: the program cannot be started, or is not a worker.
        """
        command = shlex.join(self.words(folder, program))
        return Worker(command, memory_gb=self.memory_gb, start_s=self.start_s, name=name)

    def fault(self) -> str:
        """Run a small program as a trial; return why this machine cannot confine programs, or "" if it can."""
        valid_until, fault = _TRIAL_RESULTS.get(self, (0.0, ""))
        if time.monotonic() < valid_until:
            return fault
        fault = _run_trial(self)
        # Success is permanent; a fault may be temporary.
        valid_until = time.monotonic() + _RETRY_S if fault else math.inf
        _TRIAL_RESULTS[self] = (valid_until, fault)
        return fault

    @property
    def _python(self) -> str:
        if self.python:
            return shutil.which(self.python) or self.python
        return sys.executable

    def _bwrap_words(self, folder: Path) -> list[str]:
        bwrap = _installed(BWRAP, "bubblewrap")
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCH, bwrap, _ENVIRONMENT["PATH"]]
        options = self._bwrap_options(folder)
        return [*launcher, str(len(options)), *options, "--"]

    def _bwrap_options(self, folder: Path) -> list[str]:
        size = str(int(self.disk_gb * 2**30))
        words = [*_NAMESPACES]
        words += _USER_RIGHTS if os.geteuid() else _ADMINISTRATOR_RIGHTS
        for variable, value in _ENVIRONMENT.items():
            words += ["--setenv", variable, value]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for path in _WRITABLE_FOLDERS:
            words += ["--size", size, "--perms", "1777", "--tmpfs", path]
        words += ["--ro-bind", "/usr", "/usr"]
        for path in map(Path, _SYSTEM_FOLDERS):
            # On most distributions these folders are links into /usr.
            if path.is_symlink():
                words += ["--symlink", str(path.readlink()), str(path)]
            else:
                words += _read_only(str(path))
        for path in (*_SYSTEM_SETTINGS, *_python_folders(self._python), *self.reads):
            words += _read_only(path)
        words += ["--ro-bind", str(folder), _PROGRAM_FOLDER, "--chdir", _PROGRAM_FOLDER]
        # A device that is bound below /dev stays writable when that becomes read-only.
        for device in device_files(self.devices):
            words += [*_parent_folders(device), "--dev-bind", device, device]
        # These options come last, because earlier options create folders there.
        return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]

    def _limit_words(self) -> list[str]:
        # The data limit is twice the memory, because threads and allocators reserve more than they
        # use. The host measures the memory that all processes use together.
        limits = {
            "nproc": self.processes,
            "data": int(2e9 * self.memory_gb),
            "fsize": int(self.disk_gb * 2**30),
            # A core dump would write the program's whole memory to disk.
            "core": 0,
            "nofile": _MAX_OPEN_FILES,
        }
        options = [f"--{name}={value}" for name, value in limits.items()]
        return [_installed("prlimit", "util-linux"), *options, "--"]


def device_files(patterns: Sequence[str]) -> list[str]:
    """Return the paths that match patterns of device files, sorted and without folders.

    Raises:
        PluginInvalid: nothing matches a pattern, or it is not absolute.
    """
    found: set[str] = set()
    for pattern in patterns:
        if not pattern.startswith("/"):
            raise PluginInvalid(
                f"devices: expected an absolute path such as /dev/nvidia*, got {pattern!r}"
            )
        matches = [path for path in glob.glob(pattern) if not Path(path).is_dir()]  # noqa: PTH207 - absolute patterns
        if not matches:
            raise PluginInvalid(
                f"devices: expected a device that matches {pattern}, got none; load its driver (nvidia-smi does), "
                "or leave the pattern out"
            )
        found.update(matches)
    return sorted(found)


def _read_only(path: str) -> list[str]:
    """Return the bwrap options that create a path's parent folders and make the path readable."""
    return [*_parent_folders(path), "--ro-bind-try", path, path]


def _parent_folders(path: str) -> list[str]:
    """Return the bwrap options that create the parent folders of a path, readable by every user."""
    words: list[str] = []
    for folder in reversed(Path(path).parents):
        if len(folder.parts) > 1:
            words += ["--perms", "0755", "--dir", str(folder)]
    return words


def _change_user_words() -> list[str]:
    """Return the command that drops root privileges, because process limits do not apply to root.

    The process limit counts all processes of a user, so each program gets its own user.
    """
    if os.geteuid():
        return []
    user = str(secrets.choice(_UNUSED_USER_IDS))
    setpriv = _installed("setpriv", "util-linux")
    return [setpriv, "--reuid", user, "--regid", user, "--clear-groups", "--"]


def _installed(program: str, package: str) -> str:
    """Return the path of a program; raise PluginInvalid if it is not installed."""
    path = shutil.which(program)
    if path is None:
        raise PluginInvalid(
            f"{program} is not installed: apt-get install {package}; or name a command that "
            'confines programs, such as sandbox = "docker run -i --rm --network none '
            '-v {folder}:/work:ro -w /work my_image"'
        )
    return path


@cache
def _python_folders(python: str) -> tuple[str, ...]:
    """Return the folders outside /usr that a Python interpreter needs."""
    completed = subprocess.run(  # noqa: S603 - a command that the organiser chose
        [python, "-c", _PRINT_PREFIXES], check=False, capture_output=True, text=True
    )
    if completed.returncode:
        paths = {python}
    else:
        paths = {*completed.stdout.splitlines(), str(Path(python).parent.parent)}
    outside: list[str] = []
    for path in sorted(paths):
        if path != "/" and not Path(path).is_relative_to("/usr"):
            outside.append(path)
    return tuple(outside)


_TRIAL_RESULTS: dict[Sandbox, tuple[float, str]] = {}
"""For each sandbox, the time until which its trial result is valid, and the fault."""


def _run_trial(sandbox: Sandbox) -> str:
    """Run a small program, which must see its folder and no network; return the fault, or ""."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # A temporary folder is private by default, but the sandbox may run as another user.
        folder.chmod(0o755)
        (folder / "trial.py").write_text(
            "import numpy, os, socket, sys\n"
            "for device in sys.argv[1:]:\n"
            "    os.close(os.open(device, os.O_RDWR))\n"
            "print('confined', len(socket.if_nameindex()))\n"
        )
        try:
            words = [*sandbox.words(folder, "trial.py"), *device_files(sandbox.devices)]
            completed = subprocess.run(  # noqa: S603 - a command that the organiser chose
                words,
                check=False,
                capture_output=True,
                text=True,
                timeout=_TRIAL_LIMIT_S,
                stdin=subprocess.DEVNULL,
            )
        except PluginInvalid as error:
            return str(error)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"sandbox: a small program could not be started: {error}"
    output = completed.stdout.split()
    if completed.returncode or output[:1] != ["confined"]:
        lines = completed.stderr.strip().splitlines() or ["no error output"]
        reason = lines[-1][:_MAX_ERROR_LETTERS]
        return f"sandbox: a small program does not run in it: {reason}"
    # An isolated program has only one network interface, the loopback device.
    if output[1] == "1":
        return ""
    return "sandbox: programs in it have network access; its command must disable it"
