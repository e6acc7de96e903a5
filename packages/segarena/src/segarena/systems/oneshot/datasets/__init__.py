"""One-shot sets: COCO-20i, PASCAL-5i, FSS-1000, a folder, a generated one."""
