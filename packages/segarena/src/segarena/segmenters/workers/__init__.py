"""Segmenters in other processes: the host side of the worker protocol."""
