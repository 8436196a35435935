"""What can go wrong while papers come in and are found again.

StoreError
├── UnreadableFile      a file that is empty, binary or of no known layout
├── LibraryNotFound     no library here or above, or a folder that cannot be one
├── LibraryBusy         another process holds the library for longer than we wait
├── UnknownPaper        a citation key that the library does not hold
├── BadDecision         an edit, key or status that cannot be
├── LookupFailed        a service that cannot be reached, says no, or answers what it never should
│   └── KeyNeeded       it wants a key that is not given, or refuses the one that is
├── EmbedderError       weights missing, altered, or an embedder nobody knows
└── IndexUnusable       the vector index cannot be trusted; the exact scan answers instead
"""


class StoreError(Exception):
    """Any failure of the library, with what happened, where, and what to do; `exit_code` is the command's."""

    exit_code = 1


class UnreadableFile(StoreError):
    """Nothing could be imported from a file."""

    exit_code = 65


class LibraryNotFound(StoreError):
    """There is no library where one was looked for, or one cannot be made there."""

    exit_code = 2


class LibraryBusy(StoreError):
    """Another process is writing; running the command again later goes on."""

    exit_code = 75


class UnknownPaper(StoreError):
    """A key or alias that no paper of the library has."""

    exit_code = 2


class BadDecision(StoreError):
    """What a person asked for cannot be: no such field, a key that is taken, two papers that are one already."""

    exit_code = 2


class LookupFailed(StoreError):
    """A service for looking papers up gave nothing that can be used; running the command again later may."""

    exit_code = 69


class KeyNeeded(LookupFailed):
    """The service wants a key."""

    exit_code = 77


class EmbedderError(StoreError):
    """The embedder named in the settings cannot be used."""

    exit_code = 78


class IndexUnusable(StoreError):
    """The vector index is missing, stale or damaged; it is rebuilt from the library."""
