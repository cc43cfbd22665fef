"""A choice among cards with pictures; each card describes its choice in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.template import loader
from django.utils.safestring import SafeString, mark_safe

from communities.ground.privacy_words import ANONYMOUS, SEMI_PRIVATE, TRANSPARENT


@dataclass(frozen=True, slots=True)
class Card:
    """One choice. `picture` is the name of a symbol of `pictures.svg` without the prefix `pic-`."""

    label: str
    text: str = ""
    picture: str = ""


class CardSelect(forms.RadioSelect):
    """Radio buttons drawn as cards."""

    template_name = "admin/surveys/project/cards.html"

    def __init__(self, cards: Mapping[str, Card], *, is_small: bool = False) -> None:
        super().__init__()
        self.cards, self.is_small = cards, is_small

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        context["widget"]["is_small"] = self.is_small
        return context

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(*args, **kwargs)
        card = self.cards[str(option["value"] or "")]
        return {**option, "card": card, "attributes": flatatt(option["attrs"])}

    def _render(self, template_name: str, context: Any, renderer: Any = None) -> SafeString:
        # Django draws widgets with an engine of its own, which does not know the project's templates.
        return mark_safe(loader.get_template(template_name).render(context))


class CardField(forms.ChoiceField):
    """A choice among these cards, by value.

    If `is_required` is false, the value of the first card may be empty.
    """

    def __init__(
        self, *, label: str, cards: Mapping[str, Card], help_text: str = "", is_small: bool = False
    ) -> None:
        super().__init__(
            label=label,
            choices=[(value, card.label) for value, card in cards.items()],
            widget=CardSelect(cards, is_small=is_small),
            help_text=help_text,
            required="" not in cards,
        )


PRIVACY = {
    "transparent": Card(TRANSPARENT.name, TRANSPARENT.sentence, "transparent"),
    "semi-private": Card(
        SEMI_PRIVATE.name,
        f"{SEMI_PRIVATE.sentence} Others see totals if you share them, or of a poll when you say so.",
        "semi-private",
    ),
    "anonymous": Card(
        ANONYMOUS.name,
        f"{ANONYMOUS.sentence} Nothing that we store joins answers to people, not even for you.",
        "anonymous",
    ),
}
