"""One-shot datasets: COCO-20i, PASCAL-5i, FSS-1000, a folder of your own, a generated one."""
