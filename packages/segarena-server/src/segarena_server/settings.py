"""Settings of a server; `segarena_server.config_file` reads them."""

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

# Stricter than RFC 5322: no display name and no list, because the text becomes the envelope sender.
_SENDER = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits on evaluations, requests and people.

    Attributes:
        soft_s: seconds after which the server asks an evaluation to stop, which then fails.
        hard_s: seconds after which the server kills the evaluation process.
        lease_s: seconds without a heartbeat after which a job passes to another process.
        job_s: maximum duration in seconds of a job other than a turn.
        tries: maximum number of attempts at a job that fails although its input is valid.
        samples_mb: memory in MiB of a worker process for the open samples of a challenge.
        body_mb: maximum size of one answer in MiB.
        bodies_mb: maximum size of all concurrent uploads in MiB; clients must retry further ones.
        requests_per_minute: maximum per person, and per IP address for requests without a sign-in or token.
        sign_ins: maximum number of wrong passwords in 15 minutes for a name from one address; ten times
            as many for all names from one address.
        registrations: maximum number of new accounts in 15 minutes from one address; a school may have
            only one address.
        header_s: maximum seconds for receiving the request line and headers.
        idle_connections: maximum number of connections without a request in progress.
    """

    soft_s: float = 60.0
    hard_s: float = 75.0
    lease_s: float = 90.0
    job_s: float = 3600.0
    tries: int = 3
    samples_mb: float = 512.0
    body_mb: float = 256.0
    bodies_mb: float = 1024.0
    requests_per_minute: int = 3000
    sign_ins: int = 10
    registrations: int = 300
    header_s: float = 20.0
    idle_connections: int = 500


class MailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An SMTP server for outgoing e-mail.

    Attributes:
        host, port: address of the server.
        security: "starttls" or "tls"; "none" only for a server on this machine.
        user: user name; "" to send without authentication.
        password: the password; a file or the environment variable `SEGARENA_SMTP_PASSWORD` is safer.
        password_file: file with the password in its first line.
        sender: sender address of the e-mails.
        ca_file: trusted certificates in place of the system's.
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
            OSError: the password file is unreadable.
        """
        return _secret(self.password_file, self.password, "SEGARENA_SMTP_PASSWORD")

    def faults(self) -> list[str]:
        """Return one message for each invalid setting."""
        checks = [
            (not 0 < self.port < 65536, f"mail.port: expected 1 to 65535, got {self.port}"),
            (
                not _SENDER.fullmatch(self.sender),
                f"mail.sender: expected name@example.org, got {self.sender!r}",
            ),
            (
                self.security == "none" and not is_loopback(self.host),
                "mail.security: expected starttls or tls; none is only for a server on this machine",
            ),
            (
                bool(self.password_file) and not Path(self.password_file).is_file(),
                f"mail.password_file: {self.password_file} does not exist; create it, or correct the path",
            ),
            (
                bool(self.ca_file) and not Path(self.ca_file).is_file(),
                f"mail.ca_file: {self.ca_file} does not exist; create it, or correct the path",
            ),
        ]
        return [message for is_wrong, message in checks if is_wrong]


class SubmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits on submissions, and the sandbox for submitted programs.

    Attributes:
        sandbox: "bwrap", or a sandbox command; see `segarena.segmenters.workers.sandbox`.
        python: Python interpreter that runs the programs, with the packages they need; by default the
            server's.
        reads: further files and folders that programs may read.
        devices: patterns of device files that programs may use, such as "/dev/nvidia*" for GPUs.
        memory_gb, disk_gb, processes: maximum resources of a program.
        start_s: maximum start time in seconds.
        answer_s: maximum time for an answer in seconds.
        file_mb: maximum size of an uploaded file in MiB.
        unpacked_gb: maximum size of an unpacked submission in GB.
        files: maximum number of files in an uploaded zip.
    """

    sandbox: str = "bwrap"
    python: str = ""
    reads: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    memory_gb: float = 8.0
    disk_gb: float = 1.0
    processes: int = 256
    start_s: float = 120.0
    answer_s: float = 60.0
    file_mb: float = 512.0
    unpacked_gb: float = 8.0
    files: int = 20_000


class OidcSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An OpenID Connect provider for signing in.

    Attributes:
        issuer: its issuer identifier, an https address.
        client_id: identifier of this server at the provider.
        client_secret: the secret; a file or the environment variable `SEGARENA_OIDC_SECRET` is safer.
        client_secret_file: file with the secret in its first line.
        name: label of the button: "Sign in with NAME".
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    client_secret_file: str = ""
    name: str = "your institution"

    def secret(self) -> str:
        """Return the client secret.

        Raises:
            OSError: the secret file is unreadable.
        """
        return _secret(self.client_secret_file, self.client_secret, "SEGARENA_OIDC_SECRET")

    def faults(self) -> list[str]:
        """Return one message for each invalid setting."""
        parts = urlsplit(self.issuer)
        file = self.client_secret_file
        # Discovery over plain HTTP would let anyone on the network replace the provider's keys.
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
        checks = [
            (
                not is_safe or not parts.hostname or bool(parts.query),
                f"oidc.issuer: expected https://..., got {self.issuer!r}",
            ),
            (
                not self.client_id,
                "oidc.client_id: expected the identifier that the provider assigned to this server",
            ),
            (
                bool(file) and not Path(file).is_file(),
                f"oidc.client_secret_file: {file} does not exist; create it, or correct the path",
            ),
        ]
        return [message for is_wrong, message in checks if is_wrong]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one server process.

    Attributes:
        host: listening address.
        port: listening port; 0 for a free one.
        url: public address; required if other machines can reach the host.
        db: `postgresql://...`; "" for the file in the data folder.
        storage: `s3://bucket/folder` for samples and runs of servers on several machines; "" for the
            data folder.
        workers: evaluation processes; 0 leaves evaluation and jobs to other servers of the database.
        long_workers: additional processes for long jobs.
        registration: "open" lets everyone register and wait for an organiser's confirmation; "invited"
            requires an invitation.
        second_factor: "optional" leaves the second factor to each person; "admins" requires it of
            admins, "organisers" of organisers and admins.
        behind_proxy: whether a proxy on this machine passes on the client address.
        roots: folders whose files organisers may name on pages; none by default.
        segmenters: further segmenters that assist annotation in the studio, `NAME=PLUGIN` or `PLUGIN`.
        limits: see `Limits`.
        mail: see `MailSettings`; without it the server sends no e-mail, and pages show links for copying.
        sent: see `SubmissionSettings`.
        oidc: see `OidcSettings`; needs the extra `oidc`.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    url: str = ""
    db: str = ""
    storage: str = ""
    workers: int = 1
    long_workers: int = 1
    registration: Literal["open", "invited"] = "open"
    second_factor: Literal["optional", "admins", "organisers"] = "optional"
    behind_proxy: bool = False
    roots: tuple[str, ...] = ()
    segmenters: tuple[str, ...] = ()
    limits: Limits = Limits()
    mail: MailSettings | None = None
    sent: SubmissionSettings = SubmissionSettings()
    oidc: OidcSettings | None = None

    @property
    def address(self) -> str:
        """The public address, without a trailing slash."""
        # IPv6 addresses need brackets in a URL.
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the public address is one that only this machine can open."""
        return is_loopback(urlsplit(self.address).hostname or "")

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed Host headers; any other value may be an attempt at DNS rebinding."""
        hosts = {self.host, *LOOPBACK}
        public_host = urlsplit(self.url).hostname if self.url else None
        if public_host:
            hosts.add(public_host)
        return frozenset(hosts)

    @property
    def is_secure(self) -> bool:
        """Whether the public address uses TLS; session cookies are then sent over TLS only."""
        return self.url.startswith("https://")

    def faults(self) -> list[str]:
        """Return one message for each invalid setting."""
        checks = [
            (
                self.url and not _is_url(self.url),
                f"url: expected https://host or http://host, got {self.url!r}",
            ),
            (not 0 <= self.port < 65536, f"port: expected 0 to 65535, got {self.port}"),
            (
                self.storage and not self.db,
                "storage: expected a --db in PostgreSQL too, because several machines share the storage",
            ),
            (self.workers < 0, f"workers: expected 0 or more, got {self.workers}"),
            (self.long_workers < 1, f"long_workers: expected 1 or more, got {self.long_workers}"),
            (
                not self.url and not is_loopback(self.host),
                f"host {self.host} is reachable from other machines: expected the public address, e.g. --url "
                "https://challenge.example.org",
            ),
            (
                # An evaluation must end by itself, or be killed, before its lease passes to another
                # process; otherwise two processes could evaluate the same turn.
                not 0 < self.limits.soft_s < self.limits.hard_s < self.limits.lease_s,
                f"limits: expected 0 < soft_s < hard_s < lease_s, got {self.limits.soft_s:g}, "
                f"{self.limits.hard_s:g}, "
                f"{self.limits.lease_s:g}",
            ),
            (
                any(value <= 0 for value in msgspec.structs.astuple(self.limits)),
                "limits: expected values above 0",
            ),
            (
                # An upload above the common budget could never start, however often the client
                # retried.
                self.limits.bodies_mb < max(self.limits.body_mb, self.sent.file_mb),
                "limits.bodies_mb: expected at least limits.body_mb and sent.file_mb, so that one upload fits, got "
                f"{self.limits.bodies_mb:g}",
            ),
            (
                any(
                    value <= 0
                    for value in msgspec.structs.asdict(self.sent).values()
                    if isinstance(value, float)
                )
                or min(self.sent.processes, self.sent.files) < 1,
                "sent: expected limits above 0",
            ),
        ]
        faults = [message for is_wrong, message in checks if is_wrong]
        if self.mail is not None:
            faults += self.mail.faults()
        if self.oidc is not None:
            faults += self.oidc.faults()
        for segmenter in self.segmenters:
            fault = _plugin_fault(segmenter)
            if fault:
                faults.append(f"segmenters: {fault}")
        return faults


def _plugin_fault(plugin: str) -> str:
    """Return why a plug-in specification is invalid, or "" if it is valid."""
    try:
        PluginSpec.named(plugin)
    except PluginInvalid as error:
        return str(error)
    return ""


def _secret(
    file: str,
    value: str,
    variable: str,
) -> str:
    """Read a secret from a file, the settings or the environment; the first one that is set wins."""
    if file:
        # Only the first line, and stripped, because editors append a line break.
        return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    return value or os.environ.get(variable, "")


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address."""
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
