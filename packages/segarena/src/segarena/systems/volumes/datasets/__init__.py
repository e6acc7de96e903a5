"""Datasets of volumes: folders of volume files, and a computed phantom that needs no files."""
