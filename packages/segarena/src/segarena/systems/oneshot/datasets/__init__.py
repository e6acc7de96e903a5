"""One-shot datasets: COCO-20i, PASCAL-5i, FSS-1000, your own folder, a generated one."""
