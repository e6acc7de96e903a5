"""What reading a run may run: nothing that its folder names, unless it ships with segarena.

A run folder comes from anywhere, and run.json names plug-ins. Reporting, comparing, scoring and looking read numbers
and text; where they need a plug-in again (a dataset for its pictures, a user for how prompts were meant), this is the
one way to it:

- what is part of segarena, found by its registered name, is built again;
- a file (`data.py:Mine`) and a plug-in of another package are built only when the reader asks for it: `--trust`, or
  `trust=True` in Python. The hash that the run recorded is compared then, and a difference is told by name;
- a plug-in that is built may name others in its options; they are held to the same rule, whenever they are looked up.

Packages that are installed register their plug-ins and pages as ever, and a statistic may be one of theirs: who
installed them trusts them. What a folder says chooses among what is there; it never brings code and never gives it
arguments. To continue a run (`segarena run`) is to be asked for its plug-ins by a person, on the command line.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from segarena.errors import NotTrusted, PluginError
from segarena.files.hashes import sha256_of_file
from segarena.records.configuration import PluginRecord
from segarena.registry import build, find, only_built_in

HOW_TO_TRUST = "If you know where it comes from, say --trust (in Python trust=True) to have it run."


def restrict_plugins(*, trust: bool) -> AbstractContextManager[None]:
    """Return the block in which run folders are read; what is looked up in it is held to the rule."""
    return nullcontext() if trust else only_built_in()


def rebuild_plugin(kind: str, used: PluginRecord, *, trust: bool = False) -> Any:
    """Return a plug-in of a run, built again.

    Raises:
        NotTrusted: it is not part of segarena, and `trust` is False.
        PluginError: it is not there any more, or cannot be built.
    """
    with restrict_plugins(trust=trust):
        return build(kind, used.spec)


def trust_refusal(kind: str, used: PluginRecord, *, trust: bool) -> str:
    """Return a line when `rebuilt` would refuse a plug-in for want of trust, else nothing; it is not built."""
    try:
        with only_built_in():
            find(kind, used.name)
    except NotTrusted as error:
        return "" if trust else f"No photographs: {error}. {HOW_TO_TRUST}"
    except PluginError:
        pass
    return ""


def source_change(used: PluginRecord) -> str:
    """Return a line when the file of a plug-in is not what the run had, else nothing."""
    file = Path(used.name.rpartition(":")[0])
    if used.sha256 is None or not file.is_file() or sha256_of_file(file) == used.sha256:
        return ""
    return f"{file.name} changed since this run"
