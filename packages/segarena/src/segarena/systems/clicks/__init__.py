"""RClicks: interactive click segmentation of photographs, evaluated with human-like simulated users."""
