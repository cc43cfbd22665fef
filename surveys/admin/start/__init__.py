"""“Start from…”: scripts by AI, templates, files and other projects, for the script editor."""
