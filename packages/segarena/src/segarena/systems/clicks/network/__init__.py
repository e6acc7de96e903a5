"""The clickability network: its layers, weights, predictions and training."""
