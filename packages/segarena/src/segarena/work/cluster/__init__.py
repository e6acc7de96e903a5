"""The executor for a Ray cluster.

`executor` contains the executor, `connection` connects to a cluster, `ray_pool` manages the workers
from the driver, and `node_actor` is the actor on a node.
"""
