"""RClicks: click segmentation of photographs, with simulated users that click as people do."""
