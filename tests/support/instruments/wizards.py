"""A personality quiz of our own: which wizard are you? Buckets come from the weights, argmax decides."""

from __future__ import annotations

from tests.support.instruments.blocks import choice, computes, option, says, where

KINDS = {"fire_mage": "Fire Mage", "sea_witch": "Sea Witch", "seer": "Seer"}

PROJECT = {
    "name": "Which wizard are you?",
    "type": "convo",
    "scoring_enabled": True,
    "script": {
        "blocks": [
            choice(
                "evening",
                "How do you spend an evening?",
                [
                    option("by the fire", {"fire_mage": 2}),
                    option("by the sea", {"sea_witch": 2}),
                    option("with the stars", {"seer": 2}),
                ],
            ),
            {
                "name": "tools",
                "type": "multi_punch",
                "prompt": "What do you carry?",
                "options": [
                    option("torch", {"fire_mage": 1, "seer": 0.5}),
                    option("shell", {"sea_witch": 1}),
                    option("mirror", {"seer": 1, "sea_witch": 0.5}),
                ],
            },
            {
                "name": "temper",
                "type": "rating",
                "prompt": "How hot is your temper?",
                "max": 3,
                "options": [
                    option(1, {"fire_mage": -1, "seer": 1}, "cool"),
                    option(2, {"sea_witch": 1}, "lukewarm"),
                    option(3, {"fire_mage": 1.5}, "hot"),
                ],
            },
            computes("kind", f"argmax({', '.join(f'[score_{key}]' for key in KINDS)})"),
            computes("other end", f"argmax({', '.join(f'[score_{key}]' for key in reversed(KINDS))})"),
            says("result", "You are a [kind]. [score_fire_mage], [score_sea_witch], [score_seer]; [score]."),
            *(
                says(f"about {key}", f"On being a {kind}.", show_when=where("kind", "eq", kind))
                for key, kind in KINDS.items()
            ),
            says("torn", "You are torn.", precondition="kind = other_end"),
        ]
    },
}
