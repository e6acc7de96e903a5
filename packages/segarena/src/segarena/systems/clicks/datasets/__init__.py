"""Datasets of the click literature: GrabCut, Berkeley, DAVIS-345, COCO-MVal, TETRIS, SBD."""
