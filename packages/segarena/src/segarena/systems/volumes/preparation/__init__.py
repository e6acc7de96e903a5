"""The ten radiology datasets of RadioActive: fetched, unpacked, converted to folders that `nifti-folder` reads.

`catalogue.SETS` names the ten; `prepare.prepare` does the work. Each set is one file under `rules`: where it comes
from, what is stated about it, and its rule.
"""
