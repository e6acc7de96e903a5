"""Trust in run folders: reading a run only executes plug-ins that ship with segarena.

A run folder may come from anywhere, and its run.json names plug-ins. Reports, comparisons, scores
and viewers only read numbers and text. If they need a plug-in again (a dataset for its images, a
user for its prompts), this module builds it:

- A plug-in of segarena, found by its registered name, is built.
- A file (`data.py:Mine`) or a plug-in of another package is built only at the reader's request: `--trust`, or
  `trust=True` in Python. Its hash is then compared with the recorded one, and a difference is reported.
- Plug-ins named in the options of a plug-in follow the same rule, whenever they are resolved.

Installed packages register their plug-ins and pages as usual, and statistics may come from them,
because the reader trusted them by installing them. A folder only selects among installed code; it
never adds code or passes arguments to it. To continue a run (`segarena run`), a person names its
plug-ins on the command line.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from segarena.errors import PluginError, UntrustedPlugin
from segarena.files.hashes import sha256_of_file
from segarena.records.configuration import PluginRecord
from segarena.registry import build, find, only_built_in

HOW_TO_TRUST = "If you know where it comes from, run it with --trust (in Python trust=True)."


def restrict_plugins(*, trust: bool) -> AbstractContextManager[None]:
    """Return a context that, without `trust`, restricts plug-in lookups to those that ship with segarena."""
    return nullcontext() if trust else only_built_in()


def rebuild_plugin(
    kind: str,
    used: PluginRecord,
    *,
    trust: bool = False,
) -> Any:
    """Build a plug-in of a run again.

    Raises:
        UntrustedPlugin: the plug-in is not part of segarena, and `trust` is False.
        PluginError: the plug-in no longer exists, or cannot be built.
    """
    with restrict_plugins(trust=trust):
        return build(kind, used.spec)


def trust_refusal(
    kind: str,
    used: PluginRecord,
    *,
    trust: bool,
) -> str:
    """Return a message if `rebuild_plugin` would reject a plug-in as untrusted, without building it; "" otherwise."""
    try:
        with only_built_in():
            find(kind, used.name)
    except UntrustedPlugin as error:
        return "" if trust else f"No photographs: {error}. {HOW_TO_TRUST}"
    except PluginError:
        pass
    return ""


def source_change(used: PluginRecord) -> str:
    """Return a message if the file of a plug-in has changed since the run; "" otherwise."""
    path, _, _ = used.name.rpartition(":")
    file = Path(path)
    if used.sha256 is None or not file.is_file():
        return ""
    if sha256_of_file(file) == used.sha256:
        return ""
    return f"{file.name} changed since this run"
