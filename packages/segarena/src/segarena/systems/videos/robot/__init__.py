"""The scribbling robot of the DAVIS Interactive Challenge, stage by stage.

Error mask, `morphological_opening`, `medial_axis`, `skeleton_paths`, `bezier_line`;
`scribble_lines` runs all stages.
"""
