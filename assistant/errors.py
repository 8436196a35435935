"""What can go wrong between a question and a cited document.

AssistantError
├── UsageError             words on the command line that do not fit together
├── SettingsError          carrel.toml says something that cannot be
│   └── NoModel            a task needs a model and none is configured
├── PromptError            a template is missing or asks for a value nobody gives
├── OutputError            a file cannot be written where it was asked for
├── EditedMeanwhile        a person's file changed since it was last read
└── GatewayError           the model could not be asked, or its answer not used
    ├── ProviderUnavailable    refused, timed out or failed until the last attempt
    ├── KeyOrQuota             the key is missing, wrong or out of money
    ├── BudgetReached          the cap in the settings is spent
    ├── ReplyUnusable          paid for, but truncated, filtered, refused, empty or not what was asked
    └── RecordingMismatch      a replay has no recording for this request, or another one
"""


class AssistantError(Exception):
    """Any failure of a task, with what happened, where, and what to do; `exit_code` is the command's."""

    exit_code = 1


class UsageError(AssistantError):
    """The command cannot be understood as it stands."""

    exit_code = 2


class SettingsError(AssistantError):
    """A setting is unknown, of the wrong type, or cannot be used."""

    exit_code = 78


class NoModel(SettingsError):
    """No model is configured and this task cannot do without one."""


class PromptError(AssistantError):
    """A prompt template cannot be rendered."""

    exit_code = 78


class OutputError(AssistantError):
    """The output cannot be created."""

    exit_code = 73


class EditedMeanwhile(AssistantError):
    """A file that a person owns is no longer what was last read; nothing was written."""

    exit_code = 75


class GatewayError(AssistantError):
    """A model could not be asked or its reply not used."""


class ProviderUnavailable(GatewayError):
    """The provider did not answer within the attempts and the deadline."""

    exit_code = 69


class KeyOrQuota(GatewayError):
    """The provider refused the key, or the account has no quota left."""

    exit_code = 77


class BudgetReached(GatewayError):
    """The budget of the settings is spent; what is done is kept and a rerun goes on."""

    exit_code = 75


class ReplyUnusable(GatewayError):
    """A reply came, but it is truncated, filtered, refused, empty, or does not fit its schema."""


class RecordingMismatch(GatewayError):
    """The folder of recordings has no reply to exactly this request."""

    exit_code = 65
