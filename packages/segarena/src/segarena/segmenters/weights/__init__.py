"""Loading of weights from folders, the hub and files released by the authors."""
