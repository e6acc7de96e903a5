"""What a worker process imports, for the fixture `quick_workers`.

The parent of such a worker is the process that forks, which ends with the tests, so no worker watches who asked for it.
"""

import segarena.engine.sample_job
import segarena.metrics.boundary
import segarena.segmenters.controls
import segarena.users.centre  # noqa: F401
from segarena.work import worker_process

worker_process._die_with_parent = lambda: None
