"""Amodal scenes: the model, its files, statistics, agreement between people, checks and reductions.

- scene.py: what one person drew: regions, shared vertices, depth order; polygons.py: exact arithmetic
- rasters.py: the scene in pixels, full, visible, hidden; filling.py: the rules of pixels; rle.py: COCO's run lengths
- files/: one module per format; `read_scenes`, `write_scenes`, `losses`
- quality.py, borders.py: what is wrong with one annotation; consensus.py: what is by the others of its image;
  defects.py: how it is told; repair.py: what can be mended without guessing
- reductions.py: edges and their owners, labels, boxes
- statistics.py, agreement.py and what they stand on: measures of annotations and of pairs of annotators
- demo_scenes.py, demo_files.py: generated scenes, their truth, and five annotators
"""
