"""Saving a script that two people edit: the second person who saves sees the changes of the first.

Only the script itself is compared. A project's revision also grows when its settings change, such as scoring.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from communities.ground.errors import Conflict
from surveys.engine.script import PRESENTATION

Json = dict[str, Any]
_POINTS = "score_values"  # The field exists only in scripts that are read while scoring is on.
_PLACED = ("position", "display_order", "key")  # The first two fields follow from the order.
_WRITABLE_OUTRO = (*PRESENTATION, "continue")


class Collision(Conflict):
    """The script was changed after the draft was begun.

    `collision` contains three scripts: `base`, from which the draft began (null if unknown), `theirs`, which
    is stored now, and `yours`, the draft. It also contains the stored `revision`, its author and its time.
    """

    def __init__(self, collision: Json) -> None:
        super().__init__("The script was changed by somebody else after you began. Nothing has been lost.")
        self.collision = collision


def is_same(base: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a draft that began from `base` may be saved over `theirs` without undoing another person's
    work.

    The scripts are the same if the revision grew for another reason, such as a reward that was added to the
    outro, or scoring that was turned on. Points are compared only if both scripts were read while scoring was
    on.
    """
    with_points = _has_points(base) and _has_points(theirs)
    if _walked(base, with_points=with_points) != _walked(theirs, with_points=with_points):
        return False
    now = {block["id"]: _presentation(block) for block in theirs if block["section"] == "outro"}
    was = {block["id"]: _presentation(block) for block in base if block["section"] == "outro"}
    return all(now.get(block_id) == presentation for block_id, presentation in was.items())


def fingerprint(blocks: Sequence[Mapping[str, Any]]) -> str:
    """A fingerprint of the script that an editor shows, to check later whether it is still the stored
    script.
    """
    outro = [[block["id"], _presentation(block)] for block in blocks if block["section"] == "outro"]
    parts = [_hash([_walked(blocks, with_points=False), outro])]
    if _has_points(blocks):
        parts.append(_hash(_walked(blocks, with_points=True)))
    return "-".join(parts)


def is_of(remembered: str, blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a fingerprint was taken of this script.

    Points count if the fingerprint was taken while scoring was on.
    """
    return all(
        one == other
        for one, other in zip(remembered.split("-"), fingerprint(blocks).split("-"), strict=False)
    )


def _hash(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()


def _has_points(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the script was read while scoring was on."""
    return any(_POINTS in option for block in blocks for option in block["options"] or ())


def _walked(blocks: Sequence[Mapping[str, Any]], *, with_points: bool) -> list[Json]:
    ignored = _PLACED if with_points else (*_PLACED, _POINTS)
    return [_plain(block, ignored) for block in blocks if block["section"] != "outro"]


def _plain(block: Mapping[str, Any], ignored: Collection[str]) -> Json:
    plain = {name: value for name, value in block.items() if name not in ignored}
    plain["options"] = [
        {name: value for name, value in option.items() if name not in ignored}
        for option in block["options"] or ()
    ]
    return plain


def _presentation(block: Mapping[str, Any]) -> Json:
    return {name: block[name] for name in _WRITABLE_OUTRO}
