"""What can be decided without a database, a clock or chance: plain Python on frozen data."""
