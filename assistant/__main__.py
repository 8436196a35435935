"""`python -m assistant` is `carrel`."""

from assistant.cli import main

main()
