"""Where a run's folder is, and what the run is: what a process on another machine needs to know."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from segarena.engine.lockstep import RunCast
from segarena.engine.run_identity import identity_of
from segarena.errors import DatasetError, WorkersInvalid
from segarena.files.marks import Mark
from segarena.records.configuration import RunConfiguration
from segarena.records.identity import identity_changes


@dataclass(frozen=True, slots=True)
class RunLocation:
    """The home of a run; travels to other machines.

    Attributes:
        mark: in the run's folder.
        config: what its run.json says.
    """

    mark: Mark
    config: RunConfiguration

    def check(self, cast: RunCast) -> None:
        """Refuse to work on another machine whose data, weights or plug-ins are not those of the run.

        Data are the same when their names and sizes are: reading them all on every machine would take too long.

        Raises:
            DatasetError: the data are not the same.
            WorkersInvalid: weights, or the source of a plug-in, are not.
        """
        if self.mark.is_of_this_host:
            return
        here = socket.gethostname()
        config = self.config
        samples = tuple(cast.dataset.sample_ids)[: len(config.dataset.samples)]
        if (samples, cast.dataset.fingerprint) != (
            config.dataset.samples,
            config.dataset.fingerprint,
        ):
            raise DatasetError(
                f"{here}: dataset {cast.dataset.name} has other files than on {self.mark.host}, where the run was "
                "started; give all machines the same data under the same path"
            )
        now, _ = identity_of(config, cast.dataset, segmenter=cast.segmenter, by="names")
        if config.identity is not None and (edited := identity_changes(config.identity, now)):
            raise WorkersInvalid(f"{here}: {'; '.join(edited)}; give all machines the same files")
