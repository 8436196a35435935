"""A document as a Word file: pandoc makes it of the Markdown and the bibliography, in a folder of its own, without a network."""

import re
import subprocess
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from assistant.document import Document
from assistant.errors import OutputError
from assistant.export import bibtex, markdown

LONGEST = 120
"""Seconds that pandoc may take."""
READ = "markdown-raw_html-raw_tex-raw_attribute-yaml_metadata_block-pandoc_title_block-tex_math_dollars-tex_math_single_backslash"
"""What pandoc may take for more than text in the Markdown: nothing that could do anything."""
STYLE = "default.csl"
"""How pandoc prints citations where nobody says otherwise: Chicago, author and date."""
IMAGE = re.compile(rb'"t":"(?:Image"|Raw(?:Inline|Block)","c":\["(?!latex))')
"""What pandoc would fetch or pass on as it is; no text of ours has it."""
QUOTE = ("\\textquotedbl{}", '"')
"""What pandoc does not know of LaTeX, and what it takes for the same."""
ASIDE = "the other formats do not need it"


def write(document: Document) -> bytes:
    """The file, with its bibliography behind the text and the integrity report at the end; raises OutputError where pandoc is missing or fails."""
    pandoc = which("pandoc")
    if not pandoc:
        raise OutputError(f"--to docx needs pandoc, which is not installed: https://pandoc.org/installing.html; {ASIDE}")
    with TemporaryDirectory(prefix="carrel-") as name:
        folder = Path(name)
        (folder / "text.md").write_text(markdown.paper(document), "utf-8")
        (folder / "refs.bib").write_text(bibtex.write(document).replace(*QUOTE), "utf-8")
        cites = [] if document.citations == "numbered" else ["--citeproc", "--bibliography=refs.bib"]
        sandbox = ["--sandbox"] if "--sandbox" in _ran([pandoc, "--help"], folder).decode() else []
        if cites and sandbox:  # some installations keep the style where the sandbox does not reach
            (folder / STYLE).write_bytes(_ran([pandoc, f"--print-default-data-file={STYLE}"], folder))
            cites.append(f"--csl={STYLE}")
        read = _ran([pandoc, *sandbox, *cites, f"--from={READ}", "--to=json", "text.md"], folder)
        if IMAGE.search(read):
            raise OutputError(f"--to docx: a text makes pandoc want an image, which it is not given; {ASIDE}")
        (folder / "text.json").write_bytes(read)
        _ran([pandoc, "--from=json", "--to=docx", "--output=out.docx", "text.json"], folder)
        made = folder / "out.docx"
        if not made.exists():
            raise OutputError(f"--to docx: pandoc wrote nothing; {ASIDE}")
        return made.read_bytes()


def _ran(command: list[str], folder: Path) -> bytes:
    """What the command printed; raises OutputError with what it said on failing."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=LONGEST, stdin=subprocess.DEVNULL)  # noqa: S603  no shell; the words are ours
    except subprocess.TimeoutExpired as error:
        raise OutputError(f"--to docx: pandoc took longer than {LONGEST} seconds; {ASIDE}") from error
    except OSError as error:
        raise OutputError(f"--to docx: pandoc cannot be run ({error.strerror}); {ASIDE}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OutputError(f"--to docx: pandoc failed ({said[0] if said else done.returncode}); {ASIDE}")
    return done.stdout
