"""The owner of an account."""

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount

from communities.ground.errors import Conflict, NotFound
from communities.models import Identity, SourceToken, User
from communities.services.people import identities, members, source_tokens
from communities.services.people.identities import BelongsToAnother
from tests.factories import CommunityFactory, IdentityFactory, UserFactory
from tests.support.concurrency import run_together
from tests.support.identity_providers.server import Platforms
from tests.support.moments import NOON

LATER = NOON + timedelta(days=1)


def _sign_in(platform_id: str = "1", *, provider: str = "chat", name: str = "Nelly") -> Identity:
    return identities.sign_in(provider=provider, platform_id=platform_id, name=name, at=NOON)


@pytest.mark.django_db
def test_a_first_sign_in_makes_a_user_without_password_and_e_mail() -> None:
    identity = _sign_in()

    user = User.objects.get()
    assert identity.user == user
    assert (user.name, user.email, user.has_usable_password()) == ("Nelly", "", False)
    assert (identity.name, identity.proven_at) == ("Nelly", NOON)
    assert not EmailAddress.objects.exists()
    mirrored = SocialAccount.objects.get()
    assert (mirrored.user_id, mirrored.provider, mirrored.uid) == (user.pk, "chat", "1")


@pytest.mark.django_db
def test_a_second_sign_in_finds_the_same_user_under_a_new_name() -> None:
    first = _sign_in()

    second = identities.sign_in(provider="chat", platform_id="1", name="Nell", at=LATER)

    assert second.user_id == first.user_id
    assert (second.name, second.proven_at) == ("Nell", LATER)
    assert User.objects.get().name == "Nelly"
    assert SocialAccount.objects.get().extra_data == {"name": "Nell"}


@pytest.mark.django_db
def test_somebody_whom_staff_added_with_this_id_is_that_user() -> None:
    user = UserFactory.create(name="")
    IdentityFactory.create(user=user, platform_id="1")

    identity = _sign_in()

    user.refresh_from_db()
    assert identity.user == user
    assert (user.name, user.has_usable_password()) == ("Nelly", False)
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_the_same_id_elsewhere_is_somebody_else() -> None:
    community = CommunityFactory.create()
    respondent = members.user_for_external_id(community_id=community.pk, external_id="1")

    on_chat, on_video = _sign_in(), _sign_in(provider="video")

    assert len({respondent, on_chat.user_id, on_video.user_id}) == 3


@pytest.mark.django_db
def test_an_account_can_be_connected_to_a_user() -> None:
    user = UserFactory.create()

    identity = identities.connect(user_id=user.pk, provider="video", platform_id="v", name="N", at=NOON)

    assert identity.user_id == user.pk
    assert _sign_in("v", provider="video").user_id == user.pk


@pytest.mark.django_db
def test_an_account_of_another_user_is_not_taken_over() -> None:
    theirs, user = _sign_in(), UserFactory.create()

    with pytest.raises(BelongsToAnother) as caught:
        identities.connect(user_id=user.pk, provider="chat", platform_id="1", name="Thief", at=LATER)

    theirs.refresh_from_db()
    assert (caught.value.identity_id, caught.value.user_id) == (theirs.pk, theirs.user_id)
    assert (theirs.name, theirs.proven_at) == ("Nelly", NOON)
    assert SocialAccount.objects.get().user_id == theirs.user_id


@pytest.mark.django_db
def test_the_only_way_to_sign_in_is_not_disconnected(platforms: Platforms) -> None:
    identity = _sign_in()

    with pytest.raises(Conflict, match="only way to sign in"):
        identities.disconnect(user_id=identity.user_id, identity_id=identity.pk)

    assert SocialAccount.objects.count() == 1


@pytest.mark.django_db
def test_a_disconnected_account_is_gone_with_its_token_and_a_stranger_again(platforms: Platforms) -> None:
    identity = _sign_in()
    identities.connect(user_id=identity.user_id, provider="video", platform_id="v", name="N", at=NOON)
    source_tokens.save(identity_id=identity.pk, access="a", refresh="r", expires_at=None)

    identities.disconnect(user_id=identity.user_id, identity_id=identity.pk)

    assert [each.provider for each in identities.connected(user_id=identity.user_id)] == ["video"]
    assert [each.provider for each in SocialAccount.objects.all()] == ["video"]
    assert not SourceToken.objects.exists()
    assert _sign_in().user_id != identity.user_id


@pytest.mark.django_db
def test_an_account_of_a_source_that_is_not_offered_is_no_way_to_sign_in() -> None:
    identity = _sign_in()
    identities.connect(user_id=identity.user_id, provider="video", platform_id="v", name="N", at=NOON)

    with pytest.raises(Conflict):
        identities.disconnect(user_id=identity.user_id, identity_id=identity.pk)


@pytest.mark.django_db
def test_a_password_is_another_way_to_sign_in() -> None:
    identity = _sign_in()
    identity.user.set_password("correct horse")
    identity.user.save()

    identities.disconnect(user_id=identity.user_id, identity_id=identity.pk)

    assert not Identity.objects.exists()


@pytest.mark.django_db
def test_an_account_of_somebody_else_cannot_be_disconnected() -> None:
    identity = _sign_in()

    with pytest.raises(NotFound):
        identities.disconnect(user_id=UserFactory.create().pk, identity_id=identity.pk)


@pytest.mark.django_db(transaction=True)
def test_two_first_sign_ins_at_once_make_one_user() -> None:
    results = run_together(*[_sign_in] * 4)

    assert len({each.user_id for each in results}) == 1
    assert User.objects.count() == SocialAccount.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_last_two_accounts_are_not_both_disconnected_at_once(platforms: Platforms) -> None:
    chat = _sign_in()
    video = identities.connect(user_id=chat.user_id, provider="video", platform_id="v", name="N", at=NOON)

    results = run_together(
        *(
            lambda each=each: identities.disconnect(user_id=each.user_id, identity_id=each.pk)
            for each in (chat, video)
        )
    )

    assert sorted(type(each).__name__ for each in results) == ["Conflict", "NoneType"]
    assert Identity.objects.count() == 1
