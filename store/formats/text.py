"""Bytes of a file → text that can be trusted: decoded, mended where it is mojibake, free of control characters."""

import re
import unicodedata

from store.errors import UnreadableFile

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff]")
LINE_BREAK = re.compile(r"\r\n?|\u2028|\u2029|\x85")
HAN_WORD = re.compile(r"[\u4e00-\u9fff]{2}")
BINARY = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"SQLite format 3", b"\x1f\x8b", b"\x7fELF")


def decoded(data: bytes, name: str) -> str:
    r"""The text of a file with lines ended by \\n; raises UnreadableFile for an empty or binary one."""
    if not data.strip():
        raise UnreadableFile(f"{name}: the file is empty; expected a page, a digest or a bibliography of papers")
    if data.startswith(BINARY) or _looks_binary(data):
        raise UnreadableFile(f"{name}: this is a binary file; expected a text file of papers (see `carrel add --help`)")
    return LINE_BREAK.sub("\n", _characters(data, name)).lstrip("\ufeff")


def clean(text: str) -> str:
    """One field's text: mojibake mended, NFC, without control characters; otherwise exactly as printed."""
    import ftfy  # half a tenth of a second, needed by imports alone

    mended = ftfy.fix_encoding(text) if not text.isascii() else text
    return unicodedata.normalize("NFC", CONTROL.sub("", mended)).strip()


def _looks_binary(data: bytes) -> bool:
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return b"\x00" in head or sum(byte < 9 or 13 < byte < 32 for byte in head) > len(head) // 50


def _characters(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _strictly(data, "utf-16", name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _chinese(data) or data.decode("cp1252", errors="replace")


def _chinese(data: bytes) -> str:
    """The text if the bytes read as Chinese; Latin letters with accents decode to lone characters, not to words."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    return text if HAN_WORD.search(text) else ""


def _strictly(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name}: not valid {encoding} at byte {error.start}; save it as UTF-8 and add it again") from error
