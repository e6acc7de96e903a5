"""Sends letters by SMTP, from a thread of its own: whatever the mail server does, no request waits for it.

A letter is taken by pushing the time when it is due, so that one whose sender dies is due again; it may come twice,
and never not at all without saying so. What was refused is tried again for two days, then given up, which the page
of the organiser tells.
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
from segarena_server.http.middleware import LOG
from segarena_server.mail import mail_outbox
from segarena_server.settings import MailSettings
from segarena_server.site import Site

_IDLE_S = 2.0
_PATIENCE_S = 20.0
_TAKEN_S = 300.0
"""So long whoever took a letter has for sending it."""
_AGAIN_S = (60.0, 300.0, 900.0, 3600.0, 3600.0 * 3, 3600.0 * 6, 3600.0 * 12, 3600.0 * 24)


class MailSender:
    """The thread that sends, where a mail server is set.

    Args:
        site: whose letters.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)

    def start(self) -> None:
        """Begin, if there is anywhere to send to."""
        if self._site.settings.mail is not None:
            self._thread.start()

    def stop(self) -> None:
        """End; what was not sent stays for the next start."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_S)

    def _send_all(self) -> None:
        while not self._is_over.is_set():
            try:
                if self.send_one():
                    continue
            except Exception as error:  # a thread that ends sends nothing any more
                LOG.log(
                    logging.ERROR,
                    "letters: %s",
                    error,
                    exc_info=not isinstance(error, SegarenaError),
                )
            self._is_over.wait(_IDLE_S)

    def send_one(self) -> bool:
        """Send the letter that is due; return whether there was one."""
        site = self._site
        now = self._site.now()
        with site.database.writing() as session:
            due = (
                select(QueuedEmail)
                .where(QueuedEmail.state == "waiting", QueuedEmail.due_at <= now)
                .order_by(QueuedEmail.due_at)
            )
            letter = session.scalar(due.limit(1).with_for_update(skip_locked=True))
            if letter is None:
                return False
            letter.due_at = now + _TAKEN_S
            letter.tries = letter.tries + 1
            written = mail_outbox.render_email(session, letter, site.settings.address, now)
            if written is None:
                session.delete(letter)
                return True
        self._note(letter, written, self._failure(letter.recipient, written))
        return True

    def _failure(self, recipient: str, written: mail_outbox.RenderedEmail) -> str:
        """Send a letter; return why it could not be, "" when it was."""
        mail = self._site.settings.mail
        if mail is None:
            return "no mail server is set"
        try:
            with connect_smtp(mail) as server:
                server.send_message(build_message(mail, recipient, written))
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return " ".join(str(error).split())[:200] or type(error).__name__
        return ""

    def _note(self, letter: QueuedEmail, written: mail_outbox.RenderedEmail, failure: str) -> None:
        """Note what became of a letter; one that was sent goes, and so does the key of one that was not."""
        with self._site.database.writing() as session:
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
            if kept.tries > len(_AGAIN_S):
                kept.state = "dead"
            else:
                kept.due_at = self._site.now() + _AGAIN_S[kept.tries - 1]
        LOG.warning("a letter could not be sent (try %d): %s", letter.tries, failure)


def build_message(
    mail: MailSettings, recipient: str, written: mail_outbox.RenderedEmail
) -> EmailMessage:
    """Return a letter as a message; what could begin a line of its own in a header raises ValueError."""
    message = EmailMessage()
    message["From"] = mail.sender
    message["To"] = recipient
    message["Subject"] = f"[segarena] {written.subject}"
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=mail.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(written.text)
    return message


def smtp_fault(mail: MailSettings) -> str:
    """Return why a mail server takes no letters of ours; "" when it does, as far as can be told without one."""
    try:
        with connect_smtp(mail) as server:
            server.noop()
    except (OSError, smtplib.SMTPException) as error:
        return (
            f"mail: {mail.host}:{mail.port} takes no letters: {' '.join(str(error).split())[:200]}"
        )
    return ""


def connect_smtp(mail: MailSettings) -> smtplib.SMTP:
    """Return a connection, signed in, encrypted as it was set: never less."""
    trusted = ssl.create_default_context(cafile=mail.ca_file or None)
    if mail.security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            mail.host, mail.port, timeout=_PATIENCE_S, context=trusted
        )
    else:
        server = smtplib.SMTP(mail.host, mail.port, timeout=_PATIENCE_S)
    try:
        if mail.security == "starttls":
            server.starttls(context=trusted)
        if mail.user:
            server.login(mail.user, mail.secret())
    except BaseException:
        server.close()
        raise
    return server
