"""Sealed references: only their own person can use them, and any other text is refused."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from communities.chat_platform import limits, references
from communities.chat_platform.references import Op, Reference

MOST = 2**63 - 1
any_reference = st.builds(
    Reference,
    op=st.sampled_from(Op),
    subject=st.uuids(),
    block_id=st.integers(0, MOST),
    arg=st.integers(0, MOST),
    step=st.integers(0, 2**32 - 1),
)
people = st.integers(1, 2**63).map(str)


@given(any_reference, people)
def test_a_reference_opens_for_its_person(reference, person):
    sealed = references.seal(reference, platform_id=person)

    assert len(sealed) <= limits.CUSTOM_ID
    assert references.unseal(sealed, platform_id=person) == reference
    assert references.seal(reference, platform_id=person) == sealed


@given(any_reference, people, people)
def test_it_opens_for_nobody_else(reference, person, other):
    sealed = references.seal(reference, platform_id=person)

    assert (references.unseal(sealed, platform_id=other) is None) == (person != other)


@given(any_reference, people)
def test_a_public_reference_opens_for_everybody_and_is_never_a_private_one(reference, person):
    sealed = references.seal(reference, platform_id=None)

    assert references.unseal(sealed, platform_id=person) == reference
    assert references.unseal(f"c1.{sealed[3:]}", platform_id=person) is None


@given(any_reference, people, st.data())
def test_no_changed_text_opens(reference, person, data):
    sealed = references.seal(reference, platform_id=person)
    place = data.draw(st.integers(0, len(sealed) - 1))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.ä "
    letter = data.draw(st.sampled_from([each for each in letters if each != sealed[place]]))

    assert references.unseal(sealed[:place] + letter + sealed[place + 1 :], platform_id=person) is None


@given(st.text(max_size=120), people)
def test_no_text_of_others_opens(text, person):
    assert references.unseal(text, platform_id=person) is None


def test_ids_cannot_be_read_out_of_it():
    subject = uuid.uuid4()
    sealed = references.seal(Reference(Op.ANSWER, subject), platform_id="1")

    assert subject.hex not in sealed
    assert str(subject) not in sealed
