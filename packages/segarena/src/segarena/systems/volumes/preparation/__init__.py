"""Preparation of the ten radiology datasets of RadioActive: download, unpack, convert for `nifti-folder`.

`catalogue.SETS` lists the ten; `prepare.prepare_set` does the work. Each set is one module of `sets`: its source, the
paper's statements about it, and the rule that turns its files into labels.
"""
