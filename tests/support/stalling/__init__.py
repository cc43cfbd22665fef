"""An app with migrations that take long, wait for locks and create an index, for the tests of `migrate`."""
