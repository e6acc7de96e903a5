"""Samples of a run, fetched once and kept by the hash of their content, for this run and all later ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from segarena.client.server import SampleInfo, Server
from segarena.engine.blob_folder import BlobFolder
from segarena.errors import RemoteError
from segarena.files.hash_cache import cache_folder
from segarena.files.hashes import sha256

SUFFIX = ".sample"


@dataclass(frozen=True)
class FetchedSamples:
    """The bodies of samples.

    Args:
        server: who has them.
        run: to which they belong.
        folder: where they are kept; None: in the user's cache folder.
        limit_bytes: what they may take there.
    """

    server: Server
    run: str
    folder: Path | None = None
    limit_bytes: int = 20 * 10**9

    @cached_property
    def _kept(self) -> BlobFolder:
        return BlobFolder(
            self.folder or cache_folder() / "samples", self.limit_bytes, suffix=SUFFIX
        )

    def body(self, place: SampleInfo) -> bytes:
        """Return the body of a sample, as the server announced it.

        Raises:
            RemoteError: what the server sends is something else.
            StoreError: the folder cannot be made.
        """
        kept = self._kept.get(place.sha256)
        if kept is not None and sha256(kept) == place.sha256:
            return kept
        came = self.server.sample(self.run, place)
        if sha256(came) != place.sha256:
            raise RemoteError(
                f"{self.server.connection.server}: sample {place.key} came otherwise than announced; run it again, and "
                "tell the organiser if that goes on"
            )
        self._kept.put(place.sha256, came)
        return came
