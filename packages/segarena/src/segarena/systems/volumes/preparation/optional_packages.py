"""Imports of the optional SimpleITK and pydicom for the preparation; import it inside functions.

Raises:
    MissingExtra: on import, when one of them is not installed.
"""

from __future__ import annotations

from segarena.errors import MissingExtra

try:
    import pydicom
    import SimpleITK as sitk  # noqa: N813 - as all of its documentation has it
    from pydicom.encaps import generate_frames
    from pydicom.filereader import read_file_meta_info
    from pydicom.uid import DeflatedExplicitVRLittleEndian, RLELossless
except ImportError as error:
    raise MissingExtra(
        f"preparing radiology data needs {error.name}: pip install 'segarena[radiology]'"
    ) from error

__all__ = [
    "DeflatedExplicitVRLittleEndian",
    "RLELossless",
    "generate_frames",
    "pydicom",
    "read_file_meta_info",
    "sitk",
]
