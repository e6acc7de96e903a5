"""The optional packages SimpleITK and pydicom, imported when first used.

Listing the datasets and printing help need neither of them, so a missing package is reported only
on use, as `MissingExtra`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from segarena.errors import MissingExtra

if TYPE_CHECKING:
    import pydicom
    import SimpleITK as sitk  # noqa: N813 - as all of its documentation has it
    from pydicom import encaps, filereader, uid


class _LazyModule(ModuleType):
    """Proxy for a module that is imported when one of its attributes is first accessed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `inspect` and `doctest` look for these in everything they meet
            raise AttributeError(name)
        return getattr(_import_package(self.__name__), name)


def check_packages() -> None:
    """Raise `MissingExtra` if one of the two packages is not installed."""
    for name in ("SimpleITK", "pydicom"):
        _import_package(name)


def _import_package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(
            f"preparing radiology data needs {error.name}: pip install 'segarena[radiology]'"
        ) from error


if not TYPE_CHECKING:
    sitk = _LazyModule("SimpleITK")
    pydicom = _LazyModule("pydicom")
    encaps = _LazyModule("pydicom.encaps")
    filereader = _LazyModule("pydicom.filereader")
    uid = _LazyModule("pydicom.uid")

__all__ = ["check_packages", "encaps", "filereader", "pydicom", "sitk", "uid"]
