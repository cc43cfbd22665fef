"""Ids in paths. A path with any other text instead of an id matches no address and is not found."""

from django.urls import register_converter

from communities.ground.ids import id_of


class IdConverter:
    """A positive 64-bit integer without leading zeros: `<id:project_id>`."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        number = id_of(value)
        if number is None:
            raise ValueError(value)
        return number

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(IdConverter, "id")
