"""Which language a text is in: by its script, and for Latin letters by its small words."""

import re

SAMPLE = 600
HAN, KANA, HANGUL = re.compile(r"[\u3400-\u9fff]"), re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7af]")
SCRIPTS = {
    "Cyrillic": ("ru", re.compile(r"[\u0400-\u04ff]")),
    "Greek": ("el", re.compile(r"[\u0370-\u03ff]")),
    "Arabic": ("ar", re.compile(r"[\u0600-\u06ff]")),
    "Hebrew": ("he", re.compile(r"[\u0590-\u05ff]")),
    "Devanagari": ("hi", re.compile(r"[\u0900-\u097f]")),
    "Thai": ("th", re.compile(r"[\u0e00-\u0e7f]")),
}
WORD = re.compile(r"[^\W\d_]+")
SMALL_WORDS = {
    "en": frozenset("the of and in to for is that with are this by on from an be as which we it was can".split()),
    "de": frozenset("der die und das von den mit ein eine für ist des im auf dem nicht sich werden wird zu zur".split()),
    "fr": frozenset("le la les des et une du dans est pour que qui sur par au avec sont cette ces nous aux".split()),
    "es": frozenset("el los las del una que para por con se es al como son este esta sobre más y su".split()),
    "it": frozenset("il di che della del una per con dei delle gli sono nel alla questo si è da come le".split()),
    "pt": frozenset("o os uma do da dos das que para com em não por são este esta ao na no como".split()),
    "nl": frozenset("het een van en de voor met zijn op dat niet wordt aan worden deze bij ook naar door".split()),
}
SCRIPT_OF = {"zh": "Han", "ja": "Han", "ko": "Hangul", **{code: script for script, (code, _) in SCRIPTS.items()}}
"""Scripts by language; a language that is not here is written in Latin letters."""
LANGUAGES = (*SMALL_WORDS, *SCRIPT_OF)
"""The languages that can be told."""


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language; `en` where nothing tells (a formula, a name)."""
    sample = text[:SAMPLE]
    if sample.isascii():
        return _latin(sample)
    letters = max(sum(map(len, WORD.findall(sample))), 1)
    han, kana, hangul = (len(script.findall(sample)) for script in (HAN, KANA, HANGUL))
    if kana * 20 > letters and (han + kana) * 3 > letters:
        return "ja"
    if han * 4 > letters:
        return "zh"
    if hangul * 4 > letters:
        return "ko"
    for code, script in SCRIPTS.values():
        if len(script.findall(sample)) * 2 > letters:
            return code
    return _latin(sample)


def script_of(language: str) -> str:
    """The script a language is written in."""
    return SCRIPT_OF.get(language[:2], "Latin")


def _latin(sample: str) -> str:
    words = set(WORD.findall(sample.lower()))
    counts = {code: len(words & small) for code, small in SMALL_WORDS.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > counts["en"] and counts[best] >= 2 else "en"


NAMES = {
    "en": ("eng", "english"), "de": ("ger", "deu", "german", "deutsch"), "fr": ("fre", "fra", "french", "français", "francais"),
    "es": ("spa", "spanish", "español"), "it": ("ita", "italian", "italiano"), "pt": ("por", "portuguese", "português"),
    "nl": ("dut", "nld", "dutch", "nederlands"), "zh": ("chi", "zho", "chinese", "中文"), "ja": ("jpn", "japanese", "日本語"),
    "ko": ("kor", "korean"), "ru": ("rus", "russian"), "el": ("gre", "ell", "greek"), "ar": ("ara", "arabic"), "he": ("heb", "hebrew"),
    "pl": ("pol", "polish"), "tr": ("tur", "turkish"), "sv": ("swe", "swedish"), "da": ("dan", "danish"), "cs": ("cze", "ces", "czech"),
    "hu": ("hun", "hungarian"), "fa": ("per", "fas", "persian"), "uk": ("ukr", "ukrainian"), "fi": ("fin", "finnish"), "no": ("nor", "norwegian"),
}  # fmt: skip
CODES = {name: code for code, names in NAMES.items() for name in (code, *names)}


def language_code(name: str) -> str:
    """The ISO 639-1 code of a language as sources name it: `eng`, `German`, `pt-BR`; nothing where it is not known."""
    said = name.strip().lower()
    return CODES.get(said) or CODES.get(said.split("-")[0].split("_")[0].split(",")[0].split(";")[0].strip(), "")
