"""Tasks of the chat platform wait for access without a time, and edits yield. Threads are looked up."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('communities', '0026_accept_invitations_of_members_without_account'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='chattask',
            name='chat_task_is_due_until_it_is_over',
        ),
        migrations.RemoveIndex(
            model_name='chattask',
            name='chat_task_due',
        ),
        migrations.AddField(
            model_name='chatinstallation',
            name='looked_up',
            field=models.JSONField(blank=True, default=dict, help_text='Threads and new channels, by their ids.'),
        ),
        migrations.AddField(
            model_name='chattask',
            name='yields',
            field=models.BooleanField(db_default=False, default=False, help_text='It is done once nothing is due that does not yield.'),
        ),
        migrations.AlterField(
            model_name='chattask',
            name='status',
            field=models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('blocked', 'Blocked'), ('abandoned', 'Abandoned')], default='pending', max_length=9),
        ),
        migrations.AddIndex(
            model_name='chattask',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['yields', 'due_at'], name='chat_task_due_in_order'),
        ),
        migrations.AddIndex(
            model_name='chattask',
            index=models.Index(condition=models.Q(('status', 'blocked')), fields=['community'], name='chat_task_blocked'),
        ),
        migrations.AddConstraint(
            model_name='chattask',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', True), ('status__in', ['delivered', 'blocked', 'abandoned'])), models.Q(('due_at__isnull', False), ('status__in', ['pending', 'failed'])), _connector='OR'), name='chat_task_is_due_until_it_is_over'),
        ),
    ]
