"""Each factory makes a row that the database accepts, alone and in numbers."""

import pytest
from factory.django import DjangoModelFactory

from tests import factories

FACTORIES = sorted(
    (
        each
        for each in vars(factories).values()
        if isinstance(each, type) and each.__module__ == factories.__name__
    ),
    key=lambda each: each.__name__,
)


@pytest.mark.django_db
@pytest.mark.parametrize("factory", FACTORIES)
def test_a_factory_makes_valid_rows(factory: type[DjangoModelFactory]) -> None:
    rows = factory.create_batch(2)

    assert len({row.pk for row in rows}) == 2
    for row in rows:
        row.refresh_from_db()
