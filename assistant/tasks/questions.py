"""What kind a question is, in which language, and which papers it names; plain code that asks no model.

A few words of English, German, French and Chinese tell. What they do not tell is a plain question, which is answered from
the papers that fit it best.
"""

import re
from typing import Literal, NamedTuple

from store.language import language_of

Kind = Literal["named", "comparison", "listing", "counting", "plain"]


class Asked(NamedTuple):
    """A question's kind, the keys it names with `@`, and whether it speaks of papers named before ("how do they differ")."""

    kind: Kind
    keys: tuple[str, ...]
    refers_back: bool


KEY = re.compile(r"(?<![A-Za-z0-9_@.])@([A-Za-z0-9:_.+/-]*[A-Za-z][A-Za-z0-9:_.+/-]*)")
ENDS_NO_KEY = ".:/+-"

PAPERS = r"(?:papers|works|studies|articles|publications|preprints|abstracts)"
KINDS_OF_WORK = r"(?:papers|works|studies|articles|approaches|methods|techniques|algorithms|frameworks|systems|authors|groups)"
"""What "which …" asks for where every paper has to be looked at."""
ARBEITEN = r"(?:arbeiten|papiere|papers?|artikeln?|studien|aufsätzen?|veröffentlichungen|publikationen|beiträgen?)"
ARTICLES = r"(?:articles|papiers|travaux|études|publications)"
LUNWEN = "(?:论文|文章|研究|工作|文献)"
BETWEEN = r"(?:(?:of|the|these|those|my|our|all|such|other|recent|new|newer|older|different|included|excluded|candidate|tagged|(?:19|20)\d\d|[a-z-]+\.[a-z]{2,}) )*"
"""Words that may stand before "papers" in "how many papers"; anything else ("how many GPUs do the papers use") is another question."""

COUNTING = re.compile(
    rf"\bhow many {BETWEEN}{PAPERS}\b|\b(?:what is|what's|give me|tell me) the number of {BETWEEN}{PAPERS}\b|^(?:the )?number of {BETWEEN}{PAPERS}\b"
    rf"|^(?:please )?count (?:up )?{BETWEEN}{PAPERS}\b"
    rf"|\bwie ?viele (?:\w+ )?{ARBEITEN}\b|\b(?:die )?anzahl (?:der|aller) {ARBEITEN}\b"
    rf"|\bcombien (?:de |d['’]){ARTICLES}\b|\bnombre (?:de |d['’]){ARTICLES}\b"
    rf"|(?:多少|几)篇|多少{LUNWEN}|{LUNWEN}(?:的)?数量",
    re.IGNORECASE,
)
LISTING = re.compile(
    rf"(?:^|[.?!:;,–—] ?)(?:and |so |then |now |but |ok,? )?(?:in |on |for )?which (?:[\w.+'-]+ ){{0,4}}?{KINDS_OF_WORK}\b(?! (?:do|does|did)\b)"
    r"|(?:^|[.?!:;,–—] ?)which of (?:these|those|them)\b|(?:^|[.?!:;] )who (?:else |here )?(?!(?:is|was|are|were) (?:the|this|that)\b|wrote\b|published\b)[a-z]+"
    rf"|^(?:is|are) there (?:any|some|other|more) ?(?:thing|work|{KINDS_OF_WORK}|studies|research)\b|^any (?:results?|work|papers?|studies|evidence|research) (?:on|about|with|for|in)\b"
    r"|^(?:give|show|list|tell) me everything\b|^everything (?:here )?(?:on|about)\b|"
    rf"^(?:and |so |then |now |but |ok,? )?(?:in |on |for )?(?:which|what) (?:(?:ones )?of )?{BETWEEN}{PAPERS}\b"
    rf"|^(?:please |can you |could you )?(?:list|name|show|find|give|enumerate)(?: me)? (?:(?:all|every|each|any) (?:of )?)?{BETWEEN}{PAPERS}\b"
    r"|^(?:please |can you |could you )?(?:list|enumerate) (?:me )?(?:all|every|each)\b"
    rf"|^(?:are|is) there (?:any |other |more )*{PAPERS}\b|^(?:all )?{PAPERS} (?:that|which|who|about|on|using|with|from|in)\b"
    rf"|\b(?:welche|in welchen) (?:der |dieser |\w+ )?{ARBEITEN}\b|^(?:bitte )?(?:liste|nenne|zeige?) (?:mir )?(?:alle|sämtliche)\b"
    rf"|\b(?:quels|quelles) (?:sont (?:les|ces) )?{ARTICLES}\b|^(?:liste[rz]?|énumère[rz]?|donne[rz]?) (?:(?:moi|tous|toutes) )?(?:tous|toutes|les) "
    rf"|哪些{LUNWEN}|哪几篇|有哪些.{{0,12}}{LUNWEN}|^(?:请)?列出",
    re.IGNORECASE,
)
COMPARISON = re.compile(
    r"^(?:please |can you |could you |and |now )?(?:compare|contrast)\b|\b(?:compare|contrast) (?:them|these|those|both|@)"
    r"|\bhow (?:do|does|did|would)\b.*\b(?:differ|compare)\b|\bin (?:what|which) (?:way|ways|respects?) (?:do|does)\b.*\bdiffer\b|\bwhere do\b.*\bdiffer\b"
    r"|\bdifferences? (?:between|among)\b|\bversus\b|\bvs\b|\bhow (?:is|are)\b.*\bdifferent from\b|\bwhat (?:distinguishes|sets)\b.*\b(?:from|apart)\b"
    r"|\b(?:what|which) (?:do|does)\b.*\bhave in common\b"
    r"|\bunterscheide[nt]\b|\bunterschiede? zwischen\b|^(?:bitte )?vergleiche?n?\b|\bim vergleich (?:zu|mit)\b"
    r"|^(?:comparez?|comparer)\b|\bdiff[èe]rent(?:-elles|-ils)?(?: l| les| de|\s*\?|$)|\bdifférences? entre\b|\bpar rapport (?:à|aux?)\b"
    r"|^(?:请)?比较|比较一下|对比|区别|差异|异同|有什么不同|有何不同|不同之处",
    re.IGNORECASE,
)
BACK = re.compile(
    r"\b(?:they|them|these|those|both|the (?:two|three|four|five|six)|each other|one another|the former|the latter)\b"
    r"|\b(?:sie|ihnen|diese[rn]?|beiden?|einander)\b|\b(?:ils|elles|ces|les deux)\b|它们|他们|这些|这两|这几|两者|二者|上述",
    re.IGNORECASE,
)
FIRST_WORDS = {
    "de": "welche welcher welches welchen welchem wie warum weshalb wieso wer worin wodurch womit wozu gibt nenne vergleiche liste zähle",
    "fr": "quel quelle quels quelles combien comment pourquoi comparez énumérez existe-t-il",
    "es": "qué cuál cuáles cómo cuántos cuántas quién",
    "it": "quali quale perché quanti quante",
    "pt": "quais qual quantos quantas",
    "nl": "welke hoe waarom hoeveel",
}
"""Words a question in these languages begins with and an English one does not: questions are too short for small words."""
FRAME = frozenset(
    "which what how that list lists name show find give please all every each any me number many much count total papers paper works work studies study articles article "
    "publications preprints abstracts library collection use uses used using apply applies applied employ employs mention mentions mentioned "
    "report reports reported address addresses propose proposes present presents discuss discusses consider considers deal deals cover covers "
    "focus focuses concern concerns there one ones fit about wie viele viel welche welchen arbeiten papiere artikel studien verwenden verwendet nutzen "
    "nutzt benutzen gibt es anzahl der die das liste alle nenne mit in den von zu quels quelles combien articles papiers travaux études utilisent "
    "emploient les des de du la le qui sur liste tous toutes".split()
)
FRAME_HAN = re.compile("哪些|哪几篇|多少篇|几篇|多少|论文|文章|研究|工作|文献|有哪些|列出|使用了?|采用了?|用了|请|所有|库中|里|关于|的|了|吗|？|\\?")


def asked(question: str) -> Asked:
    """The kind of a question. One that names papers is about them, or compares them; no other kind looks at them alone."""
    text = " ".join(question.split())
    keys = keys_in(text)
    compares = bool(COMPARISON.search(text))
    refers_back = bool(BACK.search(text))
    if keys:
        return Asked("comparison" if compares else "named", keys, refers_back)
    if COUNTING.search(text):
        return Asked("counting", (), refers_back)
    if LISTING.search(text):
        return Asked("listing", (), refers_back)
    return Asked("comparison" if compares else "plain", (), refers_back)


def keys_in(question: str) -> tuple[str, ...]:
    """The keys that a question names as `@key`, each once; `recall@10` and addresses name none."""
    return tuple(dict.fromkeys(found.rstrip(ENDS_NO_KEY) for found in KEY.findall(question) if found.rstrip(ENDS_NO_KEY)))


def language(question: str) -> str:
    """The language of a question: by the word it begins with, else as of any text."""
    first = re.match(r"[^\W\d_]+(?:-[^\W\d_]+)*", question.strip(" ¿¡\n\t").lower())
    for code, words in FIRST_WORDS.items():
        if first and first[0] in words.split():
            return code
    return language_of(question)


def subject(question: str) -> str:
    """What a list or a count is about: of `Which papers use GRPO?` that is GRPO, of `List all papers` nothing in particular."""
    bare = FRAME_HAN.sub(" ", question)
    kept = [word for word in re.findall(r"[\w'’.+-]+", bare) if word.strip(".'’-").lower() not in FRAME]
    return " ".join(kept)
