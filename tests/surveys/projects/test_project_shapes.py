import pytest
from rest_framework import serializers

from surveys.api import examples
from surveys.api.blocks import components
from surveys.api.project_out import NewProjectOut, ProjectOut
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.cases import try_each
from tests.support.surveys.project_fields import EVERYTHING


def keys_of(shape):
    """The keys of a schema, including the keys of its groups."""
    return {
        name: keys_of(field) if isinstance(field, serializers.Serializer) else None
        for name, field in shape.fields.items()
    }


def keys_in(told, promised):
    """The keys of a returned object, as deep as the interface documents them."""
    return {
        key: keys_in(value, promised.get(key))
        if promised.get(key) and value is not None
        else promised.get(key)
        for key, value in told.items()
    }


@pytest.mark.django_db
@pytest.mark.parametrize("fields", [{}, EVERYTHING])
def test_a_project_is_told_as_the_schema_promises(fields):
    caller = Caller()
    made = caller.make(CHOICE, TEXT, **fields)

    read = caller.get(f"/projects/{made['id']}").json()

    assert keys_in(read, keys_of(ProjectOut())) == keys_of(ProjectOut())
    assert keys_in(made, keys_of(NewProjectOut())) == keys_of(NewProjectOut())


@try_each("example", [examples.PROJECT, examples.OPEN_PROJECT, examples.UPDATED_PROJECT])
def test_the_examples_are_as_the_schema_promises(example):
    assert keys_in(example, keys_of(ProjectOut())) == keys_of(ProjectOut())


def test_the_example_of_a_block_has_the_keys_of_a_block():
    _, own = components()["BlockPatch"]["allOf"]
    promised = {**components()["BlockFields"]["properties"], **own["properties"]}

    assert set(examples.BLOCK) == {key for key, field in promised.items() if not field.get("writeOnly")}


@pytest.mark.django_db
def test_the_examples_can_be_sent():
    caller = Caller()
    made = caller.post("/projects", examples.NEW_PROJECT_SENT)
    path = f"/projects/{made.json()['id']}"

    assert made.status_code == 201
    assert made.json()["script"]["blocks"][1]["precondition"] == examples.SCRIPT["blocks"][1]["precondition"]
    assert caller.patch(path, examples.UPDATE_SENT).status_code == 200
    assert caller.put(f"{path}/script", examples.SCRIPT_SENT).status_code == 200
