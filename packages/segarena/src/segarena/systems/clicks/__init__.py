"""RClicks: click segmentation of photographs, by users who click where people click."""
