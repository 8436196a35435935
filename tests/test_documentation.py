"""What is written is true: every command, setting, template and rule that the docs name exists, and the other way round."""

import re
from pathlib import Path

import pytest

from assistant.cli.base import MODULES, SUMMARIES
from assistant.settings import SETTINGS, template
from assistant.wording import block

ROOT = Path(__file__).parents[1]
DOCS = {path.name: path.read_text("utf-8") for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
TEMPLATES = sorted(path.relative_to(ROOT / "prompts").as_posix().removesuffix(".md.j2") for path in (ROOT / "prompts").glob("*/[!_]*.md.j2"))


def test_the_readme_is_short() -> None:
    """Under 150 lines."""
    assert len(DOCS["README.md"].splitlines()) < 150


def test_every_command_is_in_the_readme_and_every_command_there_exists() -> None:
    """The table of commands is the list of commands."""
    named = set(re.findall(r"\bcarrel ([a-z]+)\b", DOCS["README.md"])) | set(re.findall(r"`([a-z]+)`", DOCS["README.md"].split("|---|")[1]))
    assert set(MODULES) == set(SUMMARIES)
    assert set(MODULES) <= named
    assert named & {"init", "add", "ask", "table", "taxonomy", "draft"} <= set(MODULES)
    assert not set(re.findall(r"`carrel ([a-z]+)", "\n".join(DOCS.values()))) - set(MODULES)


def test_every_link_leads_somewhere() -> None:
    """Links inside the project name files that exist."""
    for name, text in DOCS.items():
        base = ROOT if name == "README.md" else ROOT / "docs"
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (base / target).exists(), f"{name}: {target}"


def test_every_setting_is_in_a_new_librarys_settings() -> None:
    """With what it does."""
    assert all(setting.help in template() for setting in SETTINGS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_sent_by_some_task(name: str) -> None:
    """A template that nothing names is dead wording."""
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "assistant").rglob("*.py"))
    assert f'"{name}"' in code


def test_a_template_that_lacks_a_value_says_which() -> None:
    """Strict: nothing is silently left out of a prompt."""
    from assistant.errors import PromptError

    with pytest.raises(PromptError, match="language"):
        block("ask/answer", "system", question="x")


def test_the_python_holds_no_wording_for_models() -> None:
    """Sentences to a model stand in prompts/ alone."""
    for path in (ROOT / "assistant").rglob("*.py"):
        assert not re.search(r"(?i)you are a |your task is|reply with (?:one )?json", path.read_text("utf-8")), path


def test_no_seed_sentence_is_in_the_project(seeds: list[Path]) -> None:
    """No run of twelve words of the seed abstracts stands in a text file of the project."""

    def squeezed(text: str) -> list[str]:
        return [word for token in re.split(r"[^\w.-]+", text.lower()) if (word := token.strip("._-"))]  # a model's name is one word

    spans = set()
    for seed in seeds:
        for line in seed.read_text("utf-8").splitlines():
            if len(line) > 260:
                words = squeezed(line)
                spans |= {" ".join(words[at : at + 12]) for at in range(len(words) - 11)}
    skipped = {".venv", ".venv-newest", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache", "demo-output"}
    for path in ROOT.rglob("*"):
        if path.is_file() and not skipped & set(path.parts) and path.suffix in {".md", ".txt", ".bib", ".json", ".py", ".toml", ".j2"}:
            words = squeezed(path.read_text("utf-8", errors="replace"))
            shared = [run for at in range(len(words) - 11) if (run := " ".join(words[at : at + 12])) in spans]
            assert not shared, f"{path}: {shared[:2]}"
