"""The comparable form of a title, a text, a DOI, a name."""

import re
import unicodedata

COMMAND = re.compile(r"\\[a-zA-Z]+\*?")
BRACE = re.compile(r"[{}$]")
MARKUP = re.compile(r"[\\{}$]")
COMBINING = re.compile(
    "[" + "".join(chr(code) for code in range(0x300, 0x3100) if unicodedata.combining(chr(code))) + "\ua66f-\ua6f1\ufe20-\ufe2f]"
)
WORDS = re.compile(r"[^\W_]+")
INSIDE_WORD = re.compile(r"(?<=\w)[-–'’](?=\w)")
NOT_ASCII = re.compile(r"[^a-z0-9]")
VERSION = re.compile(r"v\d+$")
PARTICLES = frozenset({"de", "der", "den", "van", "von", "la", "le", "du", "di", "da", "dos", "del", "bin", "al"})
SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
EMPTY_WORDS = frozenset(
    ["a", "an", "the", "on", "in", "of", "for", "to", "and", "or", "with", "without", "from", "by", "at", "via", "is", "are", "be", "as", "into", "towards", "toward", "can", "do", "does", "how", "what", "why", "when", "it", "its", "we", "our", "your", "you", "not", "more", "less", "than", "that", "this", "using", "use", "based"]
)


def folded(text: str) -> str:
    """Lower case without accents, punctuation and LaTeX commands, one space between words; Chinese is kept."""
    bare = BRACE.sub("", COMMAND.sub(" ", text)) if MARKUP.search(text) else text
    if bare.isascii():
        return " ".join(WORDS.findall(bare.lower()))
    plain = unicodedata.normalize("NFKD", bare.casefold())
    return unicodedata.normalize("NFC", " ".join(WORDS.findall(COMBINING.sub("", plain))))


def identifier(kind: str, value: str) -> str:
    """A DOI in lower case without its address, an arXiv id without its version; others as they are."""
    if kind == "doi":
        return re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", "", value.strip().lower())
    if kind == "arxiv":
        return VERSION.sub("", value.strip().removeprefix("arXiv:"))
    return value.strip()


def family_name(author: str) -> str:
    """The last word of a name without particles and suffixes, in ASCII letters; nothing for other scripts."""
    words = [word for word in folded(author).split() if word not in SUFFIXES]
    word = next((word for word in reversed(words) if word not in PARTICLES), "")
    return ascii_word(word)


def telling_word(title: str) -> str:
    """The first word of a title that says something, in ASCII letters and digits."""
    first = ""
    for word in folded(INSIDE_WORD.sub("", title)).split():
        plain = ascii_word(word)
        if plain and plain not in EMPTY_WORDS:
            if len(plain) > 1:
                return plain
            first = first or plain
    return first


def ascii_word(word: str) -> str:
    """The ASCII letters and digits of a word, in lower case."""
    lower = word.lower()
    return lower if lower.isascii() and lower.isalnum() else NOT_ASCII.sub("", lower)
