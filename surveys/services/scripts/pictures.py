"""Pictures in scripts: their allowed hosts, and requests for copies of new pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from communities.ground.web_addresses import BadAddress
from communities.services.pictures import copies
from communities.services.pictures.places import Place
from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.script import Block, Script, Violation
from surveys.models import Project

KEYS = ("image_url", "thumbnail_url")
PLACES = tuple(
    Place(
        (f"surveys_block.{key}",),
        f"SELECT p.community_id, b.{key} AS address FROM surveys_block b "
        f"JOIN surveys_project p ON p.id = b.project_id WHERE b.{key} IS NOT NULL",
    )
    for key in KEYS
)


def addresses(script: Script) -> set[str]:
    """The addresses of all pictures of a script."""
    blocks = (*script.blocks, *script.outro)
    return {address for block in blocks for key in KEYS if (address := getattr(block, key))}


def faults(
    placed: Iterable[tuple[Block, BlockPath]], before: Script, *, invalid_fields: Set[str]
) -> Iterator[Violation]:
    """Violations for addresses on hosts that are not allowed for pictures.

    Addresses of the stored script are accepted.
    """
    known = addresses(before)
    for block, path in placed:
        for key in KEYS:
            address = getattr(block, key)
            if address and address not in known and not is_invalid(path.field(key), invalid_fields):
                try:
                    copies.check_address(address)
                except BadAddress as error:
                    yield Violation(path.field(key), error.code, f"`{key}` {error.reason}")


def want_new(project_id: int, *, before: Script, after: Script) -> None:
    """Request copies of the pictures that a script has now and did not have before."""
    if new := addresses(after) - addresses(before):
        community_id = Project.objects.values_list("community_id", flat=True).get(pk=project_id)
        copies.want(community_id=community_id, addresses=new)
