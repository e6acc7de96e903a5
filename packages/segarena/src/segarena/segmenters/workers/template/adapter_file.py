"""Writing an adapter to start from, and beside it the other side of a worker."""

from __future__ import annotations

import re
from pathlib import Path

import segarena.worker
from segarena.errors import InvalidInput
from segarena.files.whole import write_whole

TEMPLATE = Path(__file__).with_name("adapter.py.txt")


def write_adapter(name: str, folder: Path) -> tuple[Path, bool]:
    """Write `folder`/`name`.py, unless it is there, and segarena_worker.py; return the adapter and whether it is new.

    Raises:
        InvalidInput: the name is none that Python can import, or there is no such folder.
        StoreError: the folder cannot be written to.
    """
    stem = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z_]\w*", stem) or stem == "segarena_worker":
        raise InvalidInput(
            f"{name!r}: expected a name for a module, of letters, digits and _, such as my_adapter"
        )
    if not folder.is_dir():
        raise InvalidInput(
            f"{folder}: there is no such folder; make it, or give the one of the model"
        )
    adapter = folder / f"{stem}.py"
    is_new = not adapter.exists()
    if is_new:
        text = (
            TEMPLATE.read_text(encoding="utf-8").replace("FILE", adapter.name).replace("NAME", stem)
        )
        write_whole(adapter, text)
    write_whole(
        folder / "segarena_worker.py", Path(segarena.worker.__file__).read_text(encoding="utf-8")
    )
    return adapter, is_new
