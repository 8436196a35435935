"""One field's text, made fit to be kept."""

import re
import unicodedata

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff]")
SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """Mojibake mended, NFC, without control characters and lone surrogates; otherwise exactly as printed."""
    if text.isascii():
        return CONTROL.sub("", text).strip()
    import ftfy  # half a tenth of a second, needed by imports alone

    mended = ftfy.fix_encoding(SURROGATE.sub("", text))  # before controls go: mojibake is partly made of them
    return unicodedata.normalize("NFC", CONTROL.sub("", mended)).strip()


def one_line(text: str) -> str:
    """The same on one line, with single spaces: for titles, names and venues."""
    return " ".join(clean(text).split())
