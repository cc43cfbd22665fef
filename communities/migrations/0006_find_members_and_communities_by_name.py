from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("communities", "0005_keep_an_audit_trail"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="member",
            index=models.Index(fields=["community", "-id"], name="member_newest"),
        ),
        AddIndexConcurrently(
            model_name="member",
            index=models.Index(fields=["community", "access", "-id"], name="member_newest_by_access"),
        ),
        AddIndexConcurrently(
            model_name="member",
            index=GinIndex(SearchVector("nick", config="simple"), name="member_by_words_of_nick"),
        ),
        AddIndexConcurrently(
            model_name="user",
            index=GinIndex(
                SearchVector("name", config="simple"),
                condition=~models.Q(name=""),
                name="user_by_words_of_name",
            ),
        ),
        AddIndexConcurrently(
            model_name="community",
            index=GinIndex(SearchVector("name", config="simple"), name="community_by_words_of_name"),
        ),
    ]
