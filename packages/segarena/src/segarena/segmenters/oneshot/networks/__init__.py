"""Networks of one-shot segmenters in torch; listing the plug-ins does not import this folder."""
