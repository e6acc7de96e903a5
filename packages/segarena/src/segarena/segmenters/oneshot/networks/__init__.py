"""Networks of one-shot segmenters in torch, outside of the folder whose modules every listing imports."""
