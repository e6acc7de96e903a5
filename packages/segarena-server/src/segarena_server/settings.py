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

_SENDER = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits on evaluations, requests and people.

    Attributes:
        soft_s: seconds after which an evaluation is asked to stop, and fails.
        hard_s: seconds after which its process is killed.
        lease_s: seconds without a sign of life after which a job goes to another process.
        job_s: maximum duration in seconds of a job other than a turn.
        tries: maximum number of tries of a job whose process dies or hangs.
        body_mb: maximum size of one answer in MiB.
        bodies_mb: maximum size of all concurrent uploads in MiB; further ones must be retried.
        requests_per_minute: maximum per person, and per address without a token.
        sign_ins: wrong passwords in 15 minutes, per name and per address.
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
    """An SMTP server for outgoing e-mail.

    Attributes:
        host, port: its address.
        security: "starttls" or "tls"; "none" only for a server on this machine.
        user: "" to send without signing in.
        password: better in a file, or in the environment as `SEGARENA_SMTP_PASSWORD`.
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
            OSError: the password file cannot be read.
        """
        return _secret(self.password_file, self.password, "SEGARENA_SMTP_PASSWORD")

    def faults(self) -> list[str]:
        """Return the invalid settings, one line each."""
        checks = [
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
        return [message for is_wrong, message in checks if is_wrong]


class SubmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits on submissions, and the sandbox of submitted programs.

    Attributes:
        sandbox: "bwrap", or a sandbox command; see `segarena.segmenters.workers.sandbox`.
        python: Python interpreter of programs, with their packages; by default the server's.
        reads: further files and folders that programs may read.
        memory_gb, disk_gb, processes: resources of a program.
        start_s: maximum start time in seconds.
        answer_s: maximum time of an answer in seconds.
        file_mb: maximum size of an uploaded file in MiB.
        unpacked_gb: maximum size of an unpacked program or run in GiB.
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
    """An OpenID Connect provider for signing in.

    Attributes:
        issuer: its issuer identifier, an https address.
        client_id: identifier of this server at the provider.
        client_secret: better in a file, or in the environment as `SEGARENA_OIDC_SECRET`.
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
            OSError: the secret file cannot be read.
        """
        return _secret(self.client_secret_file, self.client_secret, "SEGARENA_OIDC_SECRET")

    def faults(self) -> list[str]:
        """Return the invalid settings, one line each."""
        parts = urlsplit(self.issuer)
        file = self.client_secret_file
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
        checks = [
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
        return [message for is_wrong, message in checks if is_wrong]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one server process.

    Attributes:
        host: listening address.
        port: listening port; 0 for a free one.
        url: public address; required unless only this machine reaches the host.
        db: `postgresql://...`; "" for the file in the data folder.
        storage: `s3://bucket/folder` for samples and runs of servers on several machines; "" for the
            data folder.
        workers: evaluation processes; 0 leaves evaluation and jobs to other servers of the database.
        long_workers: additional processes for long jobs.
        registration: "open" lets everyone register and wait for confirmation; "invited" requires an
            invitation.
        behind_proxy: whether a proxy on this machine passes on the client address.
        roots: folders whose files organisers may name on pages; none by default.
        segmenters: further segmenters that assist annotation in the studio, `NAME=PLUGIN` or `PLUGIN`.
        limits: see `Limits`.
        mail: see `MailSettings`; without it no e-mail is sent, and pages show links for copying.
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
    behind_proxy: bool = False
    roots: tuple[str, ...] = ()
    segmenters: tuple[str, ...] = ()
    limits: Limits = Limits()
    mail: MailSettings | None = None
    sent: SubmissionSettings = SubmissionSettings()
    oidc: OidcSettings | None = None

    @property
    def address(self) -> str:
        """The public address, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """Allowed Host headers; others indicate DNS rebinding."""
        hosts = {self.host, *LOOPBACK}
        public_host = urlsplit(self.url).hostname if self.url else None
        if public_host:
            hosts.add(public_host)
        return frozenset(hosts)

    @property
    def is_secure(self) -> bool:
        """Whether the public address uses TLS, so that cookies are restricted to it."""
        return self.url.startswith("https://")

    def faults(self) -> list[str]:
        """Return the invalid settings, one line each."""
        checks = [
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
    """Return why the text of a plug-in is invalid; "" when it is valid."""
    try:
        PluginSpec.named(plugin)
    except PluginInvalid as error:
        return str(error)
    return ""


def _secret(file: str, value: str, variable: str) -> str:
    """Return a secret from a file, the settings or the environment, in this order."""
    if file:
        return Path(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    return value or os.environ.get(variable, "")


def is_loopback(host: str) -> bool:
    """Tell whether a host is a loopback address."""
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
