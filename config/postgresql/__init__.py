"""Django's PostgreSQL backend with a connection health check that needs no statement."""
