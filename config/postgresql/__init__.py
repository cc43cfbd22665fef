"""Django's own PostgreSQL backend, with a health check of a connection that costs no statement."""
