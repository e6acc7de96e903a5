"""The clickability network: layers, checkpoints, prediction and training."""
