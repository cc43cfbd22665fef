import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("surveys", "0012_option_fields")]

    operations = [
        migrations.CreateModel(
            name='QuotaCount',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='surveys.project')),
                ('key', models.CharField(max_length=32)),
                ('filled', models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='project',
            name='advance_on_choice',
            field=models.BooleanField(db_default=True, default=True, help_text="On pages, a click or tap on a single choice shows the next question."),
        ),
        migrations.AddField(
            model_name='project',
            name='consent',
            field=models.TextField(blank=True, help_text="The text that respondents agree to before their first answer is stored.", null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='end',
            field=models.JSONField(blank=True, help_text="The button after the last question: `label`, `url` and `redirect`.", null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='ends',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text="Other ends. Respondents get the first end whose expression is true."),
        ),
        migrations.AddField(
            model_name='project',
            name='keep_responses_days',
            field=models.PositiveSmallIntegerField(blank=True, help_text="Responses are deleted after this number of days.", null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='max_completes',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='project',
            name='quotas',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Limits of the completed responses that satisfy an expression.'),
        ),
        migrations.AddField(
            model_name='project',
            name='review',
            field=models.BooleanField(db_default=False, default=False, help_text="Pages show the respondent all answers before the end."),
        ),
        migrations.AddIndex(
            model_name='project',
            index=models.Index(condition=models.Q(('keep_responses_days__isnull', False)), fields=['id'], name='project_forgets'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('max_completes__isnull', True), ('max_completes__gte', 1), _connector='OR'), name='project_has_room_for_a_complete'),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('keep_responses_days__isnull', True), ('keep_responses_days__range', (1, 3650)), _connector='OR'), name='project_keeps_responses_for_1_to_3650_days'),
        ),
    ]
