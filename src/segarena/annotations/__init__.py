"""Amodal scenes: the model, its files, statistics, agreement between people, checks and reductions.

scene.py        what one person drew: regions, shared vertices, depth order     polygons.py  exact arithmetic
rasters.py      the scene in pixels: full, visible, hidden                      filling.py   rules of pixels
rle.py          COCO's run lengths                                              files/       one format each
"""
