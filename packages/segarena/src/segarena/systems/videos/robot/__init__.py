"""The scribbling robot of the DAVIS Interactive Challenge, stage by stage: error, opening, skeleton, path, curve."""
