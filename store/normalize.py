"""The comparable form of a title, a text, a DOI, a name."""

import re
import unicodedata

COMMAND = re.compile(r"\\[a-zA-Z]+\*?")
BRACE = re.compile(r"[{}$]")
NOT_WORD = re.compile(r"[\W_]+")
VERSION = re.compile(r"v\d+$")
PARTICLES = frozenset({"de", "der", "den", "van", "von", "la", "le", "du", "di", "da", "dos", "del", "bin", "al"})
SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
EMPTY_WORDS = frozenset(
    ["a", "an", "the", "on", "in", "of", "for", "to", "and", "or", "with", "without", "from", "by", "at", "via", "is", "are", "be", "as", "into", "towards", "toward", "can", "do", "does", "how", "what", "why", "when", "it", "its", "we", "our", "your", "you", "not", "more", "less", "than", "that", "this", "using", "use", "based"]
)


def folded(text: str) -> str:
    """Lower case without accents, punctuation and LaTeX commands, one space between words; Chinese is kept."""
    plain = unicodedata.normalize("NFKD", BRACE.sub("", COMMAND.sub(" ", text)).casefold())
    letters = "".join(char for char in plain if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", NOT_WORD.sub(" ", letters).strip())


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
    joined = re.sub(r"(?<=\w)[-–'’](?=\w)", "", title)
    words = [ascii_word(word) for word in folded(joined).split()]
    said = [word for word in words if word and word not in EMPTY_WORDS]
    return next((word for word in said if len(word) > 1), said[0] if said else "")


def ascii_word(word: str) -> str:
    """The ASCII letters and digits of a word."""
    return re.sub(r"[^a-z0-9]", "", word.lower())
