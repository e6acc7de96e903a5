"""What stands behind the segmenters of the SAM family. Its modules import torch, so plug-in files import them late."""
