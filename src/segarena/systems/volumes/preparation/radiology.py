"""The one place where SimpleITK and pydicom are imported for the preparation; import it inside functions.

Raises:
    MissingExtra: on import, when one of them is not installed.
"""

from __future__ import annotations

from segarena.errors import MissingExtra

try:
    import pydicom
    import SimpleITK as sitk  # noqa: N813 - as all of its documentation has it
    from pydicom.encaps import generate_frames
    from pydicom.uid import RLELossless
except ImportError as error:
    raise MissingExtra(f"preparing radiology data needs {error.name}: pip install 'segarena[radiology]'") from error

__all__ = ["RLELossless", "generate_frames", "pydicom", "sitk"]
