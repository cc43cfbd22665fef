"""The form fields for the address of a picture, and for a colour."""

from __future__ import annotations

from typing import Any

from django import forms

from communities.ground.web_addresses import MAX_LENGTH, BadAddress
from communities.services.pictures import copies


class PictureField(forms.URLField):
    """The https address of a picture on a public host."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, assume_scheme="https", **options)

    def clean(self, value: Any) -> str:
        address = str(super().clean(value) or "")
        if address:
            try:
                copies.check_address(address)
            except BadAddress as error:
                raise forms.ValidationError(f"The address {error.reason}", code=error.code) from None
        return address


class ColourField(forms.RegexField):
    """Six hexadecimal digits, with or without a # before them. The value is in lower case and has no #."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "^#?[0-9A-Fa-f]{6}$",
            required=False,
            max_length=7,
            error_messages={"invalid": "This must be six digits of a colour, such as #4b4fcc."},
            widget=forms.TextInput(attrs={"data-colour": "", "autocomplete": "off"}),
            **options,
        )

    def clean(self, value: Any) -> str:
        return str(super().clean(value) or "").removeprefix("#").lower()
