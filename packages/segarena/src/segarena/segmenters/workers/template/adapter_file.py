"""Writes a first adapter, and next to it the worker file that the adapter imports."""

from __future__ import annotations

import re
from pathlib import Path

import segarena.worker
from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic

TEMPLATE = Path(__file__).with_name("adapter.py.txt")


def write_adapter(name: str, folder: Path) -> tuple[Path, bool]:
    """Write `folder`/`name`.py unless it exists, and write segarena_worker.py.

    Returns:
        The path of the adapter, and whether it is new.

    Raises:
        InvalidInput: the name is not a valid module name, or the folder does not exist.
        StoreError: the folder is not writable.
    """
    stem = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z_]\w*", stem) or stem == "segarena_worker":
        raise InvalidInput(
            f"{name!r}: expected a name for a module, of letters, digits and _, such as my_adapter"
        )
    if not folder.is_dir():
        raise InvalidInput(
            f"{folder}: the folder does not exist; create it, or pass the model's folder"
        )
    adapter = folder / f"{stem}.py"
    is_new = not adapter.exists()
    if is_new:
        template = TEMPLATE.read_text(encoding="utf-8")
        text = template.replace("FILE", adapter.name).replace("NAME", stem)
        write_atomic(adapter, text)
    worker_source = Path(segarena.worker.__file__).read_text(encoding="utf-8")
    write_atomic(folder / "segarena_worker.py", worker_source)
    return adapter, is_new
