"""How much memory another process has in use."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has in use; 0 where that cannot be known."""
    return _of_status(pid, "VmRSS:")


def process_tree_bytes(pid: int) -> int:
    """Return how much memory a process and all that came of it have in use; what they share counts for each."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            told = (
                (folder / "stat")
                .read_text(encoding="ascii", errors="replace")
                .rpartition(")")[2]
                .split()
            )
            children.setdefault(int(told[1]), []).append(int(folder.name))
    total = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        total += resident_bytes(one)
        waiting += children.get(one, [])
    return total


def peak_resident_bytes(pid: int) -> int:
    """Return the most that a process has had in use; 0 where that cannot be known."""
    return _of_status(pid, "VmHWM:")


def _of_status(pid: int, name: str) -> int:
    with suppress(OSError):
        lines = (
            Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        )
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)
    return 0
