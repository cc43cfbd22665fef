import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("communities", "0021_count_mails_to_unconfirmed_addresses"),
    ]

    operations = [
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.TextField(help_text='As it was written.')),
                ('name', models.CharField(max_length=32, unique=True)),
                ('content', models.BinaryField(blank=True, null=True)),
                ('content_type', models.CharField(blank=True, db_default='', max_length=10)),
                ('width', models.PositiveIntegerField(blank=True, null=True)),
                ('height', models.PositiveIntegerField(blank=True, null=True)),
                ('size', models.PositiveIntegerField(db_default=0, help_text='In bytes.')),
                ('digest', models.CharField(blank=True, db_default='', help_text='SHA-256 of the copy.', max_length=64)),
                ('problem', models.CharField(blank=True, db_default='', help_text='Why the last attempt failed, in a sentence.', max_length=300)),
                ('attempt_count', models.PositiveSmallIntegerField(db_default=0)),
                ('wanted_at', models.DateTimeField(help_text='When the address was last written.')),
                ('fetched_at', models.DateTimeField(blank=True, null=True)),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('community', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='communities.community')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='picture_to_fetch')],
                'constraints': [models.UniqueConstraint(models.F('community'), django.db.models.functions.text.MD5('address'), name='picture_is_copied_once_in_a_community'), models.CheckConstraint(condition=models.Q(models.Q(('content', None), ('fetched_at', None), ('height', None), ('size', 0), ('width', None)), models.Q(('content__isnull', False), ('content_type__in', ['image/jpeg', 'image/png', 'image/webp']), ('fetched_at__isnull', False), ('height__gte', 1), ('size__gte', 1), ('width__gte', 1)), _connector='OR'), name='picture_is_whole_or_missing')],
            },
        ),
    ]
