"""Datasets of volumes: folders of files, and a phantom that needs no file."""
