"""The executor of many machines, by Ray.

`executor` is it, `joining` connects to a cluster, `site` has all workers there as the driver sees them, `foreman` is
what stands on a node.
"""
