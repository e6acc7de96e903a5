"""Preparation of the ten radiology datasets of RadioActive: download, unpack, convert for `nifti-folder`.

`catalogue.SETS` lists the ten datasets; `prepare.prepare_set` prepares one of them. Each module of
`sets` describes one dataset: its source, the paper's statements about it, and the rule that
converts its files to labels.
"""
