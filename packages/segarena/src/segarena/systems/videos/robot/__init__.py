"""The scribbling robot of the DAVIS Interactive Challenge, stage by stage.

The stages are the error mask, `morphological_opening`, `medial_axis`, `skeleton_paths` and
`bezier_line`; `scribble_lines` runs all of them.
"""
