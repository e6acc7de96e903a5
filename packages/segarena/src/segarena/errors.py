"""Exceptions that segarena raises deliberately.

    SegarenaError                 base class of all others
    ├── InvalidInput (ValueError) an argument has the wrong shape, type or content
    │   ├── InvalidImage
    │   ├── InvalidMask
    │   └── InvalidPrompt
    ├── DatasetError              a dataset on disk is missing, incomplete or malformed
    │   ├── DatasetMissing        the folder of the dataset, or a file in it, is missing
    │   ├── SampleInvalid         one sample is unusable; the run continues with the others
    │   └── LoadingFailed         a sample could not be loaded, or its dialogues not opened
    ├── PluginError
    │   ├── UnknownPlugin         no plug-in has this name; the message lists similar ones
    │   ├── PluginInvalid         found, but cannot be built (wrong options, import fails)
    │   ├── UntrustedPlugin       a run opened for reading names code outside segarena
    │   ├── SharedArrayModified   a plug-in wrote into a shared array
    │   └── MissingExtra          an optional dependency is not installed
    ├── SegmenterError            a segmenter gave no valid answer; recorded as a failure
    │   ├── PredictionInvalid (ValueError) wrong shape, NaN, wrong number of predictions
    │   └── PredictTimeout        no answer within the time limit
    ├── ProtocolViolation (RuntimeError) session methods were called in the wrong order
    ├── WorkError                 a job, or one unit of it, failed
    │   ├── WorkersInvalid        worker processes cannot start, or cannot run this job
    │   ├── UnitFailed            a unit raised an exception that is not a `SegarenaError`
    │   ├── UnitHung              a unit timed out; its process was killed
    │   ├── UnitDied              the process of a unit died, and so did that of the retry
    │   ├── EarlierStateMissing   the state to resume from is missing; restart from the beginning
    │   └── WorkStopped           the whole job cannot continue; finished units are kept
    │       └── RemoteError       a server is unreachable or rejects a request
    └── StoreError                a folder or file cannot be written, or its content is unusable
        ├── StoreUnavailable      temporary: the disk is full or the storage does not respond
        ├── RunConflict           the folder contains other work or is in use
        └── RunMissing            the folder contains no run

Each message states, in one line, what was expected, what was found and what to do.
"""

from __future__ import annotations

import re

_MOST_QUOTED = 200
"""Maximum length of a quotation from a file in a message, in characters."""

_QUOTATIONS = (
    r"""(?<!\w)(?:'[^'\n]{200,}'|"[^"\n]{200,}"|`[^`\n]{200,}`)(?!\w)|\[['"][^\]]{200,}\]"""
)
"""Regular expression for quoted strings, and lists of them, longer than `_MOST_QUOTED`; used on long messages."""


class SegarenaError(Exception):
    """Base class of all exceptions that segarena raises deliberately.

    The message shortens long quotations: values in quotation marks, and the message of the
    exception that caused this one, which a decoder may have filled with the content of a file.
    """

    _is_about_files = True

    def __str__(self) -> str:
        """Return the message, in which no quotation is longer than 200 characters."""
        message = super().__str__()
        if len(message) <= _MOST_QUOTED:
            return message
        cause = self.__cause__
        if self._is_about_files and cause is not None and not isinstance(cause, SegarenaError):
            text = str(cause)
            for quotation in (repr(cause), text, text.partition("\n")[0]):
                if len(quotation) > _MOST_QUOTED:
                    message = message.replace(quotation, _shorten(quotation))
        return re.sub(_QUOTATIONS, lambda match: _shorten(match[0]), message)


def _shorten(quotation: str) -> str:
    """Shorten a text by omitting its middle: decoders put the reason first, and the position last."""
    first = _MOST_QUOTED * 2 // 3
    last = _MOST_QUOTED - first - len(" ... ")
    return f"{quotation[:first]} ... {quotation[-last:]}"


class InvalidInput(SegarenaError, ValueError):
    """An argument has the wrong shape, type or content."""


class InvalidImage(InvalidInput):
    """An image is unreadable or not of a supported shape or type."""


class InvalidMask(InvalidInput):
    """A mask is unreadable or not of a supported shape, type or encoding."""


class InvalidPrompt(InvalidInput):
    """A prompt lies outside the sample or has impossible coordinates."""


class DatasetError(SegarenaError):
    """A dataset on disk is missing, incomplete or malformed."""


class DatasetMissing(DatasetError):
    """The folder of the dataset, or a file in it, is missing."""


class SampleInvalid(DatasetError):
    """One sample is unusable; the run continues with the others."""


class LoadingFailed(DatasetError):
    """A sample could not be loaded, or its dialogues could not be opened."""


class PluginError(SegarenaError):
    """A plug-in cannot be found or built."""

    # Its cause may be an exception of the plug-in, whose message matters as a whole.
    _is_about_files = False


class UnknownPlugin(PluginError):
    """No plug-in has this name."""


class PluginInvalid(PluginError, ValueError):
    """A plug-in was found but cannot be built."""


class UntrustedPlugin(PluginError):
    """A run folder that was opened for reading refers to code that is not part of segarena."""


class SharedArrayModified(PluginError):
    """A plug-in modified an array that it shares with others."""


class MissingExtra(PluginError):
    """An optional dependency is required but not installed."""


class SegmenterError(SegarenaError):
    """A segmenter gave no valid answer."""

    # Its cause may be an exception of the plug-in, whose message matters as a whole.
    _is_about_files = False


class PredictionInvalid(SegmenterError, ValueError):
    """A prediction has the wrong shape, type, number or content."""


class PredictTimeout(SegmenterError):
    """A plug-in did not answer within the time limit."""


class ProtocolViolation(SegarenaError, RuntimeError):
    """The methods of a session were called in the wrong order."""


class WorkError(SegarenaError):
    """A job, or one unit of it, failed."""

    # Its cause may be an exception of the plug-in, whose message matters as a whole.
    _is_about_files = False


class WorkersInvalid(WorkError):
    """Worker processes cannot start, or cannot run this job."""


class UnitFailed(WorkError):
    """A unit of work raised an exception that is not a `SegarenaError`."""


class UnitHung(WorkError):
    """A unit of work timed out; its process was killed."""


class UnitDied(WorkError):
    """The process that ran a unit died, and so did the process of the retry."""


class EarlierStateMissing(WorkError):
    """The state from which a unit resumes is missing; it can restart from the beginning."""


class WorkStopped(WorkError):
    """The whole job cannot continue, no matter which unit found the cause; finished units are kept."""


class RemoteError(WorkStopped):
    """A server is unreachable or rejects a request."""


class StoreError(SegarenaError):
    """A folder or file cannot be written, or its content is unusable."""


class StoreUnavailable(StoreError):
    """A disk is full, or a storage or database does not respond; a retry may succeed."""


class RunConflict(StoreError):
    """A folder contains other work or is in use."""


class RunMissing(StoreError):
    """A folder contains no run."""
