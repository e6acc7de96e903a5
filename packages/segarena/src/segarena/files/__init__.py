"""Files shared by everybody: images and masks, MATLAB, weights. One of each."""
