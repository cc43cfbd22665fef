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
PLACES = (
    *(
        Place(
            (f"surveys_block.{key}",),
            f"SELECT p.community_id, b.{key} AS address FROM surveys_block b "
            f"JOIN surveys_project p ON p.id = b.project_id WHERE b.{key} IS NOT NULL",
        )
        for key in KEYS
    ),
    Place(
        ("surveys_option.image_url",),
        "SELECT p.community_id, o.image_url AS address FROM surveys_option o "
        "JOIN surveys_block b ON b.id = o.block_id JOIN surveys_project p ON p.id = b.project_id "
        "WHERE o.image_url IS NOT NULL",
    ),
)


def addresses(script: Script) -> set[str]:
    """The addresses of all pictures of a script."""
    blocks = (*script.blocks, *script.outro)
    own = {address for block in blocks for key in KEYS if (address := getattr(block, key))}
    return own | {option.image_url for block in blocks for option in block.options if option.image_url}


def faults(
    placed: Iterable[tuple[Block, BlockPath]], before: Script, *, invalid_fields: Set[str]
) -> Iterator[Violation]:
    """Violations for addresses on hosts that are not allowed for pictures.

    Addresses of the stored script are accepted.
    """
    known = addresses(before)
    for block, path in placed:
        of_block = [(path.field(key), key, getattr(block, key)) for key in KEYS]
        of_options = [
            (path.option(n, "image_url"), "image_url", option.image_url)
            for n, option in enumerate(block.options)
            if option.image_url
        ]
        for field, key, address in (*of_block, *of_options):
            if address and address not in known and not is_invalid(field, invalid_fields):
                try:
                    copies.check_address(address)
                except BadAddress as error:
                    yield Violation(field, error.code, f"`{key}` {error.reason}")


def warnings(script: Script, *, community_id: int) -> Iterator[dict[str, object]]:
    """Yield warnings about pictures of a script that could not be fetched, at the fields with their
    addresses.
    """
    problems = copies.problems(community_id=community_id, addresses=addresses(script))
    if not problems:
        return
    for n, block in enumerate((*script.blocks, *script.outro)):
        own = [(key, getattr(block, key)) for key in KEYS]
        of_options = [(f"options[{m}].image_url", each.image_url) for m, each in enumerate(block.options)]
        for field, address in (*own, *of_options):
            if address in problems:
                yield {"field": f"blocks[{n}].{field}", "code": "not_shown", "message": problems[address]}


def want_new(project_id: int, *, before: Script, after: Script) -> None:
    """Request copies of the pictures that a script has now and did not have before."""
    if new := addresses(after) - addresses(before):
        community_id = Project.objects.values_list("community_id", flat=True).get(pk=project_id)
        copies.want(community_id=community_id, addresses=new)
