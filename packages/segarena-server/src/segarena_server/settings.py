"""What an organiser can set; read by `segarena_server.config_file`."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from segarena.errors import PluginInvalid
from segarena.plugin_spec import PluginSpec

_SENDER = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one evaluation, one request and one person may take.

    Attributes:
        soft_s: an evaluation that takes longer is told to stop, and fails.
        hard_s: after this its process is ended.
        lease_s: a job of which nothing was heard for so long is handed to another process.
        job_s: a job other than a turn is ended after so long.
        tries: how often a job is tried, when its process dies or hangs.
        body_mb: the most that one answer may have.
        bodies_mb: the most that all answers and files may have that come in at once; more are told to come again.
        requests_per_minute: of one person, and of one address that shows no token.
        sign_ins: wrong passwords in a quarter of an hour, for one name and from one address.
    """

    soft_s: float = 60.0
    hard_s: float = 75.0
    lease_s: float = 90.0
    job_s: float = 3600.0
    tries: int = 3
    body_mb: float = 256.0
    bodies_mb: float = 1024.0
    requests_per_minute: int = 3000
    sign_ins: int = 10


class MailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mail server that takes letters for everybody.

    Attributes:
        host, port: of it.
        security: "starttls" or "tls"; "none" only for one on this machine.
        user: "" signs in as nobody.
        password: better in a file, or in the environment as `SEGARENA_SMTP_PASSWORD`.
        password_file: of which the first line is the password.
        sender: whom letters are from.
        ca_file: certificates that are trusted in place of those of this machine.
    """

    host: str
    sender: str
    port: int = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: str = ""
    password_file: str = ""
    ca_file: str = ""

    def secret(self) -> str:
        """Return the password.

        Raises:
            OSError: the file cannot be read.
        """
        return _secret(self.password_file, self.password, "SEGARENA_SMTP_PASSWORD")

    def faults(self) -> list[str]:
        """Return what is wrong, a line each."""
        told = [
            (not 0 < self.port < 65536, f"mail.port: expected 1 to 65535, got {self.port}"),
            (
                not _SENDER.fullmatch(self.sender),
                f"mail.sender: expected name@example.org, got {self.sender!r}",
            ),
            (
                self.security == "none" and not is_loopback(self.host),
                "mail.security: none is for this machine alone",
            ),
            (
                bool(self.password_file) and not Path(self.password_file).is_file(),
                f"mail.password_file: there is no {self.password_file}",
            ),
            (
                bool(self.ca_file) and not Path(self.ca_file).is_file(),
                f"mail.ca_file: there is no {self.ca_file}",
            ),
        ]
        return [message for is_wrong, message in told if is_wrong]


class SubmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What participants may send to be judged here, and how their programs are confined.

    Attributes:
        sandbox: "bwrap", or a command that confines programs; see `segarena.segmenters.workers.sandbox`.
        python: the interpreter of programs, with the packages that they have; by default that of the server.
        reads: further files and folders that programs may read.
        memory_gb, disk_gb, processes: what a program may have.
        start_s: what starting it may take.
        answer_s: an answer of a program that takes longer is a failure.
        file_mb: the most that one file may have.
        unpacked_gb: the same of a program or a run, unpacked.
    """

    sandbox: str = "bwrap"
    python: str = ""
    reads: tuple[str, ...] = ()
    memory_gb: float = 8.0
    disk_gb: float = 1.0
    processes: int = 256
    start_s: float = 120.0
    answer_s: float = 60.0
    file_mb: float = 512.0
    unpacked_gb: float = 8.0


class OidcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A provider of OpenID Connect whose accounts people may sign in with.

    Attributes:
        issuer: as it calls itself, an https address.
        client_id: as it calls this server.
        client_secret: better in a file, or in the environment as `SEGARENA_OIDC_SECRET`.
        client_secret_file: of which the first line is the secret.
        name: what people call it: "Sign in with NAME".
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    client_secret_file: str = ""
    name: str = "your institution"

    def secret(self) -> str:
        """Return the secret.

        Raises:
            OSError: the file cannot be read.
        """
        return _secret(self.client_secret_file, self.client_secret, "SEGARENA_OIDC_SECRET")

    def faults(self) -> list[str]:
        """Return what is wrong, a line each."""
        parts = urlsplit(self.issuer)
        file = self.client_secret_file
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
        told = [
            (
                not is_safe or not parts.hostname or bool(parts.query),
                f"oidc.issuer: expected https://..., got {self.issuer!r}",
            ),
            (not self.client_id, "oidc.client_id: expected what the provider calls this server"),
            (
                bool(file) and not Path(file).is_file(),
                f"oidc.client_secret_file: there is no {file}",
            ),
        ]
        return [message for is_wrong, message in told if is_wrong]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of one serving process.

    Attributes:
        host: the address that is listened at.
        port: 0 takes a free one.
        url: what people open in a browser; needed when the host is not this machine alone.
        db: `postgresql://...`; "" for the file in the data folder.
        storage: `s3://bucket/folder`, where servers of several machines keep samples and runs; "" for the data folder.
        workers: processes that evaluate; 0 leaves that, and all jobs, to other servers of the same database.
        long_workers: processes beside them for jobs that may take long.
        registration: "open" takes whoever an organiser confirms, "invited" only those with an invitation.
        behind_proxy: whether a proxy on this machine tells the address of whoever asks.
        roots: folders below which whoever makes a challenge on a page may name files; none by default.
        segmenters: what may help people draw in the studio beside what needs no weights, `NAME=PLUGIN` or `PLUGIN`.
        limits: see `Limits`.
        mail: see `MailSettings`; without it nothing is sent, and links are for copying.
        sent: see `SubmissionSettings`.
        oidc: see `OidcSettings`; needs the extra of that name.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    url: str = ""
    db: str = ""
    storage: str = ""
    workers: int = 1
    long_workers: int = 1
    registration: Literal["open", "invited"] = "open"
    behind_proxy: bool = False
    roots: tuple[str, ...] = ()
    segmenters: tuple[str, ...] = ()
    limits: Limits = Limits()
    mail: MailSettings | None = None
    sent: SubmissionSettings = SubmissionSettings()
    oidc: OidcSettings | None = None

    @property
    def address(self) -> str:
        """Where people find the server, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may name as its host; whatever else comes was sent here by a trick."""
        named = urlsplit(self.url).hostname if self.url else None
        return frozenset({self.host, *LOOPBACK, *((named,) if named else ())})

    @property
    def is_secure(self) -> bool:
        """Whether people come by TLS, so that cookies are kept to it."""
        return self.url.startswith("https://")

    def faults(self) -> list[str]:
        """Return what is wrong, a line each."""
        told = [
            (
                self.url and not _is_url(self.url),
                f"url: expected https://host or http://host, got {self.url!r}",
            ),
            (not 0 <= self.port < 65536, f"port: expected 0 to 65535, got {self.port}"),
            (
                self.storage and not self.db,
                "storage: several machines share it, and need a --db in PostgreSQL too",
            ),
            (self.workers < 0, f"workers: expected 0 or more, got {self.workers}"),
            (self.long_workers < 1, f"long_workers: expected 1 or more, got {self.long_workers}"),
            (
                not self.url and not is_loopback(self.host),
                f"host {self.host} is reached from elsewhere: say by which address, e.g. --url https://challenge.example.org",
            ),
            (
                not 0 < self.limits.soft_s < self.limits.hard_s < self.limits.lease_s,
                f"limits: expected 0 < soft_s < hard_s < lease_s, got {self.limits.soft_s:g}, {self.limits.hard_s:g}, "
                f"{self.limits.lease_s:g}",
            ),
            (
                any(value <= 0 for value in msgspec.structs.astuple(self.limits)),
                "limits: each must be above 0",
            ),
            (
                self.limits.bodies_mb < max(self.limits.body_mb, self.sent.file_mb),
                "limits.bodies_mb: expected at least what one may have, limits.body_mb and sent.file_mb, got "
                f"{self.limits.bodies_mb:g}",
            ),
            (
                any(
                    value <= 0
                    for value in msgspec.structs.asdict(self.sent).values()
                    if isinstance(value, float)
                )
                or self.sent.processes < 1,
                "sent: limits must be above 0",
            ),
        ]
        of_others = [
            fault for one in (self.mail, self.oidc) if one is not None for fault in one.faults()
        ]
        unread = [f"segmenters: {fault}" for text in self.segmenters if (fault := _fault_of(text))]
        return [*(message for is_wrong, message in told if is_wrong), *of_others, *unread]


def _fault_of(plugin: str) -> str:
    """Return what is wrong with the text of a plug-in; "" when it can be read."""
    try:
        PluginSpec.named(plugin)
    except PluginInvalid as error:
        return str(error)
    return ""


def _secret(file: str, told: str, variable: str) -> str:
    """Return a secret: of a file, of the settings, or of the environment."""
    if file:
        return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    return told or os.environ.get(variable, "")


def is_loopback(host: str) -> bool:
    """Tell whether a host is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK


def _is_url(text: str) -> bool:
    parts = urlsplit(text)
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and parts.path in ("", "/")
        and not parts.query
    )
