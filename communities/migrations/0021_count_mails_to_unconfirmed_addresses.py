"""Mails are counted and refused by address (decisions 18.13)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('communities', '0020_keep_pseudonyms_in_the_audit_trail'),
    ]

    operations = [
        migrations.CreateModel(
            name='MailRefusal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address_hash', models.CharField(help_text='A keyed hash of the address.', max_length=32)),
                ('refused_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='MailSum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('mails', models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='mail',
            name='address_hash',
            field=models.CharField(blank=True, db_default='', help_text='A keyed hash of the address, by which mails of a community to it are counted.', max_length=32),
        ),
        migrations.AlterField(
            model_name='member',
            name='mail_refused_at',
            field=models.DateTimeField(blank=True, help_text='When this member unsubscribed at an address that their account had confirmed.', null=True),
        ),
        migrations.AddIndex(
            model_name='mail',
            index=models.Index(condition=models.Q(('address_hash', ''), _negated=True), fields=['community', 'kind', 'created_at'], name='mail_of_community_by_kind'),
        ),
        migrations.AddField(
            model_name='mailrefusal',
            name='community',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='communities.community'),
        ),
        migrations.AddField(
            model_name='mailsum',
            name='community',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='communities.community'),
        ),
        migrations.AddConstraint(
            model_name='mailrefusal',
            constraint=models.UniqueConstraint(fields=('community', 'address_hash'), name='mails_are_refused_once'),
        ),
        migrations.AddConstraint(
            model_name='mailsum',
            constraint=models.UniqueConstraint(fields=('community', 'day'), name='mails_of_a_day_are_counted_once'),
        ),
    ]
