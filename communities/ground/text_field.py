"""The form field for a text of people: a name, a message, a search term."""

from __future__ import annotations

from typing import Any

from django import forms

from communities.ground.sent_text import sent_text


class TextField(forms.CharField):
    """A text as `sent_text` returns it. The length of the returned text is checked (rules 1.6 and 1.7)."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return (sent_text(text) or self.empty_value) if isinstance(text, str) else text
