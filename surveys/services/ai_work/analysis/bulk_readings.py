"""Open texts that a provider reads in bulk: an analysis sends them and looks again later."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from surveys import ai
from surveys.ai.provider import Provider, ProviderError, TextReading
from surveys.models import Theme
from surveys.services.ai_work import codebook, readings
from surveys.services.ai_work.analysis.text_reader import MAX_TEXTS_PER_BATCH, Bulk, TextReader, against_newer
from surveys.services.ai_work.readings import Text
from surveys.services.ground import jobs

# A bulk has at most this many texts. The checkpoint contains their ids, and the memory contains their texts
# once the bulk has ended.
MAX_TEXTS_IN_BULK = 10_000
MAX_CHARACTERS_OF_PIECE = 60_000  # A batch in a bulk is one request, so it has at most this many characters.
BULK_LOOKS = timedelta(minutes=1)
# A provider ends a bulk within a day. After this time, single calls read the texts.
MAX_WAIT_FOR_BULK = timedelta(hours=26)


def may_read_in_bulk(reader: TextReader) -> bool:
    """Whether this analysis has enough texts for a bulk, or waits for one."""
    if reader.reads_singly or ai.provider_is_free():
        return False
    return reader.bulk is not None or reader.wanted >= settings.AI_BULK_FROM > 0


def read_in_bulk(
    reader: TextReader,
    block: Mapping[str, Any],
    provider: Provider,
    name: str,
    older_than: int | None,
    version: int,
) -> bool:
    """Read the next texts of a pass in bulk. Return False if single calls read the rest.

    Raises TakenOver while the provider works; a worker looks again later.
    """
    place = place_in_bulk(f"{block['block_id']} {name}")
    if reader.bulk is None and not _begin_bulk(reader, block, provider, name, place, older_than, version):
        return False
    if reader.bulk is None or reader.bulk["place"] != place:  # A bulk of another pass has to end first.
        return False
    outcomes, wave, against = _end_bulk(reader, block, provider, reader.bulk)
    for texts, themes, outcome in zip(wave, against, outcomes, strict=True):
        if outcome is None:
            continue
        kept = [n for n, text in enumerate(texts) if text.text]
        if kept:
            same, read = [texts[n] for n in kept], [outcome[n] for n in kept]
            reader.store(block["block_id"], same, themes, read, reader.bulk["version"], provider.name)
        reader.read_count += len(texts) if name != "grown" else 0
    reader.bulk, reader.has_progressed = None, True
    reader.save(reader.progress())
    return True


def _begin_bulk(
    reader: TextReader,
    block: Mapping[str, Any],
    provider: Provider,
    name: str,
    place: str,
    older_than: int | None,
    version: int,
) -> bool:
    """Send the next texts to the provider in bulk, if there are many texts."""
    count = max(1, MAX_TEXTS_IN_BULK // max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH)))
    wave = reader.batches(
        block["block_id"],
        name,
        place,
        older_than,
        provider,
        count=count,
        characters=MAX_CHARACTERS_OF_PIECE,
    )
    if len(wave) < count and sum(map(len, wave)) < settings.AI_BULK_FROM:
        return False
    against = against_newer(codebook.live(block_id=block["block_id"]), wave)
    batches = reader.text_batches(block, wave, against)
    reader.release_before_call(reader.progress())
    bulk_id = None
    with suppress(ProviderError):
        bulk_id = provider.begin_bulk(batches)
    if bulk_id is None:
        reader.reads_singly = True
        return False
    reader.last[place] = str(wave[-1][-1].conversation_id)
    reader.bulk = {
        "id": bulk_id,
        "place": place,
        "version": version,
        "begun": reader.now().isoformat(),
        "themes": [[theme.pk for theme in themes] for themes in against],
        "texts": [[[str(t.conversation_id), t.version, _digest(t.text)] for t in texts] for texts in wave],
    }
    _wait_for_bulk(reader)
    return True


def _end_bulk(
    reader: TextReader, block: Mapping[str, Any], provider: Provider, bulk: Bulk
) -> tuple[Sequence[Sequence[TextReading | None] | None], list[list[Text]], list[list[Theme]]]:
    """Return the readings of an ended bulk, with its texts and themes.

    A text that has changed since it was sent is empty.
    """
    reader.release_before_call(reader.progress())
    outcomes: Sequence[Sequence[TextReading | None] | None] | None = None
    is_ended = False
    wave: list[list[Text]] = []
    against: list[list[Theme]] = []
    with suppress(ProviderError):
        is_ended = provider.look_at_bulk(bulk["id"]).is_ended
    if is_ended:
        wave, against = _sent(reader, block["block_id"], bulk)
        batches = reader.text_batches(block, wave, against)
        jobs.close_connection()
        with suppress(ProviderError):
            outcomes = provider.end_bulk(bulk["id"], batches)
    if outcomes is not None:
        return outcomes, wave, against
    if reader.now() < datetime.fromisoformat(bulk["begun"]) + MAX_WAIT_FOR_BULK:
        _wait_for_bulk(reader)
    cancel_bulk(bulk["id"])
    reader.reads_singly = True
    return [], [], []


def _sent(reader: TextReader, block_id: int, bulk: Bulk) -> tuple[list[list[Text]], list[list[Theme]]]:
    """Return the texts of a bulk in their order, and the themes against which the provider read them."""
    ids = [uuid.UUID(pk) for texts in bulk["texts"] for pk, _, _ in texts]
    now = readings.texts(block_id=block_id, conversation_ids=ids)
    themes = {theme.pk: theme for theme in Theme.objects.filter(block_id=block_id)}
    gone = Theme(pk=0, block_id=block_id)
    wave = [
        [
            Text(
                uuid.UUID(pk),
                text if _digest(text := now.get(uuid.UUID(pk), "")) == digest else "",
                version,
            )
            for pk, version, digest in texts
        ]
        for texts in bulk["texts"]
    ]
    return wave, [[themes.get(pk, gone) for pk in against] for against in bulk["themes"]]


def _wait_for_bulk(reader: TextReader) -> None:
    """Give the job back until the next look at the bulk."""
    reader.has_progressed = True
    reader.save(reader.progress())
    jobs.pause(reader.job, at=reader.now() + BULK_LOOKS)
    raise jobs.TakenOver


def cancel_bulk(bulk_id: str) -> None:
    """Stop a bulk whose readings nobody needs. Never call this inside a transaction."""
    with suppress(ProviderError):
        ai.get_provider().cancel_bulk(bulk_id)


def place_in_bulk(place: str) -> str:
    """Return the name of a pass's place in bulk. Single calls read the texts that a bulk left unread, from
    the beginning.
    """
    return f"{place} in bulk"


def _digest(text: str) -> str:
    """A digest that shows whether a text has changed since the text was sent."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
