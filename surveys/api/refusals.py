"""Refusals that only a few operations can return, for the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from surveys.api.blocks import ref

TOO_FEW_CREDITS = OpenApiResponse(
    ref("Error"),
    description="The community has too few credits left.",
    examples=[
        OpenApiExample(
            "payment_required",
            {
                "error": "payment_required",
                "message": "This takes 3 credits, and the community has 1 credit left.",
            },
        )
    ],
)
