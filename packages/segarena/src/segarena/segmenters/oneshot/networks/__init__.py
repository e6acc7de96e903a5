"""Networks of one-shot segmenters in torch, in a folder that listing the plug-ins does not import."""
