"""Datasets for interactive click segmentation: GrabCut, Berkeley, DAVIS-345, COCO-MVal, TETRIS, SBD."""
