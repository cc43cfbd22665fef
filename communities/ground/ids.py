"""Ids of rows: positive integers of at most 64 bits, as the database and other readers of JSON store them."""

MAX_ID = 2**63 - 1
OF_64_BITS = range(-MAX_ID - 1, MAX_ID + 1)
BEYOND_64_BITS = "must be an integer of at most 64 bits."
_MOST_DIGITS = len(str(MAX_ID))


def id_of(text: str) -> int | None:
    """The id in a text; None for other texts, and for numbers that are too large for an id."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        return None
    return number if 0 < (number := int(text)) <= MAX_ID else None
