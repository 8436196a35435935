"""Which kind of question is which: many examples each way, near misses included."""

import pytest

from assistant.tasks.questions import asked, keys_in, language, subject


@pytest.mark.parametrize(
    "question",
    [
        "Which papers use GRPO?",
        "What papers report results on real robots?",
        "which of the papers train with verifiable rewards",
        "Which of these papers release code?",
        "And which studies use human feedback?",
        "In which papers is a critic left out?",
        "List all papers that study reward hacking.",
        "Please list the papers about tool use",
        "List all benchmarks for search agents",
        "Show me all papers on manipulation",
        "Find papers using world models",
        "Name all papers that compare PPO with GRPO",
        "Are there any papers on medical reasoning?",
        "Papers that use Qwen as the base model?",
        "Which papers do not differ from the baseline?",
        "Welche Arbeiten verwenden GRPO?",
        "In welchen Papers wird ein Roboter benutzt?",
        "Liste alle Arbeiten zu Belohnungen auf",
        "Quels articles utilisent GRPO ?",
        "Quelles études portent sur les robots ?",
        "哪些论文使用了 GRPO？",
        "有哪些关于机器人的论文？",
        "请列出所有关于奖励的文章",
    ],
)
def test_listing_questions(question: str) -> None:
    """They ask for every paper that fits."""
    assert asked(question).kind == "listing"


@pytest.mark.parametrize(
    "question",
    [
        "How many papers use GRPO?",
        "how many of the papers are from 2025?",
        "How many included papers are there?",
        "How many cs.RO papers are there?",
        "How many 2025 papers mention robots?",
        "In how many papers is the reward learned?",
        "What is the number of papers per year?",
        "Count the papers tagged core",
        "How many studies compare PPO and GRPO?",
        "Wie viele Arbeiten nutzen GRPO?",
        "Wieviele Artikel sind aus 2025?",
        "Combien d'articles utilisent GRPO ?",
        "Combien de travaux datent de 2025 ?",
        "有多少篇论文使用 GRPO？",
        "2025年有几篇？",
    ],
)
def test_counting_questions(question: str) -> None:
    """They ask how many papers, not how many of anything else."""
    assert asked(question).kind == "counting"


@pytest.mark.parametrize(
    "question",
    [
        "How do these methods differ?",
        "How do they compare?",
        "Compare PPO and GRPO.",
        "compare them",
        "PPO versus GRPO: which needs less memory?",
        "PPO vs. GRPO?",
        "What is the difference between PPO and GRPO?",
        "How is DAPO different from GRPO?",
        "In what ways do they differ?",
        "What distinguishes DAPO from GRPO?",
        "What do both have in common?",
        "Wie unterscheiden sie sich?",
        "Was ist der Unterschied zwischen PPO und GRPO?",
        "Vergleiche die beiden Verfahren",
        "En quoi diffèrent-elles ?",
        "Comparez les deux méthodes",
        "它们有什么不同？",
        "比较 PPO 和 GRPO",
        "这两种方法的区别是什么？",
    ],
)
def test_comparing_questions(question: str) -> None:
    """They hold papers or methods against each other."""
    assert asked(question).kind == "comparison"


@pytest.mark.parametrize(
    "question",
    [
        "How do these papers give credit to single steps or tokens instead of only the final answer?",
        "What do the papers on robots do to need less data from the real robot, and what did it bring?",
        "What do papers say about reward hacking?",
        "Which paper introduced GRPO?",
        "Which benchmarks are used for search agents?",
        "What work is there on credit assignment?",
        "How many samples does GRPO need?",
        "How many GPUs do the papers use?",
        "How many steps does a rollout have in these papers?",
        "What are the methods compared with?",
        "Which baselines does it beat by comparison?",
        "List the limitations of these approaches.",
        "Why is recall@10 higher than recall@1?",
        "What is pass@k and how is it trained for?",
        "Does the number of papers say anything about quality?",
        "What different rewards are used?",
        "Wie wird die Belohnung gelernt?",
        "Wie viele Schritte braucht das Training?",
        "Comment la récompense est-elle apprise ?",
        "不同任务的奖励如何设计？",
        "如何缓解奖励作弊？",
    ],
)
def test_plain_questions(question: str) -> None:
    """Near misses: they sound like a list, a count or a comparison and are none."""
    assert asked(question).kind == "plain"


@pytest.mark.parametrize(
    ("question", "kind", "keys"),
    [
        ("What does @xie2026tips propose?", "named", ("xie2026tips",)),
        ("What do @xie2026tips, @li2026wist and @fu2026capx have?", "named", ("xie2026tips", "li2026wist", "fu2026capx")),
        ("How do @xie2026tips and @li2026wist differ?", "comparison", ("xie2026tips", "li2026wist")),
        ("@a vs @b", "comparison", ("a", "b")),
        ("Which papers does @xie2026tips beat?", "named", ("xie2026tips",)),
        ("How many samples does @xie2026tips need?", "named", ("xie2026tips",)),
        ("Is it in @doi:10.1/x.y?", "named", ("doi:10.1/x.y",)),
        ("What is new in @xie2026tips.", "named", ("xie2026tips",)),
        ("(@xie2026tips) again, and @xie2026tips", "named", ("xie2026tips",)),
        ("@xie2026tips和@li2026wist有什么不同？", "comparison", ("xie2026tips", "li2026wist")),
    ],
)
def test_questions_about_named_papers(question: str, kind: str, keys: tuple[str, ...]) -> None:
    """`@key` names a paper, several are allowed, and a full stop is not part of a key."""
    found = asked(question)
    assert (found.kind, found.keys) == (kind, keys)


@pytest.mark.parametrize("question", ["Why is recall@10 high?", "Write to me@example.org about it", "pass@k", "at 3 @ 4", "accuracy @5"])
def test_what_is_no_key(question: str) -> None:
    """Measures and addresses name no paper."""
    assert keys_in(question) == ()


@pytest.mark.parametrize(
    ("question", "back"),
    [
        ("How do they differ?", True),
        ("Compare them on robots", True),
        ("How do these differ in data?", True),
        ("What do both have in common?", True),
        ("Wie unterscheiden sich diese?", True),
        ("En quoi ces articles diffèrent-ils ?", True),
        ("它们有什么不同？", True),
        ("Compare PPO and GRPO", False),
        ("How does DAPO differ from GRPO?", False),
        ("Unterschied zwischen PPO und GRPO", False),
    ],
)
def test_what_speaks_of_papers_named_before(question: str, back: bool) -> None:
    """Only a pronoun points at the last answer."""
    assert asked(question).refers_back is back


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Which papers use GRPO?", "en"),
        ("Compare DAPO vs GRPO", "en"),
        ("Was GRPO used on robots?", "en"),
        ("How do these papers give credit to single steps?", "en"),
        ("Welche Arbeiten nutzen GRPO?", "de"),
        ("Wie unterscheiden sich PPO und GRPO?", "de"),
        ("Was ist der Vorteil von dichten Belohnungen und wie wird er gemessen?", "de"),
        ("Combien d'articles utilisent GRPO ?", "fr"),
        ("¿Qué métodos usan GRPO?", "es"),
        ("哪些论文使用了 GRPO？", "zh"),
        ("GRPO はどのように使われていますか", "ja"),
    ],
)
def test_the_language_of_a_question(question: str, code: str) -> None:
    """A question is short: its first word tells where small words do not."""
    assert language(question) == code


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Which papers use GRPO?", "GRPO"),
        ("List all papers that report results on real robots", "results on real robots"),
        ("How many papers use world models?", "world models"),
        ("Welche Arbeiten verwenden GRPO?", "GRPO"),
        ("哪些论文使用了 GRPO？", "GRPO"),
        ("List all papers", ""),
    ],
)
def test_what_a_listing_asks_for(question: str, about: str) -> None:
    """The words that only ask are left out, so that the share of words counts those that tell."""
    assert subject(question) == about
