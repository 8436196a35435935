"""PubMed's XML: PubmedArticle and PubmedBookArticle."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from store.formats.file import SourceFile
from store.formats.reading import Options, doi_in, iso_date
from store.formats.tagged import given
from store.formats.xml import Found, records, text_at, text_of, texts_at
from store.language import language_code
from store.paper import Record, Refused, Translation

NAME = "pubmed-xml"
RETRACTED = "Retracted Publication"


def matches(file: SourceFile) -> bool:
    """Whether the file is a set of PubMed's articles."""
    return not file.is_zip and any(tag in file.head for tag in ("<PubmedArticle", "<PubmedBookArticle", "<MedlineCitation"))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every article and book chapter of the set."""
    for found in records(file, "PubmedArticle", "PubmedBookArticle"):
        yield found if isinstance(found, Refused) else _record(found)


def _record(found: Found) -> Record:
    work = found.element
    article = next((part for path in ("MedlineCitation/Article", "BookDocument") if (part := work.find(path)) is not None), work)
    language = language_code(text_at(article, "Language"))
    types = texts_at(article, "PublicationTypeList/PublicationType") + texts_at(article, "PublicationType")
    title = text_at(article, "ArticleTitle") or text_at(article, "Book/BookTitle")
    own = text_at(article, "VernacularTitle")
    is_retracted = RETRACTED in types or any(note.get("RefType") == "RetractionIn" for note in work.iter("CommentsCorrections"))
    return Record(
        title=title.removeprefix("[").removesuffix(".").removesuffix("]") if title.startswith("[") and title.rstrip(".").endswith("]") else title,
        abstract=_abstract(article.find("Abstract")),
        entry_type="article" if article.find("Journal") is not None else "incollection" if article.find("ArticleTitle") is not None else "book",
        authors=_authors(article),
        date=_date(article),
        venue=text_at(article, "Journal/Title") or text_at(article, "Journal/ISOAbbreviation") or (text_at(article, "Book/BookTitle") if text_at(article, "ArticleTitle") else ""),
        language="en" if title.startswith("[") else language,
        translations=_translations(work, own, language),
        identifiers=_identifiers(work, article),
        details=given(
            volume=text_at(article, "Journal/JournalIssue/Volume"),
            number=text_at(article, "Journal/JournalIssue/Issue"),
            pages=text_at(article, "Pagination/MedlinePgn"),
            issn=text_at(article, "Journal/ISSN"),
            publisher=text_at(article, "Book/Publisher/PublisherName"),
            isbn=text_at(article, "Book/Isbn"),
        ),
        keywords=tuple(dict.fromkeys(texts_at(work, ".//KeywordList/Keyword") + texts_at(work, ".//MeshHeading/DescriptorName"))),
        references=tuple(dict.fromkeys(_references(work))),
        notices=("retracted",) if is_retracted else (),
        line=found.line,
        raw=found.raw,
    )


def _abstract(abstract: Element | None) -> str:
    """The parts of an abstract, each under its label."""
    if abstract is None:
        return ""
    parts = []
    for part in abstract.iterfind("AbstractText"):
        label, said = part.get("Label", ""), text_of(part)
        if said:
            parts.append(f"{label}: {said}" if label and label.upper() != "UNLABELLED" else said)
    return "\n".join(parts) or text_of(abstract)


def _authors(article: Element) -> tuple[str, ...]:
    names = []
    for author in article.iterfind("AuthorList/Author"):
        whole = text_at(author, "CollectiveName")
        given_name = text_at(author, "ForeName") or text_at(author, "Initials")
        parts = (given_name, text_at(author, "LastName"), text_at(author, "Suffix"))
        names.append(whole or " ".join(part for part in parts if part))
    return tuple(name for name in names if name)


def _date(article: Element) -> str:
    """The issue's date, or that of the first publication where the issue prints none."""
    for path in ("Journal/JournalIssue/PubDate", "ArticleDate", "Book/PubDate", "ContributionDate"):
        place = article.find(path)
        if place is not None:
            said = text_at(place, "MedlineDate") or "-".join(
                part for part in (text_at(place, "Year"), text_at(place, "Month"), text_at(place, "Day")) if part
            )
            if date := iso_date(said):
                return date
    return ""


def _identifiers(work: Element, article: Element) -> dict[str, str]:
    ids = dict.fromkeys(("doi", "pmc", "pubmed"), "")
    for path in ("PubmedData/ArticleIdList/ArticleId", "PubmedBookData/ArticleIdList/ArticleId", "BookDocument/ArticleIdList/ArticleId"):
        for found in work.iterfind(path):
            kind = found.get("IdType", "")
            if kind in ids and not ids[kind]:
                ids[kind] = text_of(found)
    located = next((text_of(place) for place in article.iterfind("ELocationID") if place.get("EIdType") == "doi"), "")
    return given(pmid=text_at(work, "MedlineCitation/PMID") or text_at(work, "BookDocument/PMID") or ids["pubmed"], doi=doi_in(ids["doi"] or located), pmcid=ids["pmc"])


def _references(work: Element) -> Iterator[str]:
    kinds = {"doi": "doi", "pubmed": "pmid"}
    for found in work.iterfind(".//ReferenceList//Reference/ArticleIdList/ArticleId"):
        kind = kinds.get(found.get("IdType", ""))
        if kind and (value := text_of(found)):
            yield f"{kind}:{doi_in(value) if kind == 'doi' else value}"


def _translations(work: Element, own_title: str, language: str) -> dict[str, Translation]:
    """The title in the paper's own language, and abstracts in others."""
    found: dict[str, Translation] = {}
    if own_title and language and language != "en":
        found[language] = Translation(own_title, "")
    for other in work.iter("OtherAbstract"):
        code = language_code(other.get("Language", ""))
        if code and code != "en" and (said := _abstract(other)):
            found[code] = Translation(found[code].title if code in found else "", said)
    return found
