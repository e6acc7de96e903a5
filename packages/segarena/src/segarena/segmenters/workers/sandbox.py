"""Sandbox for untrusted programs: a worker can read only its folder, a Python and its requests.

bubblewrap (Linux) gives the program its own namespaces: no network, no other processes, an empty
environment, read-only files, and writable files in memory only. The organiser's own command, such
as one that starts a container, may replace it.
"""

from __future__ import annotations

import math
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.worker import Worker

BWRAP = "bwrap"
FOLDER = "{folder}"
"""Placeholder for the program's folder in the organiser's command."""

_UNUSED_USER_IDS = range(61_184, 65_520)
"""The range that systemd reserves for users that exist for one program only and own nothing."""
_PROGRAM_FOLDER = "/sent"
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_SETTINGS = (
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
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--hostname",
    "worker",
)
# The administrator keeps just the rights that setpriv needs to change to an unused user.
_ADMINISTRATOR_RIGHTS = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
_USER_RIGHTS = ("--unshare-user", "--cap-drop", "ALL")
_TRIAL_LIMIT_S = 60.0
_RETRY_S = 60.0
"""A failed trial is repeated after this time, because the machine may only have been busy."""
_PRINT_PREFIXES = (
    "import sys; print(sys.prefix, sys.base_prefix, "
    "*(p for p in sys.path if p.endswith('-packages')), sep=chr(10))"
)
_MAX_OPEN_FILES = 1024
_MAX_ERROR_LETTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Command and limits that confine programs.

    Attributes:
        command: "bwrap"; or a command that starts a program confined, with {folder} for the
            program's folder: "docker run -i --rm --network none -v {folder}:/work:ro -w /work
            my_image".
        python: the interpreter whose packages programs can import; by default this one. With a
            command of your own, the interpreter's name there.
        reads: further files and folders that programs may read, such as weights.
        memory_gb: memory of all processes of a program together.
        disk_gb: size of /tmp, and of /dev/shm; both are in memory, in addition to `memory_gb`, and
            disappear with the program.
        processes: maximum number of processes and threads.
        start_s: seconds for a start, and for encoding again after a crash.
    """

    command: str = BWRAP
    python: str = ""
    reads: tuple[str, ...] = ()
    memory_gb: float = 8.0
    disk_gb: float = 1.0
    processes: int = 256
    start_s: float = 120.0

    def words(self, folder: Path, program: str) -> list[str]:
        """Return the command that starts a program of a folder, confined.

        Raises:
            PluginInvalid: a program that the sandbox needs is not installed.
        """
        if self.command == BWRAP:
            return [
                *self._bwrap_words(folder),
                *_change_user_words(),
                *self._limit_words(),
                self._python,
                program,
            ]
        words = [word.replace(FOLDER, str(folder)) for word in shlex.split(self.command)]
        return [*words, self.python or "python", program]

    def start(self, folder: Path, program: str, name: str = "") -> Worker:
        """Start a program of a folder as a segmenter.

        Raises:
            PluginInvalid: it cannot be started, or is no worker.
        """
        command = shlex.join(self.words(folder, program))
        return Worker(command, memory_gb=self.memory_gb, start_s=self.start_s, name=name)

    def fault(self) -> str:
        """Return why this machine cannot confine programs, "" if it can, by a trial with a small one."""
        valid_until, fault = _TRIAL_RESULTS.get(self, (0.0, ""))
        if time.monotonic() < valid_until:
            return fault
        fault = _run_trial(self)
        valid_until = time.monotonic() + _RETRY_S if fault else math.inf
        _TRIAL_RESULTS[self] = (valid_until, fault)
        return fault

    @property
    def _python(self) -> str:
        if self.python:
            return shutil.which(self.python) or self.python
        return sys.executable

    def _bwrap_words(self, folder: Path) -> list[str]:
        size = str(int(self.disk_gb * 2**30))
        # Process 1 in the sandbox is bubblewrap itself, and the program can read its environment
        # in /proc: so it starts with an empty one.
        words = [_installed("env", "coreutils"), "-i", f"PATH={_ENVIRONMENT['PATH']}"]
        words += [_installed(BWRAP, "bubblewrap"), *_NAMESPACES]
        words += _USER_RIGHTS if os.geteuid() else _ADMINISTRATOR_RIGHTS
        for variable, value in _ENVIRONMENT.items():
            words += ["--setenv", variable, value]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for path in _WRITABLE_FOLDERS:
            words += ["--size", size, "--perms", "1777", "--tmpfs", path]
        words += ["--ro-bind", "/usr", "/usr"]
        for path in map(Path, _SYSTEM_FOLDERS):
            # On most distributions these are links into /usr.
            if path.is_symlink():
                words += ["--symlink", str(path.readlink()), str(path)]
            else:
                words += _read_only(str(path))
        for path in (*_SYSTEM_SETTINGS, *_python_folders(self._python), *self.reads):
            words += _read_only(path)
        words += ["--ro-bind", str(folder), _PROGRAM_FOLDER, "--chdir", _PROGRAM_FOLDER]
        return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--"]

    def _limit_words(self) -> list[str]:
        # The limit of data is twice the memory, because threads and allocators reserve more than
        # they use. The host measures the memory in use by all processes together.
        limits = {
            "nproc": self.processes,
            "data": int(2e9 * self.memory_gb),
            "fsize": int(self.disk_gb * 2**30),
            "core": 0,
            "nofile": _MAX_OPEN_FILES,
        }
        options = [f"--{name}={value}" for name, value in limits.items()]
        return [_installed("prlimit", "util-linux"), *options, "--"]


def _read_only(path: str) -> list[str]:
    """Return the options that make a path readable, with readable folders above it."""
    words: list[str] = []
    for folder in reversed(Path(path).parents):
        if len(folder.parts) > 1:
            words += ["--perms", "0755", "--dir", str(folder)]
    return [*words, "--ro-bind-try", path, path]


def _change_user_words() -> list[str]:
    """Return the command that drops root privileges, since limits do not apply to root.

    The limit of processes counts all processes of one user, so each program has its own user.
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
    """Return the folders outside of /usr that a Python needs."""
    completed = subprocess.run(  # noqa: S603 - the organiser's
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
"""Per sandbox, the moment until which the result of its trial is valid, and the fault."""


def _run_trial(sandbox: Sandbox) -> str:
    """Run a small program; return the fault. It must see its folder and no network."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        (folder / "trial.py").write_text(
            "import numpy, socket\nprint('confined', len(socket.if_nameindex()))\n"
        )
        try:
            words = sandbox.words(folder, "trial.py")
            completed = subprocess.run(  # noqa: S603 - the organiser's
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
        lines = completed.stderr.strip().splitlines() or ["it said nothing"]
        reason = lines[-1][:_MAX_ERROR_LETTERS]
        return f"sandbox: a small program does not run in it: {reason}"
    # The loopback device is the only network interface of an isolated program.
    if output[1] == "1":
        return ""
    return "sandbox: programs in it have a network; its command must take that away"
