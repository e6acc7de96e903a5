"""The ten datasets in Table 1 of RadioActive, by name."""

from __future__ import annotations

import difflib

from segarena.errors import InvalidInput
from segarena.systems.volumes.preparation.dataset_case_types import PublishedSet
from segarena.systems.volumes.preparation.sets.adrenal import ADRENAL
from segarena.systems.volumes.preparation.sets.colorectal import COLORECTAL
from segarena.systems.volumes.preparation.sets.hanseg import HANSEG
from segarena.systems.volumes.preparation.sets.hcc_tace import HCC_TACE
from segarena.systems.volumes.preparation.sets.hntsmrg import HNTSMRG
from segarena.systems.volumes.preparation.sets.lnq import LNQ
from segarena.systems.volumes.preparation.sets.ms_flair import MS_FLAIR
from segarena.systems.volumes.preparation.sets.pengwin import PENGWIN
from segarena.systems.volumes.preparation.sets.rider_lung import RIDER_LUNG
from segarena.systems.volumes.preparation.sets.segrap import SEGRAP

_ALL = (MS_FLAIR, HANSEG, HNTSMRG, RIDER_LUNG, LNQ, COLORECTAL, ADRENAL, HCC_TACE, PENGWIN, SEGRAP)
SETS: dict[str, PublishedSet] = {published.name: published for published in _ALL}
"""All datasets in the order of the paper, D1 to D10."""


def find_set(name: str) -> PublishedSet:
    """Return the dataset with this name.

    Raises:
        InvalidInput: the name is unknown; the message suggests a similar name.
    """
    if name in SETS:
        return SETS[name]
    similar = difflib.get_close_matches(name, SETS, n=1)
    hint = f"did you mean {similar[0]!r}?" if similar else f"known: {', '.join(SETS)}"
    raise InvalidInput(f"there is no radiology dataset {name!r}; {hint}")
