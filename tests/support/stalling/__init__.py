"""An app whose migrations take long, wait for locks and create an index, for the tests of `migrate`."""
