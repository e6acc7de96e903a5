"""Cache of downloaded samples, keyed by the hash of their content and shared by all runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from segarena.client.challenge_server_api import SampleInfo, Server
from segarena.engine.disk_cache import BlobFolder
from segarena.errors import RemoteError
from segarena.files.cache_folder import cache_folder
from segarena.files.hashes import sha256

SUFFIX = ".sample"


@dataclass(frozen=True)
class SampleCache:
    """The packed samples of a run.

    Args:
        server: the server to download from.
        run: id of the run.
        folder: folder of the cache; None takes the user's cache folder.
        limit_bytes: size limit of the folder.
    """

    server: Server
    run: str
    folder: Path | None = None
    limit_bytes: int = 20 * 10**9

    @cached_property
    def _blobs(self) -> BlobFolder:
        return BlobFolder(
            self.folder or cache_folder() / "samples", self.limit_bytes, suffix=SUFFIX
        )

    def body(self, info: SampleInfo) -> bytes:
        """Return a packed sample with the announced hash, downloaded if necessary.

        Raises:
            RemoteError: the download fails, or its hash differs.
            StoreError: the folder cannot be created.
        """
        cached = self._blobs.get(info.sha256)
        if cached is not None and sha256(cached) == info.sha256:
            return cached
        downloaded = self.server.sample(self.run, info)
        if sha256(downloaded) != info.sha256:
            raise RemoteError(
                f"{self.server.connection.server}: sample {info.key} differs from its announced hash; "
                "repeat the command, and tell the organiser if this persists"
            )
        self._blobs.put(info.sha256, downloaded)
        return downloaded
