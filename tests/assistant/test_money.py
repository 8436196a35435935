"""Money: the price before, the cap during, what was spent after; and what nobody knows is never said to be nothing."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assistant.gateway import stub_server as behave
from tests.assistant.gateway.stub_server import Stub
from tests.assistant.providers import QUESTION, answering, filling
from tests.conftest import Carrel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
TABLE = ("table", "t", "--column", "Method: what is done?")
PACKS = 3  # of the example's 36 papers
UNKNOWN, KNOWN = "openai/nobody-knows-it", "openai/gpt-4o-mini"
KNOWN_COST = 11 * 0.15e-6 + 3 * 0.6e-6


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def stub(shared_stub: Stub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """The provider, asked for one thing at a time, with a library to work in."""
    monkeypatch.setenv("CARREL_API_BASE", shared_stub.url)
    monkeypatch.setenv("CARREL_CONCURRENCY", "1")
    monkeypatch.chdir(folder)
    shared_stub.then(filling())
    return shared_stub


def rows_filled(carrel: Carrel) -> int:
    document = json.loads(carrel("table", "t", "--json").out)
    return sum(bool(row["cells"]) for row in document["rows"])


def test_a_budget_stops_the_run_and_the_same_command_goes_on(carrel: Carrel, stub: Stub) -> None:
    """Exit 75, the line says how to go on, what was paid is kept; without the budget only the rest is asked."""
    ran = carrel(*TABLE, "--model", KNOWN, "--budget", str(KNOWN_COST * 1.5))
    assert (ran.code, stub.requests) == (75, 2)
    assert ran.err.splitlines()[-1].startswith("carrel: The budget of $")
    assert "what is done is kept, and the same command goes on from there" in ran.err
    assert rows_filled(carrel) == 24
    assert carrel(*TABLE, "--model", KNOWN).code == 0
    assert (stub.requests, rows_filled(carrel)) == (PACKS, 36)


def test_a_price_of_ones_own_makes_a_budget_hold(carrel: Carrel, stub: Stub, folder: Path) -> None:
    """A model that no list knows costs what the settings say: 11 tokens at 1 dollar and 3 at 10 dollars a million."""
    (folder / "carrel.toml").write_text("[model]\nprice_in = 1\nprice_out = 10\n", "utf-8")
    ran = carrel(*TABLE, "--model", UNKNOWN, "--budget", "0.00005")
    assert (ran.code, stub.requests) == (75, 2)
    assert "is not known" not in ran.err
    assert "$0.0001 in this run" in ran.err
    spent = json.loads(carrel("cost", "--json").out)
    assert [row["cost"] for row in spent] == [pytest.approx(2 * 41e-6)]


def test_a_free_model_costs_nothing_and_says_so(carrel: Carrel, stub: Stub, folder: Path) -> None:
    """A price of 0 is known: on a server of one's own nothing is spent, and no budget of money is ever reached."""
    (folder / "carrel.toml").write_text("[model]\nprice_in = 0\nprice_out = 0\n", "utf-8")
    ran = carrel(*TABLE, "--model", UNKNOWN, "--budget", "0.0001")
    assert (ran.code, stub.requests) == (0, PACKS)
    assert "0.0000 US dollars" in ran.err
    assert "not known" not in ran.err


def test_without_a_price_a_budget_of_money_cannot_hold_and_that_is_said_once(carrel: Carrel, stub: Stub) -> None:
    """The run goes on, since the person asked for it, but knows what it cannot promise before it sends anything."""
    ran = carrel(*TABLE, "--model", UNKNOWN, "--budget", "0.0001")
    assert (ran.code, stub.requests) == (0, PACKS)
    assert ran.err.count("a budget of money cannot stop this run") == 1
    assert "model.price_in" in ran.err
    assert "budget.tokens" in ran.err


@pytest.mark.parametrize("usage", [behave.USAGE, None], ids=["tokens counted", "tokens estimated"])
def test_a_budget_of_tokens_needs_no_price(carrel: Carrel, stub: Stub, monkeypatch: pytest.MonkeyPatch, usage: object) -> None:
    """Where a provider sends no usage the tokens are estimated, so that silence is no way around the budget."""
    monkeypatch.setenv("CARREL_BUDGET_TOKENS", "20")
    stub.then(filling(usage=usage))
    ran = carrel(*TABLE, "--model", UNKNOWN, "--budget", "0.0001")
    asked = 2 if usage else 1
    assert (ran.code, stub.requests) == (75, asked)
    assert "The budget of 20 tokens (budget.tokens) is spent" in ran.err
    assert ("about" in ran.err) is (usage is None)
    assert rows_filled(carrel) == 12 * asked


def test_missing_usage_is_no_way_around_a_budget_of_money(carrel: Carrel, stub: Stub) -> None:
    """A known model without usage is estimated at its list price, and the line says that the sum is about right."""
    stub.then(filling(usage=None))
    ran = carrel(*TABLE, "--model", KNOWN, "--budget", "0.0001")
    assert ran.code == 75
    assert stub.requests < PACKS
    assert "about $" in ran.err


@pytest.mark.parametrize("model", [KNOWN, UNKNOWN])
def test_an_unknown_cost_is_unknown_everywhere(carrel: Carrel, stub: Stub, model: str) -> None:
    """`ask`, `table` and `cost` say unknown where price or usage is, in words and as JSON; nowhere 0."""
    stub.then(answering(usage=None))
    ran = carrel("ask", QUESTION, "--keywords", "--model", model)
    assert "1 model calls, unknown tokens in, unknown out, cost unknown" in ran.err
    again = json.loads(carrel("ask", QUESTION, "--keywords", "--model", model, "--again", "--json").out)
    assert (again["tokens"], again["cost_usd"]) == ({"in": None, "out": None}, None)
    stub.then(filling(usage=None))
    assert "cost unknown" in carrel(*TABLE, "--model", model).err
    shown = carrel("cost").out
    assert "2 unknown" in shown
    assert "0.0" not in shown
    for row in json.loads(carrel("cost", "--json").out):
        assert (row["tokens_in"], row["tokens_out"], row["cost"]) == (None, None, None)
        assert row["unknown"] == row["uncounted"] == row["calls"]


def test_cost_is_by_task_model_and_day_and_adds_up_what_is_known(carrel: Carrel, stub: Stub, folder: Path) -> None:
    """Two days, two tasks, two models; each sum says beside it how many calls are not in it, and so does the last line."""
    stub.then(answering(), answering(usage=None))
    carrel("ask", QUESTION, "--keywords", "--model", KNOWN)
    carrel("ask", QUESTION, "--keywords", "--model", KNOWN, "--again")
    stub.then(filling())
    carrel(*TABLE, "--model", UNKNOWN)
    with sqlite3.connect(folder / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE call SET started = '2026-01-02' || substr(started, 11) WHERE id = 1")
    ledger.close()
    spent = json.loads(carrel("cost", "--json").out)
    assert [(row["task"], row["model"], row["calls"], row["tokens_in"], row["unknown"], row["uncounted"]) for row in spent] == [
        ("ask", KNOWN, 1, 11, 0, 0),
        ("ask", KNOWN, 1, None, 1, 1),
        ("table", UNKNOWN, 3, 33, 3, 0),
    ]
    assert [row["cost"] for row in spent] == [pytest.approx(KNOWN_COST), None, None]
    assert spent[0]["day"] == "2026-01-02"
    lines = carrel("cost").out.splitlines()
    assert len(lines) == 5
    assert lines[-1].split() == ["in", "all", "5", "44", "+", "1", "unknown", "12", "+", "1", "unknown", "less", "than", "0.0001", "+", "4", "unknown"]


def test_the_price_before_is_ones_own_where_it_is_set(carrel: Carrel, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal the price is printed and nothing is sent; `--yes` prints it and goes on."""
    monkeypatch.setenv("CARREL_PRICE_IN", "100")
    monkeypatch.setenv("CARREL_PRICE_OUT", "1000")
    words = ("draft", "d", "--topic", "rewards", "--paragraphs", "6", "--model", UNKNOWN)
    ran = carrel(*words)
    assert (ran.code, stub.requests) == (2, 0)
    assert "about 7 calls" in ran.err
    assert "US dollars; add --yes to go on" in ran.err
    stub.then(behave.failing(401))
    ran = carrel(*words, "--yes")
    assert (ran.code, stub.requests) == (77, 1)
    assert "about 7 calls" in ran.err


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[model]\nprice_in = 1\n", "go together"),
        ("[model]\nprice_in = -1\nprice_out = 1\n", "at least 0"),
        ("[budget]\nusd = nan\n", "budget.usd"),
        ("[budget]\nusd = -2\n", "at least 0"),
        ("[budget]\ntokens = 1.5\n", "a whole number"),
        ("[model]\nconcurrency = 0\n", "at least 1"),
        ("[model]\ndeadline_s = inf\n", "model.deadline_s"),
    ],
)
def test_a_setting_that_no_budget_can_hold_by_is_refused(carrel: Carrel, stub: Stub, folder: Path, toml: str, said: str) -> None:
    """Half a price, a price below nothing, a budget that is no number: named, before anything is sent."""
    (folder / "carrel.toml").write_text(toml, "utf-8")
    ran = carrel(*TABLE, "--model", UNKNOWN)
    assert (ran.code, stub.requests) == (78, 0)
    assert said in ran.err


def test_a_price_of_a_provider_that_the_list_does_not_have_is_unknown(carrel: Carrel, stub: Stub) -> None:
    """A known model's name at a provider without a list price is no reason to fail."""
    ran = carrel("draft", "d", "--topic", "rewards", "--paragraphs", "6", "--model", "hosted_vllm/gpt-4o-mini")
    assert (ran.code, "price unknown" in ran.err) == (2, True)
