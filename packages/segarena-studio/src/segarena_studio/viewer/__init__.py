"""Viewer: samples with their targets, and the predictions of runs round by round; independent of HTTP.

catalog.py             datasets and runs named on the command line, grouped by dataset
dialogue_table.py      one row per dialogue or sample, filtered and sorted by any column
table_query.py         filters and order of a table
sample_cache.py        recently viewed samples
planes.py              pictures as planes: the photograph, slices along three axes, frames
mask_layers.py         target, ignored pixels and answers in one plane, as outlines
content.py             content of the viewer for a dialogue or a sample, without pictures and masks
dialogue_replay.py     a dialogue run again, for rounds without stored masks
thumbnails.py          small pictures for lists
"""
