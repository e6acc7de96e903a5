"""Second factor of a sign-in: time-based one-time passwords (RFC 6238) and recovery codes."""

from __future__ import annotations

import base64
import hmac
import secrets

from pyotp.totp import TOTP
from pyotp.utils import strings_equal
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import end_keys
from segarena_server.db.orm_models import AccessKey, RecoveryCode, SecondFactor

RECOVERY_CODES = 10
_STEP_S = 30
"""Default time step of RFC 6238, section 5.2, which all common apps use."""
_STEPS = (-1, 0, 1)
"""Steps relative to the current one that are accepted; RFC 6238, section 5.2, recommends at most one for delays."""
_SECRET_BYTES = 20
"""RFC 4226, section 4, recommends secrets of 160 bits."""
# 80 random bits cannot be guessed, so a plain hash is enough, as for access keys.
_RECOVERY_BYTES = 10
_RECOVERY_GROUP = 4
_CODE_DIGITS = 6
_MAX_LENGTH = 40


def needs_code(session: Session, person_id: int) -> bool:
    """Return whether an account has switched a second factor on."""
    factor = session.get(SecondFactor, person_id)
    return factor is not None and factor.confirmed_at is not None


def begin_set_up(
    session: Session,
    server_secret: bytes,
    person_id: int,
    now: float,
) -> str | None:
    """Start to set up a second factor and return its secret in base32, or None if one is already switched on.

    A secret that was never confirmed becomes invalid.
    """
    factor = session.get(SecondFactor, person_id, with_for_update=True)
    if factor is not None and factor.confirmed_at is not None:
        return None
    if factor is None:
        factor = SecondFactor(person_id=person_id)
        session.add(factor)
    factor.nonce = secrets.token_hex(32)
    factor.made_at = now
    # The new secret has new codes, none of which has been used.
    factor.last_step = 0
    session.flush()
    return _secret(server_secret, factor)


def confirm_set_up(
    session: Session,
    server_secret: bytes,
    person_id: int,
    code: str,
    now: float,
    *,
    keep: AccessKey | None = None,
) -> list[str] | None:
    """Switch a second factor on with its first code; return new recovery codes, or None if the code is wrong.

    All sessions except `keep` end, because they started without a code.
    """
    factor = session.get(SecondFactor, person_id, with_for_update=True)
    if factor is None or factor.confirmed_at is not None:
        return None
    if not _use_code(session, server_secret, factor, code, now):
        return None
    factor.confirmed_at = now
    for key in session.scalars(
        select(AccessKey).where(AccessKey.person_id == person_id, AccessKey.kind == "session")
    ):
        if keep is None or key.id != keep.id:
            key.ended_at = key.ended_at or now
    return make_recovery_codes(session, person_id)


def verify_code(
    session: Session,
    server_secret: bytes,
    person_id: int,
    text: str,
    now: float,
) -> bool:
    """Return whether a code from the app or a recovery code is right, and use it up.

    Both kinds work once. A code from the app is also rejected if a later one has been used.

    Args:
        session: a session for writing.
        server_secret: the secret of the server.
        person_id: id of the account.
        text: the code as typed, with or without spaces and dashes.
        now: the current time.
    """
    factor = session.get(SecondFactor, person_id)
    if factor is None or factor.confirmed_at is None:
        return False
    code = _plain(text)
    if len(code) == _CODE_DIGITS:
        return _use_code(session, server_secret, factor, code, now)
    unused = update(RecoveryCode).where(
        RecoveryCode.person_id == person_id,
        RecoveryCode.hash == sha256(code),
        RecoveryCode.used_at.is_(None),
    )
    # A single statement, so that of two concurrent requests only one can use the code.
    if session.connection().execute(unused.values(used_at=now)).rowcount != 1:
        return False
    left = codes_left(session, person_id)
    record_event(session, now, "recovery code used", f"{left} left", person_id=person_id)
    return True


def make_recovery_codes(session: Session, person_id: int) -> list[str]:
    """Replace the recovery codes of an account and return the new ones, which are stored as hashes."""
    session.connection().execute(delete(RecoveryCode).where(RecoveryCode.person_id == person_id))
    codes: list[str] = []
    for _ in range(RECOVERY_CODES):
        plain = base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode()
        session.add(RecoveryCode(person_id=person_id, hash=sha256(plain)))
        starts = range(0, len(plain), _RECOVERY_GROUP)
        codes.append("-".join(plain[start : start + _RECOVERY_GROUP] for start in starts))
    return codes


def codes_left(session: Session, person_id: int) -> int:
    """Return the number of unused recovery codes."""
    unused = select(func.count(RecoveryCode.id)).where(
        RecoveryCode.person_id == person_id, RecoveryCode.used_at.is_(None)
    )
    return session.scalar(unused) or 0


def remove_second_factor(
    session: Session,
    person_id: int,
    now: float,
) -> bool:
    """Remove the second factor and the recovery codes of an account; return whether the factor was on."""
    was_on = needs_code(session, person_id)
    connection = session.connection()
    connection.execute(delete(RecoveryCode).where(RecoveryCode.person_id == person_id))
    connection.execute(delete(SecondFactor).where(SecondFactor.person_id == person_id))
    # The statements above bypass the session, which may still hold the deleted rows.
    session.expire_all()
    end_keys(session, person_id, now, kind="factor")
    return was_on


def provisioning_uri(
    secret: str,
    name: str,
    issuer: str,
) -> str:
    """Return the otpauth URI that the QR code shows to apps."""
    return TOTP(secret).provisioning_uri(name=name, issuer_name=issuer)


def _use_code(
    session: Session,
    server_secret: bytes,
    factor: SecondFactor,
    text: str,
    now: float,
) -> bool:
    """Return whether a code belongs to a time step after the last used step; mark its step as used."""
    totp = TOTP(_secret(server_secret, factor), interval=_STEP_S)
    code = _plain(text)
    for offset in _STEPS:
        step = int(now) // _STEP_S + offset
        # Compare in constant time, so that timing does not reveal leading digits.
        if not strings_equal(code, totp.at(step * _STEP_S)):
            continue
        later = update(SecondFactor).where(
            SecondFactor.person_id == factor.person_id, SecondFactor.last_step < step
        )
        # A single statement, so that of two concurrent requests only one can use the code.
        if session.connection().execute(later.values(last_step=step)).rowcount == 1:
            return True
    return False


def _secret(server_secret: bytes, factor: SecondFactor) -> str:
    """Return the secret of an account in base32.

    The secret is derived from the server's secret, which SQLite databases do not contain, so a copy
    of the database file alone yields no codes.
    """
    purpose = f"second factor:{factor.person_id}:{factor.nonce}"
    digest = hmac.digest(server_secret, purpose.encode(), "sha256")
    return base64.b32encode(digest[:_SECRET_BYTES]).decode()


def _plain(text: str) -> str:
    """Return a typed code in upper case, without spaces and dashes."""
    return "".join(text[:_MAX_LENGTH].replace("-", " ").split()).upper()
