"""References in free form: names with years, numbers in brackets, identifiers and links that no renderer of ours made (R3)."""

import re

NAME = r"(?:(?:van|von|de|der|den|del|della|di|da|le|la|al|el|bin|ten)[ -]){0,2}(?:[A-Z]\.[ -]?){0,3}[A-ZÀ-ÞŁŠŽĀ-ŽΑ-ΩА-Я][\w'’]{0,40}(?:-[A-ZÀ-Þa-z][\w'’]{0,40}){0,4}"
INITIALS = r"(?:, (?:[A-Z]\.[ -]?){1,3})?"
NAMES = rf"{NAME}{INITIALS}(?:(?:, {NAME}){{0,6}}(?:,? (?:and|und|et|y|&|\\&) |/){NAME})?"
YEAR = r"(?:19|20)\d\d[a-z]?"
DATED = rf"(?:{YEAR}|n\.\s?d\.|in press|forthcoming|to appear|in preparation|unpublished|personal communication)(?!/\d)"
ET_AL = r"(?:et\.? ?al(?:ii)?\b\.?|& al\.|и др\.|and (?:colleagues|co-?workers|co-?authors|others)\b|u\. ?a\.|等人?)"
KINDS: dict[str, str] = {
    "names and a year in brackets": rf"[(（\[]\s*(?:(?:see|cf\.?|e\.g\.?,?|i\.e\.?,?|as in|also|siehe|vgl\.?|voir)\s+)*{NAMES}(?:,? {ET_AL})?(?:,?\s+|，)[(]?{DATED}[)]?[^()（）\[\]]{{0,200}}[)）\]]",
    "names and a year": rf"\b{NAMES}(?:,? {ET_AL})?(?:['’]s?)? [(（\[]{DATED}(?:[,;:] ?[^)）\]]{{0,60}})?[)）\]]",
    "a dated work": rf"\b{NAME}['’]s {YEAR} (?:paper|work|study|article|survey|book)\b|\bthe {YEAR} (?:paper|work|study|article|survey|book) (?:by|of) {NAME}|\b(?:[Vv]gl|[Cc]f)\. {NAMES},? {YEAR}|\b{NAME} \\?& {NAME},? {YEAR}",
    "et al.": rf"\b\w[\w'’-]{{0,40}},? et\.? ?al(?:ii)?\b\.?|\b{NAME},? (?:et\.? ?al\b\.?|and (?:colleagues|co-?workers|co-?authors)\b)",
    "names of Chinese authors": r"[\u3040-\u9fff]{1,4}(?:等人?|ら|氏)\s?[，,]?\s?[(（\[]?(?:19|20)\d\d|[(（][\u3040-\u9fff]{1,4}(?:等|ら|和[\u4e00-\u9fff]{1,4})?[，,、]\s?(?:19|20)\d\d[)）]",
    "a DOI": r"\b10\.\d{4,9}/[^\s\"'<>]+|\bdoi:\s*\S+",
    "an arXiv id": r"\barxiv\b[:\s./]*(?:abs/|pdf/)?(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?|(?<![\d.])\d{4}\.\d{5}(?:v\d+)?(?![\d])|\b(?:cs|math|stat|eess|quant-ph|hep-(?:th|ph|ex|lat)|cond-mat|astro-ph|gr-qc|physics|q-bio|nlin)(?:\.[a-z]{2})?/\d{7}\b",
    "a PubMed or ISBN number": r"\b(?:PMID|PMCID|ISBN(?:-1[03])?)\b[:\s]*[\dPMC][\dX-]{4,}|\bPMC\d{5,8}\b|\bS2CID[:\s]*\d+|\bhal-\d{8}\b",
    "a link": r"\b(?:https?|ftp)://\S+|\bwww\.\S+|\b(?:github\.com|huggingface\.co|openreview\.net|doi\.org|arxiv\.org|aclanthology\.org|semanticscholar\.org|youtu\.be)/\S+|(?<![\w.@])[\w-]{1,60}\.(?:org|com|net|edu|gov|io|ai)/[\w~][^\s]{0,200}",
    "a number in brackets": r"\[\s*\^?[1-9]\d{0,2}(?:\s*[,;–-]\s*[1-9]\d{0,2})*\s*\]",
    "a label": r"[［【]\s*\d[^］】]{0,20}[］】]|\[\d+(?:\.\d+){2,}\]|\[\d{1,3}(?:\.\d+)?[a-z]\]|\[\d{1,3}\s?[·:†]\s?[\dL][^\]]{0,20}\]|(?<=\s)\{\d{1,3}\.\d{1,3}\}|\[\^[\w-]{1,40}\]|\[[A-Z]\d{1,2}\]|\[\s?(?:#|№|[Nn]o?\.)\s?\d+\s?\]",
    "a key": r"[\[(]\s?[a-z][a-z-]+(?:19|20)\d\d[a-z]\w*(?:\s?[,;]\s?[a-z][a-z-]+(?:19|20)\d\d\w*){0,9}\s?[\])]",
    "a mark": r"\[\s*(?:[Pp]|[Rr]ef\.?|[Rr]efs\.?|[Pp]aper|[Ss]ource|[Dd]oc)\s*\.?\s*\d+\s*\]|\[[A-Z][A-Za-z+]{1,8}\+?(?:19|20)?\d\d[a-z]?\]|\b[Rr]efs?\.\s?\d+|\[\s*(?:citation needed|citation|ref|source|sources?\?|cite|REF|\?)\s*\]|[\[(]\s?(?:[Pp]aper|[Ss]ource|[Dd]oc(?:ument)?|[Rr]ef(?:erence)?|[Ss]tudy|[Aa]bstract)s?\s?[#.:]?\s?\d{1,3}(?:[.,]\s?\d{1,3})*\s?[\])]|\[(?:[Ss]ource|[Cc]ite|[Rr]ef)s?: ?[^\]]{1,80}\]|\((?:citation needed|ref\.?|refs\.?)\)",
    "a number of a paper": r"\b[Pp]apers? (?:no\. ?|#)?\d{1,3}\b(?!\s*(?:%|percent|of))",
    "superscript numbers": r"(?:(?<=[a-z]{3})|(?<=[.,;)]))[¹²³⁴⁵⁶⁷⁸⁹][⁰¹²³⁴⁵⁶⁷⁸⁹,⁻–]*(?!\w)|<sup>\s?\[?\d|(?<=[a-z][.,;])\^\{?\d{1,2}\b",
    "a citation command": r"\[@[^\]]{1,300}\]|(?<![\w.])@[a-z][\w:.-]{0,60}\d{4}[\w:.-]{0,60}|\\(?:[A-Za-z]{0,12}cite[A-Za-z]{0,12}|ref|footnote)\*?\s?(?:\[[^\]]{0,200}\]\s?){0,2}\{|\b[Ii]bid\b|\b(?:op|loc)\. ?cit\.|</?(?:ref|cite)\b|\{\{\s?[Cc]it",
}
"""Each kind of reference with its pattern; a bracket such as `[0, 1]` or `(2 of 3)` is none."""
COMPILED = {kind: re.compile(pattern, re.IGNORECASE if kind in {"an arXiv id", "a link", "a DOI"} else 0) for kind, pattern in KINDS.items()}
NOT_NAMES = re.compile(
    r"(?:The|This|These|In|On|At|By|For|From|Since|Until|During|Before|After|Between|Of|About|And|Or|But|It|As|January|February|March|April|May|June"
    r"|July|August|September|October|November|December|Spring|Summer|Autumn|Winter|Version|Table|Figure|Section|Chapter|Task|Level|Stage|Phase|Step)\b"
)
"""Words with a capital that stand before a year without being a name."""
EVENT = re.compile(r"[A-Z][A-Z0-9-]+ (?:19|20)\d\d(?![a-z])")
"""A contest and its year: AIME 2024."""
INTERVAL = re.compile(r"(?:∈|\\in|[=<>≤≥]|\b(?:range|interval|scale|between)(?: of| from)?)\s?\$?\Z")


def free_references(text: str) -> list[tuple[str, str]]:
    """(kind, words) of each reference in free form; words that two patterns see are told once."""
    found: list[tuple[int, int, str, str]] = []
    taken = bytearray(len(text))
    for kind, pattern in COMPILED.items():
        for hit in pattern.finditer(text):
            bare = hit[0].lstrip("([（ ")
            if kind.startswith("names and") and (NOT_NAMES.match(bare) or EVENT.match(bare)):
                continue
            if kind == "a number in brackets" and "," in hit[0] and INTERVAL.search(text, max(hit.start() - 20, 0), hit.start()):
                continue
            if not any(taken[hit.start() : hit.end()]):
                taken[hit.start() : hit.end()] = b"\x01" * (hit.end() - hit.start())
                found.append((hit.start(), hit.end(), kind, hit[0]))
    return [(kind, words) for _, _, kind, words in sorted(found)]
