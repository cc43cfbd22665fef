"""The CDC's four Healthy Days questions: a capped sum, without scoring.

Centers for Disease Control and Prevention, "Measuring healthy days", 2000, in the public domain: physically
and mentally unhealthy days of the last 30 are added, and are 30 at most; healthy days are the rest. Frequent
mental distress is 14 mentally unhealthy days or more. State Health Access Data Assistance
Center, "State Health Compare: unhealthy days" (notes on the measure, undated), works one through: 17 mentally
and 20 physically unhealthy days come to 30.
"""

from __future__ import annotations

from tests.support.instruments.blocks import choice, computes, number, option, says, where

PROJECT = {
    "name": "Healthy Days",
    "type": "convo",
    "script": {
        "blocks": [
            choice(
                "general health",
                "Would you say that in general your health is:",
                [option(value) for value in ("Excellent", "Very good", "Good", "Fair", "Poor")],
                required=False,
            ),
            number("physical days", "For how many days was your physical health not good?", 0, 30),
            number("mental days", "For how many days was your mental health not good?", 0, 30),
            computes("sum", "[physical days] + [mental days]"),
            computes("unhealthy", "if [sum] > 30 then 30 else [sum]"),
            number(
                "limited days",
                "For how many of these [unhealthy] days did it keep you from what you usually do?",
                0,
                30,
                show_when=where("unhealthy", "gt", 0),
            ),
            computes("healthy", "30 - [q5]"),
            says("result", "[unhealthy] unhealthy days, [healthy] healthy ones. [score]"),
            says("frequent distress", "Frequent mental distress.", show_when=where("mental days", "gte", 14)),
            says("all bad", "The whole month.", show_when=where("$q5", "eq", 30)),
        ]
    },
}


def unhealthy(physical: int, mental: int) -> int:
    return min(30, physical + mental)
