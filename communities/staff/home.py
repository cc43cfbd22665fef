"""The cards of the home page. Each app adds its own cards, so this app need not know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from communities.ground.actors import Actor


@dataclass(frozen=True, slots=True)
class Card:
    """A card of the home page: a template of its own with its context. Cards are sorted by `order`."""

    order: int
    template: str
    context: dict[str, object]


CardSource = Callable[[HttpRequest, Actor], Sequence[Card]]
_sources: list[CardSource] = []


def add_cards(source: CardSource) -> CardSource:
    """Register a function that returns cards for an actor in the current community. A decorator."""
    _sources.append(source)
    return source


@dataclass(frozen=True, slots=True)
class Attention:
    """One matter that needs attention, and its page."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step of the list for a new community. A finished step is ticked."""

    order: int
    text: str
    address: str
    is_done: bool


AttentionSource = Callable[[HttpRequest, Actor], Sequence[Attention]]
StepSource = Callable[[HttpRequest, Actor], Sequence[FirstStep]]
_attention: list[AttentionSource] = []
_steps: list[StepSource] = []


def add_attention(source: AttentionSource) -> AttentionSource:
    """Register a function that returns matters that need attention in the current community. A decorator."""
    _attention.append(source)
    return source


def add_first_steps(source: StepSource) -> StepSource:
    """Register a function that returns steps for a new community. A decorator."""
    _steps.append(source)
    return source


def attention(request: HttpRequest, actor: Actor) -> list[Attention]:
    """All matters that need the actor's attention, except those that their role may not see."""
    return [each for source in _attention for each in source(request, actor)]


def first_steps(request: HttpRequest, actor: Actor) -> list[FirstStep]:
    """The steps of a new community in order; none once all are done."""
    steps = [each for source in _steps for each in source(request, actor)]
    if all(each.is_done for each in steps):
        return []
    return sorted(steps, key=lambda each: each.order)


def cards(request: HttpRequest, actor: Actor) -> list[Card]:
    """The cards that the actor sees, in order. A source returns no card that the actor's role may not see."""
    return sorted(
        (card for source in _sources for card in source(request, actor)), key=lambda card: card.order
    )
