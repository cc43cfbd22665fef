import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('surveys', '0043_find_messages_to_compare'),
    ]

    operations = [
        migrations.AddField(
            model_name='publicmessage',
            name='times_asked',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name='SummaryMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel_id', models.CharField(max_length=20)),
                ('message_id', models.CharField(blank=True, db_default='', help_text='Empty: not posted.', max_length=20)),
                ('fingerprint', models.CharField(blank=True, db_default='', max_length=64)),
                ('changes', models.BigIntegerField(null=True)),
                (
                    'is_deleted',
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text='The message was deleted on the platform: it is not posted again by itself.',
                    ),
                ),
                ('posted_at', models.DateTimeField(null=True)),
                ('edited_at', models.DateTimeField(null=True)),
                ('opening', models.BigIntegerField()),
                (
                    'project',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name='+', to='surveys.project'
                    ),
                ),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(
                        fields=('project', 'opening'), name='project_has_one_summary_for_each_opening'
                    )
                ],
            },
        ),
    ]
