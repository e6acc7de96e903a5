"""A stranger's program as a worker: it sees its own folder, a Python and what it is sent, and nothing else.

bubblewrap (Linux) gives it namespaces of its own: no network, no other process, an empty environment, files that can be
read and none that can be written but in memory. A command of the organiser's, such as one that starts a container, may
stand in its place.
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
"""In a command of the organiser's: where the program lies."""

_NOBODIES = range(61_184, 65_520)
"""Numbers that systemd keeps for users who are there for the life of one program, and that own nothing."""
_INSIDE = "/sent"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
)
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
}  # noqa: S108 - its own
_TO_BECOME_NOBODY = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
_TRIAL_S = 60.0
_AGAIN_S = 60.0
"""So long a trial that came to nothing is not made again. Later it is: the machine may have been busy."""
_PREFIXES = "import sys; print(sys.prefix, sys.base_prefix, *(p for p in sys.path if p.endswith('-packages')), sep=chr(10))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What confines programs.

    Attributes:
        command: "bwrap"; or words that start a program confined, with {folder} for where it lies: "docker run -i --rm
            --network none -v {folder}:/work:ro -w /work my_image".
        python: the interpreter, whose packages programs have; by default this one. With a command of one's own, the
            name of the one there.
        reads: further files and folders that programs may read, such as weights.
        memory_gb: what all processes of a program together may have in use.
        disk_gb: what it may write into /tmp, and into /dev/shm; in memory beside `memory_gb`, and gone when it ends.
        processes: how many processes and threads it may have.
        start_s: what starting it, and encoding again after a crash, may take.
    """

    command: str = BWRAP
    python: str = ""
    reads: tuple[str, ...] = ()
    memory_gb: float = 8.0
    disk_gb: float = 1.0
    processes: int = 256
    start_s: float = 120.0

    def words(self, folder: Path, program: str) -> list[str]:
        """Return what starts a program of a folder, confined.

        Raises:
            PluginInvalid: something that it takes is not installed.
        """
        if self.command == BWRAP:
            return [
                *self._confining(folder),
                *_as_nobody(),
                *self._limiting(),
                self._python,
                program,
            ]
        words = [word.replace(FOLDER, str(folder)) for word in shlex.split(self.command)]
        return [*words, self.python or "python", program]

    def start(self, folder: Path, program: str, name: str = "") -> Worker:
        """Return a program of a folder as a segmenter.

        Raises:
            PluginInvalid: it cannot be started, or is no worker.
        """
        words = shlex.join(self.words(folder, program))
        return Worker(words, memory_gb=self.memory_gb, start_s=self.start_s, name=name)

    def fault(self) -> str:
        """Return in a line why no program can be confined here, "" when one can: a small one is."""
        until, why = _TRIED.get(self, (0.0, ""))
        if time.monotonic() >= until:
            why = _trial(self)
            _TRIED[self] = (time.monotonic() + _AGAIN_S if why else math.inf, why)
        return why

    @property
    def _python(self) -> str:
        return shutil.which(self.python) or self.python if self.python else sys.executable

    def _confining(self, folder: Path) -> list[str]:
        size = str(int(self.disk_gb * 2**30))
        # Process 1 in there is bubblewrap's own, and what it was started with can be read in /proc.
        words = [_installed("env", "coreutils"), "-i", f"PATH={_ENVIRONMENT['PATH']}"]
        words += [
            _installed(BWRAP, "bubblewrap"),
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
        ]
        words += [
            "--unshare-cgroup-try",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--hostname",
            "worker",
        ]
        words += ["--unshare-user", "--cap-drop", "ALL"] if os.geteuid() else _TO_BECOME_NOBODY
        for variable, value in _ENVIRONMENT.items():
            words += ["--setenv", variable, value]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for path in ("/tmp", "/dev/shm"):  # noqa: S108 - its own
            words += ["--size", size, "--perms", "1777", "--tmpfs", path]
        words += ["--ro-bind", "/usr", "/usr"]
        for path in map(Path, _SYSTEM):
            words += (
                ["--symlink", str(path.readlink()), str(path)]
                if path.is_symlink()
                else _shown(str(path))
            )
        for path in (*_SETTINGS, *_prefixes(self._python), *self.reads):
            words += _shown(path)
        words += ["--ro-bind", str(folder), _INSIDE, "--chdir", _INSIDE]
        return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--"]

    def _limiting(self) -> list[str]:
        # Data may be twice what is in use: threads and allocators ask for more than they touch. What is touched, by all
        # processes together, is looked after from outside.
        data = int(2e9 * self.memory_gb)
        limits = {
            "nproc": self.processes,
            "data": data,
            "fsize": int(self.disk_gb * 2**30),
            "core": 0,
            "nofile": 1024,
        }
        return [
            _installed("prlimit", "util-linux"),
            *(f"--{name}={most}" for name, most in limits.items()),
            "--",
        ]


def _shown(path: str) -> list[str]:
    above = [str(folder) for folder in reversed(Path(path).parents) if len(folder.parts) > 1]
    folders = [word for folder in above for word in ("--perms", "0755", "--dir", folder)]
    return [*folders, "--ro-bind-try", path, path]


def _as_nobody() -> list[str]:
    """Return what gives up the rights of the administrator, for whom no limit of processes holds.

    That limit counts all processes of a user: programs that were the same one would have it in common.
    """
    if os.geteuid():
        return []
    nobody = str(secrets.choice(_NOBODIES))
    return [
        _installed("setpriv", "util-linux"),
        "--reuid",
        nobody,
        "--regid",
        nobody,
        "--clear-groups",
        "--",
    ]


def _installed(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise PluginInvalid(
            f"{program} is not installed: apt-get install {package}; or name a command that confines programs, such as "
            'sandbox = "docker run -i --rm --network none -v {folder}:/work:ro -w /work my_image"'
        )
    return found


@cache
def _prefixes(python: str) -> tuple[str, ...]:
    """Return the folders that a Python needs, outside of /usr."""
    asked = subprocess.run([python, "-c", _PREFIXES], check=False, capture_output=True, text=True)  # noqa: S603 - the organiser's
    if not asked.returncode:
        found = {*asked.stdout.splitlines(), str(Path(python).parent.parent)}
    else:
        found = {python}
    return tuple(
        sorted(path for path in found if path != "/" and not Path(path).is_relative_to("/usr"))
    )


_TRIED: dict[Sandbox, tuple[float, str]] = {}
"""What came of trials, and until when that holds."""


def _trial(sandbox: Sandbox) -> str:
    """Start a small program; return why that does not work. It must see its folder, and no network."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "trial.py").write_text(
            "import numpy, socket\nprint('confined', len(socket.if_nameindex()))\n"
        )
        try:
            words = sandbox.words(folder, "trial.py")
            ran = subprocess.run(  # noqa: S603 - the organiser's
                words,
                check=False,
                capture_output=True,
                text=True,
                timeout=_TRIAL_S,
                stdin=subprocess.DEVNULL,
            )
        except PluginInvalid as error:
            return str(error)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"sandbox: a small program could not be started: {error}"
    said = ran.stdout.split()
    if ran.returncode or said[:1] != ["confined"]:
        told = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"sandbox: a small program does not run in it: {told[:300]}"
    if said[1] == "1":
        return ""
    return "sandbox: programs in it have a network; its command must take that away"
