"""References in free form: names with years, numbers in brackets, identifiers and links that no renderer of ours made (R3)."""

import re

NAME = r"(?:(?:van|von|de|der|den|del|della|di|da|le|la|al|el|bin|ten)[ -]){0,2}[A-ZÀ-ÞŁŠŽĀ-Ž][\w'’]*(?:-[A-ZÀ-Þa-z][\w'’]*)*"
NAMES = rf"{NAME}(?:(?:, {NAME}){{0,6}},? (?:and|und|et|y|&|\\&) {NAME})?"
YEAR = r"(?:19|20)\d\d[a-z]?"
DATED = rf"(?:{YEAR}|n\.\s?d\.|in press|forthcoming|to appear)"
ET_AL = r"(?:et\.? ?al\b\.?|and (?:colleagues|co-?workers|co-?authors|others)\b|u\. ?a\.|等人?)"
KINDS: dict[str, str] = {
    "names and a year in brackets": rf"[(（\[]\s*(?:(?:see|cf\.?|e\.g\.?,?|i\.e\.?,?|as in|also|siehe|voir)\s+)*{NAMES}(?:,? {ET_AL})?(?:,?\s+|，)[(]?{DATED}[)]?[^()（）\[\]]{{0,200}}[)）\]]",
    "names and a year": rf"\b{NAMES}(?:,? {ET_AL})?(?:['’]s?)? [(（\[]{DATED}(?:[,;:] ?[^)）\]]{{0,60}})?[)）\]]",
    "et al.": rf"\b{NAME},? (?:et\.? ?al\b\.?|and (?:colleagues|co-?workers|co-?authors)\b)",
    "names of Chinese authors": r"[\u4e00-\u9fff]{1,4}等人?\s?[，,]?\s?[(（\[]?(?:19|20)\d\d|[(（][\u4e00-\u9fff]{2,4}(?:等|和[\u4e00-\u9fff]{2,4})?[，,]\s?(?:19|20)\d\d[)）]",
    "a DOI": r"\b10\.\d{4,9}/[^\s\"'<>]+|\bdoi:\s*\S+",
    "an arXiv id": r"\barxiv\b[:\s./]*(?:abs/|pdf/)?(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?|(?<![\d.])\d{4}\.\d{5}(?:v\d+)?(?![\d])",
    "a PubMed or ISBN number": r"\b(?:PMID|PMCID|ISBN(?:-1[03])?)\b[:\s]*[\dPMC][\dX-]{4,}",
    "a link": r"\b(?:https?|ftp)://\S+|\bwww\.\S+|\b(?:github\.com|huggingface\.co|openreview\.net|doi\.org|arxiv\.org|aclanthology\.org|semanticscholar\.org|youtu\.be)/\S+",
    "a number in brackets": r"\[\s*\^?[1-9]\d{0,2}(?:\s*[,;–-]\s*[1-9]\d{0,2})*\s*\]",
    "a mark": r"\[\s*(?:[Pp]|[Rr]ef\.?|[Rr]efs\.?|[Pp]aper|[Ss]ource|[Dd]oc)\s*\.?\s*\d+\s*\]|\[[A-Z][A-Za-z+]{1,8}\+?(?:19|20)?\d\d[a-z]?\]|\b[Rr]efs?\.\s?\d+|\[\s*(?:citation needed|citation|ref|source|sources?\?|\?)\s*\]",
    "a number of a paper": r"\b[Pp]apers? (?:no\. ?)?\d{1,3}\b(?!\s*(?:%|percent|of))",
    "superscript numbers": r"(?:(?<=[a-z]{3})|(?<=[.,;)]))[¹²³⁴⁵⁶⁷⁸⁹][⁰¹²³⁴⁵⁶⁷⁸⁹,⁻–]*(?!\w)",
    "a citation command": r"\[@[^\]]+\]|(?<![\w.])@[a-z][\w:.-]*\d{4}[\w:.-]*|\\(?:\w*cite\w*|ref)\*?\s*(?:\[[^\]]*\])*\s*\{|\bibid\.|<ref\b",
}
"""Each kind of reference with its pattern; a bracket such as `[0, 1]` or `(2 of 3)` is none."""
COMPILED = {kind: re.compile(pattern, re.IGNORECASE if kind in {"an arXiv id", "a link", "a DOI"} else 0) for kind, pattern in KINDS.items()}
NOT_NAMES = re.compile(
    r"(?:The|This|These|In|On|At|By|For|From|Since|Until|During|Before|After|Between|Of|About|And|Or|But|It|As|January|February|March|April|May|June"
    r"|July|August|September|October|November|December|Spring|Summer|Autumn|Winter|Version|Table|Figure|Section|Chapter|Task|Level|Stage|Phase|Step)\b"
)
"""Words with a capital that stand before a year without being a name."""


def free_references(text: str) -> list[tuple[str, str]]:
    """(kind, words) of each reference in free form; words that two patterns see are told once."""
    found: list[tuple[int, int, str, str]] = []
    for kind, pattern in COMPILED.items():
        for hit in pattern.finditer(text):
            bare = hit[0].lstrip("([（ ")
            if kind.startswith("names and") and NOT_NAMES.match(bare):
                continue
            if not any(start < hit.end() and hit.start() < end for start, end, _, _ in found):
                found.append((hit.start(), hit.end(), kind, hit[0]))
    return [(kind, words) for _, _, kind, words in sorted(found)]
