import select

from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper


class DatabaseWrapper(PostgresWrapper):
    def is_usable(self) -> bool:
        """Whether the persistent connection still works.

        Django calls this before the first query of each request, and by default it sends `SELECT 1`. A
        connection without unread data was not closed by the server, which the kernel knows without a round
        trip. Only if there is unread data, or after a failed query, do we ask the server.
        """
        if self.connection is None:
            return False
        if (
            not self.errors_occurred
            and not self.connection.closed
            and not _has_unread_data(self.connection.fileno())
        ):
            return True
        return bool(super().is_usable())


def _has_unread_data(socket: int) -> bool:
    poll = select.poll()
    poll.register(socket, select.POLLIN | select.POLLERR | select.POLLHUP)
    return bool(poll.poll(0))
