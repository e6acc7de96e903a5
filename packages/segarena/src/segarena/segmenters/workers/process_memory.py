"""Memory used by other processes, read from /proc."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process; 0 if it cannot be read."""
    return _status_bytes(pid, "VmRSS:")


def process_tree_bytes(pid: int) -> int:
    """Return the resident memory of a process and all its descendants.

    Memory that they share is counted once for each process.
    """
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # A process may end while its folder is read.
        with suppress(OSError, ValueError, IndexError):
            text = (folder / "stat").read_text(encoding="ascii", errors="replace")
            # The program name, in parentheses, may itself contain spaces and parentheses.
            fields = text.rpartition(")")[2].split()
            parent = int(fields[1])
            children.setdefault(parent, []).append(int(folder.name))
    total = 0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        total += resident_bytes(current)
        waiting += children.get(current, [])
    return total


def peak_resident_bytes(pid: int) -> int:
    """Return the peak resident memory of a process; 0 if it cannot be read."""
    return _status_bytes(pid, "VmHWM:")


def _status_bytes(pid: int, field: str) -> int:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        for line in text.splitlines():
            if line.startswith(field):
                kibibytes = int(line.split()[1])
                return 1024 * kibibytes
    return 0
