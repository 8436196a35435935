"""What a person may set: defaults, then the library's carrel.toml, then the environment, then the command line."""

import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from assistant.errors import SettingsError

FILE = "carrel.toml"


class Setting(NamedTuple):
    """One setting: its dotted name in carrel.toml, its type, default, environment variable, what it does, the least it may be."""

    name: str
    type: type
    default: object
    variable: str
    help: str
    least: float = 0


SETTINGS = (
    Setting("model.name", str, "", "CARREL_MODEL", "the model, as litellm names it: openai/gpt-5-mini, ollama/llama3.1"),
    Setting("model.api_base", str, "", "CARREL_API_BASE", "address of an OpenAI-compatible server, where it is not the provider's own"),
    Setting("model.deadline_s", float, 120.0, "CARREL_DEADLINE_S", "seconds after which a call is given up", 0.001),
    Setting("model.max_tokens", int, 8000, "CARREL_MAX_TOKENS", "longest reply asked for", 1),
    Setting("model.concurrency", int, 8, "CARREL_CONCURRENCY", "calls under way at once", 1),
    Setting("model.price_in", float, None, "CARREL_PRICE_IN", "US dollars for a million tokens read, where the list price is unknown or another"),
    Setting("model.price_out", float, None, "CARREL_PRICE_OUT", "US dollars for a million tokens written"),
    Setting("embedder.name", str, "minilm", "CARREL_EMBEDDER", "minilm, none, or hash (lexical, for tests)"),
    Setting("embedder.folder", str, "", "CARREL_EMBEDDER_FOLDER", "where minilm's weights are, if not in the cache"),
    Setting("budget.usd", float, 0.0, "CARREL_BUDGET_USD", "a run stops when it has spent this much; 0 is no cap"),
    Setting("budget.tokens", int, 0, "CARREL_BUDGET_TOKENS", "a run stops at this many tokens, whatever they cost; 0 is no cap"),
    Setting("lookups.arxiv", str, "", "CARREL_LOOKUPS_ARXIV", "address of arXiv's interface, where it is not the public one"),
    Setting("lookups.openalex", str, "", "CARREL_LOOKUPS_OPENALEX", "address of OpenAlex; its key is $OPENALEX_API_KEY"),
    Setting("lookups.crossref", str, "", "CARREL_LOOKUPS_CROSSREF", "address of Crossref"),
    Setting("lookups.semanticscholar", str, "", "CARREL_LOOKUPS_SEMANTICSCHOLAR", "address of Semantic Scholar; its key is $SEMANTIC_SCHOLAR_API_KEY"),
    Setting("lookups.contact", str, "", "CARREL_LOOKUPS_CONTACT", "an e-mail address that the services may write to; they answer faster then"),
    Setting("taxonomy.depth", int, 2, "CARREL_TAXONOMY_DEPTH", "levels of a grown tree, at most", 1),
    Setting("taxonomy.width", int, 7, "CARREL_TAXONOMY_WIDTH", "nodes beside each other in a grown tree, at most", 2),
    Setting("taxonomy.smallest", int, 2, "CARREL_TAXONOMY_SMALLEST", "papers in a leaf of a grown tree, at least", 1),
    Setting("audit.cite_macros", tuple, (), "CARREL_AUDIT_CITE_MACROS", 'citation commands of your own, as in ["mycite"], where `audit` does not find what they stand for'),
    Setting("language", str, "English", "CARREL_LANGUAGE", "the language of answers and drafts"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. `origins` says for each that is not a default where it came from."""

    model_name: str = ""
    model_api_base: str = ""
    model_deadline_s: float = 120.0
    model_max_tokens: int = 8000
    model_concurrency: int = 8
    model_price_in: float | None = None
    model_price_out: float | None = None
    embedder_name: str = "minilm"
    embedder_folder: str = ""
    budget_usd: float = 0.0
    budget_tokens: int = 0
    lookups_arxiv: str = ""
    lookups_openalex: str = ""
    lookups_crossref: str = ""
    lookups_semanticscholar: str = ""
    lookups_contact: str = ""
    taxonomy_depth: int = 2
    taxonomy_width: int = 7
    taxonomy_smallest: int = 2
    audit_cite_macros: tuple[str, ...] = ()
    language: str = "English"
    origins: dict[str, str] = field(default_factory=dict)


def read_settings(folder: Path | None, **given: object) -> Settings:
    """The settings for a library folder; `given` are those of the command line. Raises SettingsError."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for where, found in (
        (FILE, _from_file(folder / FILE) if folder else {}),
        ("the environment", _from_environment()),
        ("the command line", {name: _given(name, value) for name, value in given.items() if value is not None}),
    ):
        values |= found
        origins |= dict.fromkeys(found, where)
    return replace(Settings(), **values, origins=origins)  # type: ignore[arg-type]  # types were checked one by one


def template() -> str:
    """The carrel.toml of a new library: every setting with its default and what it does."""
    lines = ["# Settings of this library. What stands here comes before the defaults; the environment comes before this."]
    section = None
    for setting in sorted(SETTINGS, key=lambda setting: "." in setting.name):
        table, _, name = setting.name.rpartition(".")
        if table and table != section:
            lines += ["", f"[{table}]"]
            section = table
        shown = "[]" if setting.type is tuple else f'"{setting.default}"' if setting.type is str else "" if setting.default is None else f"{setting.default:g}"
        lines.append(f"# {setting.help}\n# {name} = {shown}".rstrip())
    return "\n".join(lines) + "\n"


def may_use_key(settings: Settings) -> bool:
    """Whether a key may be sent to the model's address without asking the person.

    An address that a library's own file names could be anybody's: it gets a key only when it is this machine's, or once
    confirmed (`trust`).
    """
    address = settings.model_api_base
    return not address or settings.origins.get("model_api_base") != FILE or is_loopback(address) or address in _trusted()


def trust(settings: Settings) -> None:
    """Notes for this user that the library's model address may be sent a key."""
    path = _trust_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in sorted({*_trusted(), settings.model_api_base})), "utf-8")


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _trust_file() -> Path:
    from platformdirs import user_config_path

    return user_config_path("carrel") / "trusted-addresses"


def _trusted() -> frozenset[str]:
    path = _trust_file()
    return frozenset(path.read_text("utf-8").splitlines()) if path.exists() else frozenset()


def _from_file(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML ({error}); mend that line or delete it") from error
    flat: dict[str, object] = {}
    for name, value in tables.items():
        flat |= {f"{name}.{inner}": deep for inner, deep in value.items()} if isinstance(value, dict) else {name: value}
    known = {setting.name: setting for setting in SETTINGS}
    unknown = sorted(flat.keys() - known.keys())
    if unknown:
        raise SettingsError(f"{path}: there is no setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return {name.replace(".", "_"): _typed(known[name], value, str(path)) for name, value in flat.items()}


def _from_environment() -> dict[str, object]:
    return {
        setting.name.replace(".", "_"): _typed(setting, os.environ[setting.variable], f"${setting.variable}")
        for setting in SETTINGS
        if os.environ.get(setting.variable)
    }


def _typed(setting: Setting, value: object, where: str) -> object:
    if setting.type is str and isinstance(value, str):
        return value
    if setting.type is tuple:
        listed = value.split(",") if isinstance(value, str) else value
        if isinstance(listed, list | tuple) and all(isinstance(one, str) for one in listed):
            return tuple(one.strip().lstrip("\\") for one in listed if one.strip())
    elif setting.type is not str and isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = setting.type(value)
            # Not a number is not at least anything either.
            if setting.least <= number < inf and (isinstance(number, float) or not isinstance(value, float) or value == number):
                return number
    raise SettingsError(f"{where}: {setting.name} = {value!r} should be {_kind(setting)}; {setting.help}")


def _given(name: str, value: object) -> object:
    return _typed(next(setting for setting in SETTINGS if setting.name.replace(".", "_") == name), value, "the command line")


def _kind(setting: Setting) -> str:
    kind = {"str": "text", "int": "a whole number", "float": "a number", "tuple": "a list of texts"}[setting.type.__name__]
    return kind if setting.type in {str, tuple} else f"{kind}, at least {setting.least:g}"


_NAMES = {setting.name.replace(".", "_") for setting in SETTINGS}
assert {f.name for f in fields(Settings)} - {"origins"} == _NAMES, "each setting has its field"
