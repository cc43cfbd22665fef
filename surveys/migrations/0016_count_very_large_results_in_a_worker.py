import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('surveys', '0015_find_responses_by_change_and_provider'),
    ]

    operations = [
        migrations.CreateModel(
            name='ResultsCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('completed', 'Completed'), ('failed', 'Failed')], default='pending', max_length=9)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('deaths', models.PositiveSmallIntegerField(default=0, help_text='Leases in a row that expired without progress.')),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('credits_used', models.PositiveIntegerField(default=0, help_text='Taken before the work.')),
                ('generated_by', models.CharField(blank=True, max_length=16, null=True)),
                ('error', models.TextField(blank=True, null=True)),
                ('created_at', models.DateTimeField()),
                ('completed_at', models.DateTimeField(blank=True, null=True)),
                ('part', models.TextField(help_text='Filters and segmentation, as JSON.')),
                ('revision', models.PositiveIntegerField()),
                ('changes', models.BigIntegerField()),
                ('progress', models.FloatField(default=0.0, help_text='0 to 1.')),
                ('sealed', models.BinaryField(blank=True, null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='surveys.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-id'], name='results_count_of_project')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ['pending', 'running'])), fields=('project', 'part', 'revision'), name='results_are_counted_once_at_a_time')],
            },
        ),
    ]
