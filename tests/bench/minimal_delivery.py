"""The least that sends webhooks: one SELECT, a POST for each row over one connection, one UPDATE for all.

It does one batch for each line on standard input and answers `done`.
"""

import http.client
import sys

import psycopg

HEADERS = {"Content-Type": "application/json"}


def main(database_url: str, port: int, path: str, webhook_id: int) -> None:
    endpoint = http.client.HTTPConnection("127.0.0.1", port)
    endpoint.connect()
    with psycopg.connect(database_url, autocommit=True) as connection:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            _send_batch(connection, endpoint, path, webhook_id)
            sys.stdout.write("done\n")
            sys.stdout.flush()


def _send_batch(
    connection: psycopg.Connection[tuple[object, ...]],
    endpoint: http.client.HTTPConnection,
    path: str,
    webhook_id: int,
) -> None:
    due = connection.execute(
        "SELECT d.id, e.body FROM webhooks_delivery d JOIN webhooks_event e ON e.id = d.event_id"
        " WHERE d.webhook_id = %s AND d.due_at <= now()",
        [webhook_id],
    ).fetchall()
    sent = []
    for delivery_id, body in due:
        endpoint.request("POST", path, str(body).encode(), HEADERS)
        with endpoint.getresponse() as answer:
            answer.read()
        sent.append((answer.status, delivery_id))
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE webhooks_delivery SET status = 'delivered', due_at = NULL, attempt_count = 1,"
            " response_status = %s, last_attempt_at = now() WHERE id = %s",
            sent,
        )


if __name__ == "__main__":
    _, database_url, port, path, webhook_id = sys.argv
    main(database_url, int(port), path, int(webhook_id))
