"""Filters by fields of metadata, and by an expression, in the query of listings, exports and results:
`field.campaign=mail`, and `where=q1 = "Yes"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema_serializer
from rest_framework import serializers

from communities.gate.fields import PrefixedParameters, StrictStringField
from communities.ground.sent_text import sent_text
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.where import MAX_NAMES
from surveys.models import Project
from surveys.services.counting import sent_fields
from surveys.services.ground import metadata

PREFIX = "field."
PARAMETER = OpenApiParameter(
    "field.name",
    str,
    description=(
        "Only responses whose field has exactly this value, for instance `field.campaign=mail`. An empty "
        f"value selects those without the field. All filters must match, {metadata.MAX_FIELDS} at most. An "
        "unknown name is `400`."
    ),
    examples=[OpenApiExample("By campaign", "mail", parameter_only=("field.name", "query"))],
)


class Fields(PrefixedParameters):
    """Values of metadata, by the names of fields."""

    max_parameters = metadata.MAX_FIELDS

    def to_internal_value(self, data: dict[str, str]) -> dict[str, str]:
        # Only after the length of the list was checked; and a null character is not a blank text.
        return {name: sent_text(value) for name, value in super().to_internal_value(data).items()}

    def problem(self, name: str, value: str) -> tuple[str, str] | None:
        if not metadata.is_key(name):
            return "not_allowed", f"The names of fields have 1 to {metadata.MAX_KEY} of a-z, 0-9 and _."
        if len(value) > metadata.MAX_VALUE:
            return "too_long", f"Values of fields have at most {metadata.MAX_VALUE} characters."
        return ("invalid", "Values of fields have no null characters.") if "\0" in value else None


class SuspectedField(serializers.ChoiceField):
    """`true` or `false` in a query."""

    def to_internal_value(self, data: Any) -> bool:  # type: ignore[override] # the choices are texts
        return bool(super().to_internal_value(data) == "true")


@extend_schema_serializer(exclude_fields=["field"])  # `PARAMETER` describes it
class FilteredByFields(serializers.Serializer[Any]):
    """Queries that can filter by fields, by an expression, and by the mark of suspected responses."""

    suspected = SuspectedField(
        ["true", "false"], required=False, help_text="Only responses with this value of `suspected`."
    )
    field = Fields(required=False)
    where = StrictStringField(
        required=False,
        max_length=MAX_LENGTH,
        help_text=(
            "Only responses that satisfy this expression over blocks, scores, `field.<name>`, `language`, "
            "and what an analysis read (`themes.<block>`, `sentiment.<block>`): for instance "
            '`recommend >= 9 AND "Price" in themes.why`. At most '
            f"{MAX_NAMES} names. A fault is `400` with its `column`. "
            "[Expressions](/docs/details#expressions-that-select-responses)."
        ),
    )


def of_query(query: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a selection in a query that was read with this shape: fields and an expression."""
    return {"fields": tuple(sorted(query.get("field", {}).items())), "where": query.get("where")}


def require_known(fields: Sequence[tuple[str, str]], *, project: Project) -> None:
    """Refuse fields that are neither declared nor known from any response."""
    undeclared = {f"{PREFIX}{name}": name for name, _ in fields if name not in project.hidden_fields}
    sent_fields.refuse_unknown(project_id=project.pk, names=undeclared)
