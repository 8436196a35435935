"""Prompt templates → messages. A library's own `prompts/` folder comes before ours, so a scholar can edit them."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import PromptError
from assistant.gateway.message import Message

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "prompts"


def render(name: str, own: Path | None = None, **values: object) -> tuple[Message, ...]:
    """The messages of `prompts/<name>.md.j2`: its `system` and its `user` block. Raises PromptError."""
    return tuple(Message(role, block(name, role, own, **values)) for role in ("system", "user"))


def block(name: str, part: str, own: Path | None = None, **values: object) -> str:
    """One block of a template."""
    from jinja2 import TemplateError, UndefinedError

    file = f"{name}.md.j2"
    try:
        template = _environment(own).get_template(file)
        text = "".join(template.blocks[part](template.new_context(dict(values))))
    except UndefinedError as error:
        raise PromptError(f"{file}: {error.message}; known values are {', '.join(sorted(values))}") from error
    except KeyError as error:
        raise PromptError(f"{file}: has no block {part!r}; a prompt has a system and a user block") from error
    except TemplateError as error:
        where = f":{error.lineno}" if hasattr(error, "lineno") else ""
        raise PromptError(f"{file}{where}: {error.message or type(error).__name__}") from error
    return text.strip() + "\n"


@lru_cache(maxsize=8)
def _environment(own: Path | None) -> "Environment":
    from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    ours = PackageLoader("prompts", "")
    loader = ChoiceLoader([FileSystemLoader(own), ours]) if own and own.is_dir() else ours
    return SandboxedEnvironment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
