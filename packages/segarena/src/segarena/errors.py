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
    │   ├── UnitFailed            a unit raised an exception that is no `SegarenaError`
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


class SegarenaError(Exception):
    """Base class of all exceptions that segarena raises deliberately."""


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


class UnknownPlugin(PluginError):
    """No plug-in has this name."""


class PluginInvalid(PluginError, ValueError):
    """A plug-in was found but cannot be built."""


class UntrustedPlugin(PluginError):
    """A run folder opened for reading names code that is not part of segarena."""


class SharedArrayModified(PluginError):
    """A plug-in wrote into an array that it shares with others."""


class MissingExtra(PluginError):
    """An optional dependency is required but not installed."""


class SegmenterError(SegarenaError):
    """A segmenter gave no valid answer."""


class PredictionInvalid(SegmenterError, ValueError):
    """A prediction has the wrong shape, type, number or content."""


class PredictTimeout(SegmenterError):
    """A plug-in did not answer within the time limit."""


class ProtocolViolation(SegarenaError, RuntimeError):
    """The methods of a session were called in the wrong order."""


class WorkError(SegarenaError):
    """A job, or one unit of it, failed."""


class WorkersInvalid(WorkError):
    """Worker processes cannot start, or cannot run this job."""


class UnitFailed(WorkError):
    """A unit of work raised an exception that is no `SegarenaError`."""


class UnitHung(WorkError):
    """A unit of work timed out; its process was killed."""


class UnitDied(WorkError):
    """The process that ran a unit died, and so did the process of the retry."""


class EarlierStateMissing(WorkError):
    """The state from which a unit resumes is missing; it can restart from the beginning."""


class WorkStopped(WorkError):
    """The whole job cannot continue, whichever unit detected it; finished units are kept."""


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
