"""Words on the command line → the library and the tasks → terminal or file.

Each command lives in a module of its noun, loaded only when it is asked for, so `carrel --help` loads nothing else.
"""

import sys

from assistant.cli.base import commands, run


def main() -> None:
    """The `carrel` command."""
    sys.exit(run(commands))
