"""The budget of a run: what was spent, what the calls under way may still cost, and no more.

Where a provider sends no usage, tokens are estimated from the characters and said to be about right; nothing that is
unknown counts as nothing. Where no price is known a budget of money cannot hold, which is said once, before the first call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from assistant.errors import BudgetReached
from assistant.gateway.message import Reply, Request, Usage

CHARACTERS_PER_TOKEN: Final = 4
GOES_ON: Final = "what is done is kept, and the same command goes on from there"


@dataclass(frozen=True, slots=True)
class Share:
    """What a call under way may cost at least."""

    usd: float
    tokens: int


class Budget:
    """The caps of one run in US dollars and in tokens, None for none; `price` is the model's, `notice` tells the person."""

    def __init__(
        self,
        *,
        usd: float | None = None,
        tokens: int | None = None,
        price: Callable[[Usage], float | None] = lambda usage: None,
        notice: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._usd = usd
        self._tokens = tokens
        self._price = price
        self._notice = notice
        self._spent = Share(0.0, 0)
        self._dearest = Share(0.0, 0)
        self._under_way: list[Share] = []
        self._is_estimate = False
        self._is_told = False

    def reserve(self, request: Request) -> Share:
        """The share of a call that is about to be sent; BudgetReached where none is left."""
        self._tell_once()
        self._refuse()
        least = _estimated(request, None)
        share = Share(max(self._dearest.usd, self._price(least) or 0.0), max(self._dearest.tokens, _sum(least)))
        self._under_way.append(share)
        return share

    def release(self, share: Share) -> None:
        """The call of that share is over."""
        self._under_way.remove(share)

    def count(self, request: Request, reply: Reply | None) -> None:
        """Add what a call cost; None is a reply that came but could not be read, which may have been paid."""
        usage, cost = (reply.usage, reply.cost) if reply else (Usage(None, None), None)
        if usage.input is None or usage.output is None:
            usage, self._is_estimate = _estimated(request, reply), True
        call = Share(self._price(usage) or 0.0 if cost is None else cost, _sum(usage))
        self._spent = Share(self._spent.usd + call.usd, self._spent.tokens + call.tokens)
        self._dearest = Share(max(self._dearest.usd, call.usd), max(self._dearest.tokens, call.tokens))

    def _refuse(self) -> None:
        # Calls on their way have no price yet; each may be as dear as the dearest so far.
        about = "about " if self._is_estimate else ""
        if self._usd is not None and self._spent.usd + sum(share.usd for share in self._under_way) >= self._usd:
            raise BudgetReached(f"The budget of ${self._usd:g} (budget.usd) is spent: {about}${self._spent.usd:.4f} in this run; {GOES_ON}")
        if self._tokens is not None and self._spent.tokens + sum(share.tokens for share in self._under_way) >= self._tokens:
            spent = f"{about}{self._spent.tokens:,} in this run"
            raise BudgetReached(f"The budget of {self._tokens:,} tokens (budget.tokens) is spent: {spent}; {GOES_ON}")

    def _tell_once(self) -> None:
        if self._usd is None or self._is_told:
            return
        self._is_told = True
        if self._price(Usage(1, 1)) is None:
            instead = "budget.tokens holds instead" if self._tokens is not None else "set these, or budget.tokens"
            self._notice(
                "the price of this model is not known (model.price_in, model.price_out), so a budget of money cannot stop this run: "
                + instead
            )


def _estimated(request: Request, reply: Reply | None) -> Usage:
    asked = sum(len(message.content) for message in request.messages)
    return Usage(asked // CHARACTERS_PER_TOKEN + 1, len(reply.text if reply else "") // CHARACTERS_PER_TOKEN + 1)


def _sum(usage: Usage) -> int:
    return (usage.input or 0) + (usage.output or 0)
