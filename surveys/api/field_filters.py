"""Filters by fields of metadata: `field.campaign=mail` in the query of listings, exports and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from communities.errors import refuse
from surveys.models import Project
from surveys.services import metadata
from surveys.services.results import sent_fields

PREFIX = "field."
PARAMETER = OpenApiParameter(
    "field.name",
    str,
    description=(
        "Only responses whose field has exactly this value, for instance `field.campaign=mail`: in place of "
        "`name` stands the name of a field of `metadata`, declared in `settings.hidden_fields` or sent with "
        "some response. An empty value selects the responses that were not given the field. Filters by "
        f"several fields must all match, {metadata.MAX_FIELDS} at most. An unknown name is `400 "
        "invalid_request`."
    ),
    examples=[OpenApiExample("By campaign", "mail", parameter_only=("field.name", "query"))],
)


class FieldValue(serializers.CharField):
    """A value as it was sent along, white space included."""

    def __init__(self) -> None:
        super().__init__(
            required=False, allow_blank=True, trim_whitespace=False, max_length=metadata.MAX_VALUE
        )


def with_fields(shape: type[serializers.Serializer[Any]], request: Request) -> Any:
    """The shape of a query, with a parameter for each field that it names."""
    names = [name for name in request.GET if name.startswith(PREFIX)]
    fields = {name: FieldValue() for name in names if metadata.is_key(name.removeprefix(PREFIX))}
    return type(shape.__name__, (shape,), fields)


def of_query(query: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The names and values in a query that was read by such a shape."""
    return tuple(sorted(query.get("field", {}).items()))


def require_known(fields: Sequence[tuple[str, str]], *, project: Project) -> None:
    """Refuse too many fields, and those that are neither declared nor known from any response."""
    if len(fields) > metadata.MAX_FIELDS:
        by = f"{PREFIX}{fields[metadata.MAX_FIELDS][0]}"
        refuse(by, "too_many", f"At most {metadata.MAX_FIELDS} fields can filter.")
    undeclared = {f"{PREFIX}{name}": name for name, _ in fields if name not in project.hidden_fields}
    sent_fields.refuse_unknown(project_id=project.pk, names=undeclared)
