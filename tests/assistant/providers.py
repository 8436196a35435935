"""What the tests of whole commands share: replies that a stub provider makes from the very prompt it was sent."""

import json
import re
import time

from tests.assistant.gateway import stub_server as behave
from tests.assistant.gateway.stub_server import Behaviour, Handler

QUESTION = "How is reward hacking studied in gridworlds?"
ANSWER = "One of these papers studies reward hacking. [1.1]\n"


def answering(text: str = ANSWER, **more: object) -> Behaviour:
    """A good streamed answer."""
    return behave.events(*behave.pieces(text), *behave.ending(**more))  # type: ignore[arg-type]


def filling(column: str = "method", seconds: float = 0.0, usage: object = behave.USAGE) -> Behaviour:
    """A good reply to a pack of papers: each cell says which sentence it is from; always the same for the same pack."""

    def fill(handler: Handler) -> None:
        time.sleep(seconds)
        behave.ok(cells(handler.asked["messages"][-1]["content"], column), usage=usage)(handler)

    return fill


def cells(prompt: str, column: str) -> str:
    """The cells of every paper shown in a prompt, as a model gives them."""
    numbers = [int(number) for number in re.findall(r"^<<<paper (\d+) ", prompt, re.MULTILINE)]
    cell = {number: {column: {"status": "stated", "value": "as told", "sentences": [f"{number}.1"]}} for number in numbers}
    return json.dumps({"papers": [{"paper": number, "cells": cell[number]} for number in numbers]})
