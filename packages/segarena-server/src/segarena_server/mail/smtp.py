"""Sending queued e-mails by SMTP in a thread, so that no request waits for the mail server.

The sender claims an e-mail by postponing its due time. If the sender dies, the e-mail becomes due
again: it may arrive twice, but is never lost silently. The sender retries a failed e-mail for two
days before it gives up; the organisers' page lists such e-mails.
"""

from __future__ import annotations

import logging
import smtplib
import ssl
import threading
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from sqlalchemy import delete, select

from segarena.errors import SegarenaError
from segarena.files.hashes import sha256
from segarena_server.db.orm_models import AccessKey, QueuedEmail
from segarena_server.mail import mail_outbox
from segarena_server.server_log import LOG
from segarena_server.settings import MailSettings
from segarena_server.site import Site

_IDLE_S = 2.0
_TIMEOUT_S = 20.0
_CLAIM_S = 300.0
"""Seconds that a sender may take for a claimed e-mail."""
# The delays sum to just under two days.
_RETRY_DELAYS_S = (60.0, 300.0, 900.0, 3600.0, 3600.0 * 3, 3600.0 * 6, 3600.0 * 12, 3600.0 * 24)


class MailSender:
    """Thread that sends queued e-mails; does nothing without a configured mail server.

    Args:
        site: the site with the outbox and the settings.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)

    def start(self) -> None:
        """Start the thread if a mail server is configured."""
        if self._site.settings.mail is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread; unsent e-mails stay queued."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_TIMEOUT_S)

    def _send_all(self) -> None:
        while not self._is_over.is_set():
            try:
                if self.send_one():
                    continue
            except Exception as error:
                # Log any error and continue, because without this thread no e-mail would be sent.
                LOG.log(
                    logging.ERROR,
                    "e-mail: %s",
                    error,
                    exc_info=not isinstance(error, SegarenaError),
                )
            self._is_over.wait(_IDLE_S)

    def send_one(self) -> bool:
        """Send the next due e-mail; return whether there was one."""
        site = self._site
        now = self._site.now()
        with site.database.writing() as session:
            due = (
                select(QueuedEmail)
                .where(QueuedEmail.state == "waiting", QueuedEmail.due_at <= now)
                .order_by(QueuedEmail.due_at)
            )
            # Several servers may send from the same table; each skips the rows that another one
            # holds.
            letter = session.scalar(due.limit(1).with_for_update(skip_locked=True))
            if letter is None:
                return False
            letter.due_at = now + _CLAIM_S
            letter.tries = letter.tries + 1
            written = mail_outbox.render_email(session, letter, site.settings.address, now)
            if written is None:
                session.delete(letter)
                return True
        # Outside the transaction: a mail server may take many seconds, and SQLite has only one
        # writer.
        failure = self._send(letter.recipient, written)
        self._record_result(letter, written, failure)
        return True

    def _send(self, recipient: str, written: mail_outbox.RenderedEmail) -> str:
        """Send an e-mail; return the reason for a failure, or "" on success."""
        mail = self._site.settings.mail
        if mail is None:
            return "no mail server is configured"
        try:
            with connect_smtp(mail) as server:
                server.send_message(build_message(mail, recipient, written))
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return " ".join(str(error).split())[:200] or type(error).__name__
        return ""

    def _record_result(
        self,
        letter: QueuedEmail,
        written: mail_outbox.RenderedEmail,
        failure: str,
    ) -> None:
        """Delete a sent e-mail; for a failed one, record the reason and delete the key of its link."""
        with self._site.database.writing() as session:
            # The next attempt creates another key, so nobody will ever receive this one.
            if failure and written.key:
                session.connection().execute(
                    delete(AccessKey).where(AccessKey.hash == sha256(written.key))
                )
            kept = session.get(QueuedEmail, letter.id)
            if kept is None:
                return
            if not failure:
                session.delete(kept)
                return
            kept.failure = failure
            if kept.tries > len(_RETRY_DELAYS_S):
                kept.state = "dead"
            else:
                kept.due_at = self._site.now() + _RETRY_DELAYS_S[kept.tries - 1]
        LOG.warning("an e-mail could not be sent (try %d): %s", letter.tries, failure)


def build_message(
    mail: MailSettings,
    recipient: str,
    written: mail_outbox.RenderedEmail,
) -> EmailMessage:
    """Build the MIME message of an e-mail; a line break in a header raises ValueError."""
    message = EmailMessage()
    message["From"] = mail.sender
    message["To"] = recipient
    message["Subject"] = f"[segarena] {written.subject}"
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=mail.sender.rpartition("@")[2])
    # RFC 3834: tells vacation responders not to answer.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(written.text)
    return message


def smtp_fault(mail: MailSettings) -> str:
    """Return why the mail server is unusable, or "" if connecting and authenticating succeed."""
    try:
        with connect_smtp(mail) as server:
            server.noop()
    except (OSError, smtplib.SMTPException) as error:
        reason = " ".join(str(error).split())[:200]
        return f"mail: {mail.host}:{mail.port} accepts no e-mail: {reason}"
    return ""


def connect_smtp(mail: MailSettings) -> smtplib.SMTP:
    """Connect and authenticate to the mail server, with exactly the configured encryption."""
    tls_context = ssl.create_default_context(cafile=mail.ca_file or None)
    if mail.security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            mail.host, mail.port, timeout=_TIMEOUT_S, context=tls_context
        )
    else:
        server = smtplib.SMTP(mail.host, mail.port, timeout=_TIMEOUT_S)
    try:
        if mail.security == "starttls":
            # Raises if the server lacks STARTTLS; falling back would send the password in the
            # clear.
            server.starttls(context=tls_context)
        if mail.user:
            server.login(mail.user, mail.secret())
    except BaseException:
        server.close()
        raise
    return server
