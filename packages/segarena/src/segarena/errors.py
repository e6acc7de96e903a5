"""Every error that segarena raises on purpose.

    SegarenaError                 catch this one to catch them all
    ├── InvalidInput (ValueError) something given has the wrong shape, type or content
    │   ├── InvalidImage
    │   ├── InvalidMask
    │   └── InvalidPrompt
    ├── DatasetError              a dataset on disk is not what it should be
    │   ├── DatasetMissing        the folder, or files in it, are not there
    │   ├── SampleInvalid         one sample cannot be used; the rest of a run goes on
    │   └── LoadingFailed         one sample could not be loaded, or its dialogues not be opened, for whatever cause
    ├── PluginError
    │   ├── UnknownPlugin         no plug-in of that name; the message says the near ones
    │   ├── PluginInvalid         found, but cannot be built (wrong options, import fails)
    │   ├── UntrustedPlugin            named by a run folder that is only read, and not part of segarena
    │   ├── SharedArrayModified         it wrote into what others read
    │   └── MissingExtra          needs an optional part of the installation
    ├── SegmenterError            a segmenter did not answer properly; becomes a record
    │   ├── PredictionInvalid (ValueError) wrong shape, NaN, wrong number of predictions
    │   └── PredictTimeout        no answer within the time limit
    ├── ProtocolViolation (RuntimeError) a session was used out of order
    ├── WorkError                 long work, or a unit of it, came to nothing
    │   ├── WorkersInvalid        worker processes cannot start, or cannot be given this work
    │   ├── UnitFailed            what does a unit raised something that is not ours
    │   ├── UnitHung              no answer in time; its process was ended
    │   ├── UnitDied              its process died, and a second one as well
    │   ├── EarlierStateMissing         what it goes on from is not at hand; from its beginning it can be done again
    │   └── WorkStopped           not one unit's trouble: nothing can go on; what is done is kept
    │       └── RemoteError       a server is not reached, or refuses
    └── StoreError                a folder or file cannot be written, or what is there cannot be used
        ├── StoreUnavailable             it cannot at this moment: no room, or no connection; later it may
        ├── RunConflict           it holds other work, or is in use
        └── RunMissing            there is no run there

A message says what was expected, what came and what to do, in one line.
"""


class SegarenaError(Exception):
    """Root of all errors raised on purpose."""


class InvalidInput(SegarenaError, ValueError):
    """Something given has the wrong shape, type or content."""


class InvalidImage(InvalidInput):
    """An image is unreadable or not of a supported shape or type."""


class InvalidMask(InvalidInput):
    """A mask is unreadable or not of a supported shape, type or encoding."""


class InvalidPrompt(InvalidInput):
    """A prompt lies outside the sample or has impossible coordinates."""


class DatasetError(SegarenaError):
    """A dataset on disk is not what it should be."""


class DatasetMissing(DatasetError):
    """The dataset's folder, or files in it, are not there."""


class SampleInvalid(DatasetError):
    """One sample cannot be used; the others can."""


class LoadingFailed(DatasetError):
    """One sample could not be loaded, or its dialogues not be opened."""


class PluginError(SegarenaError):
    """A plug-in cannot be found or built."""


class UnknownPlugin(PluginError):
    """No plug-in has this name."""


class PluginInvalid(PluginError, ValueError):
    """A plug-in was found but cannot be built."""


class UntrustedPlugin(PluginError):
    """A run folder that is only read names code that is not part of segarena."""


class SharedArrayModified(PluginError):
    """A plug-in wrote into an array that others read."""


class MissingExtra(PluginError):
    """An optional part of the installation is needed and absent."""


class SegmenterError(SegarenaError):
    """A segmenter did not answer properly."""


class PredictionInvalid(SegmenterError, ValueError):
    """A prediction has the wrong shape, type, number or content."""


class PredictTimeout(SegmenterError):
    """A role did not answer within the time limit."""


class ProtocolViolation(SegarenaError, RuntimeError):
    """A session was used out of order."""


class WorkError(SegarenaError):
    """Long work, or a unit of it, came to nothing."""


class WorkersInvalid(WorkError):
    """Worker processes cannot start, or cannot be given this work."""


class UnitFailed(WorkError):
    """What does a unit raised something that is not ours."""


class UnitHung(WorkError):
    """A unit gave no answer in time; its process was ended."""


class UnitDied(WorkError):
    """The process that did a unit died, and a second one as well."""


class EarlierStateMissing(WorkError):
    """What a unit goes on from is not at hand; from its beginning it can be done again."""


class WorkStopped(WorkError):
    """Nothing can go on, whichever unit noticed; what is done is kept."""


class RemoteError(WorkStopped):
    """A server is not reached, or refuses."""


class StoreError(SegarenaError):
    """A folder or file cannot be written, or what is there cannot be used."""


class StoreUnavailable(StoreError):
    """A disk has no room, or a storage or database does not answer; the same may work later."""


class RunConflict(StoreError):
    """A folder holds other work or is in use."""


class RunMissing(StoreError):
    """There is no run in this folder."""
