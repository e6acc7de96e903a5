"""Volumes on disk: NIfTI, NRRD, MetaImage, read into one exact orientation."""
