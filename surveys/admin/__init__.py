"""The admin pages of this app."""

from surveys.admin import home, jobs, member_list, people, planned_times, projects, script_history  # noqa: F401 - they register
