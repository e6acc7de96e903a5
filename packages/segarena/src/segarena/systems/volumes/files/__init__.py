"""Reading and writing of volume files: NIfTI, NRRD and MetaImage, in one canonical orientation."""
