"""How much one prompt may take: requests, dollars, seconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jupyter_skills.errors import PriceUnknown
from jupyter_skills.models.client import ModelClient, ModelFacts, ModelReply, ModelRequest, Prices, Usage
from jupyter_skills.words import CHARACTERS_PER_TOKEN

# Shorter answers are of no use, so the request is not sent.
_LEAST_ANSWER = 64
# Counts of tokens are estimates; the provider's own may be higher.
_MARGIN = 1.1
_LENGTH_ARGUMENTS = ("max_completion_tokens", "max_tokens")


def _thinking(request: ModelRequest) -> int:
    """How many tokens the model may think; Anthropic takes no shorter limit on its whole answer."""
    thinking = request.arguments.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return budget if isinstance(budget, int) else 0


@dataclass(frozen=True)
class Limits:
    """What one prompt may take. What has been done until a limit is reached is kept.

    Args:
        steps: How many requests may be sent to the model.
        cost: US dollars that all requests together may cost; None for any.
        seconds: How long it may all take, code included; None for any time.
    """

    steps: int = 20
    cost: float | None = None
    seconds: float | None = None


@dataclass
class Purse:
    """What is left of the cost that one prompt may have.

    Args:
        limit: US dollars; None for any.
        facts: The model's prices and the longest answer it gives.
        spent: US dollars so far.
    """

    limit: float | None
    facts: ModelFacts
    spent: float = field(default=0.0)

    async def allowed(self, request: ModelRequest, client: ModelClient) -> ModelRequest | None:
        """The request with its answer held to what can still be paid for; None if that is too little.

        Raises:
            PriceUnknown: There is a limit, and no price.
        """
        if self.limit is None:
            return request
        prices = self._prices(request.model)
        left = self.limit - self.spent - _MARGIN * await client.count(request) * prices.prompt
        if left < _LEAST_ANSWER * prices.completion or left < 0:
            return None
        if not prices.completion:
            return request
        affordable = int(left / prices.completion)
        if affordable <= _thinking(request):
            return None
        name = next((name for name in _LENGTH_ARGUMENTS if request.arguments.get(name)), _LENGTH_ARGUMENTS[1])
        usual = request.arguments.get(name) or self.facts.most_output
        if usual is not None and usual <= affordable:
            return request
        return replace(request, arguments={**request.arguments, name: affordable})

    async def pay(self, request: ModelRequest, reply: ModelReply, client: ModelClient) -> None:
        """Notes what an answer has cost, as far as there is a limit; where nobody has counted, an estimate."""
        if self.limit is None:
            return
        if reply.cost is not None:
            self.spent += reply.cost
            return
        usage = reply.usage
        if usage == Usage():
            written = len(json.dumps(reply.message, default=str)) // CHARACTERS_PER_TOKEN
            usage = Usage(await client.count(request), written)
        self.spent += self._prices(request.model).cost(usage)

    def _prices(self, model: str) -> Prices:
        if self.facts.prices is None:
            raise PriceUnknown(
                f"Nobody knows what '{model}' costs, so a limit on the cost can't be kept",
                "Leave the limit out, or say the price with input_cost_per_token and output_cost_per_token in "
                "JupyterSkills.completion_kwargs",
            )
        return self.facts.prices
