import select

from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper


class DatabaseWrapper(PostgresWrapper):
    def is_usable(self) -> bool:
        """Whether the kept connection still works.

        Django asks before each request's first query, by `SELECT 1`. A connection on which nothing waits to
        be read was not closed by the server, and the kernel tells that at once; only where something waits,
        or where a query has failed before, does the server have to answer.
        """
        if self.connection is None:
            return False
        if (
            not self.errors_occurred
            and not self.connection.closed
            and not _has_news(self.connection.fileno())
        ):
            return True
        return bool(super().is_usable())


def _has_news(socket: int) -> bool:
    poll = select.poll()
    poll.register(socket, select.POLLIN | select.POLLERR | select.POLLHUP)
    return bool(poll.poll(0))
