"""Location and configuration of a run, for processes on other machines."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from segarena.engine.lockstep_dialogues import RunCast
from segarena.engine.run_identity import identity_of
from segarena.errors import DatasetError, WorkersInvalid
from segarena.files.folder_probe import FolderProbe
from segarena.records.configuration import RunConfiguration
from segarena.records.run_identity_record import identity_changes


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Folder and configuration of a run, sent to other machines.

    Attributes:
        mark: a file in the run's folder that shows whether a machine can access that folder.
        config: configuration of the run.
    """

    mark: FolderProbe
    config: RunConfiguration

    def check(self, cast: RunCast) -> None:
        """Check that data, weights and plug-ins are those of the run, unless this machine started it.

        Data are compared by names and sizes: reading them all on every machine would take too long.

        Raises:
            DatasetError: the data differ.
            WorkersInvalid: weights or the source of a plug-in differ.
        """
        if self.mark.is_local:
            return
        here = socket.gethostname()
        config = self.config
        samples = tuple(cast.dataset.sample_ids)[: len(config.dataset.samples)]
        is_same_data = (
            samples == config.dataset.samples
            and cast.dataset.fingerprint == config.dataset.fingerprint
        )
        if not is_same_data:
            raise DatasetError(
                f"{here}: dataset {cast.dataset.name} has different files than on {self.mark.host}, where the run was "
                "started; give all machines the same data under the same path"
            )
        now, _ = identity_of(config, cast.dataset, segmenter=cast.segmenter, by="names")
        # Runs of earlier versions recorded no identity to compare with.
        edited = [] if config.identity is None else identity_changes(config.identity, now)
        if edited:
            raise WorkersInvalid(f"{here}: {'; '.join(edited)}; give all machines the same files")
