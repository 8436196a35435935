"""The templates that stand beside this file; every value that is missing is an error, and in a page every value is escaped."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(*, escapes: bool) -> "Environment":
    """What renders them: with `escapes` into markup, else into plain lines that their writer escapes."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("assistant.export", "")
    return Environment(loader=loader, autoescape=escapes, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701  # as told
