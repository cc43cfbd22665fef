"""The number of threads that numeric libraries use."""

from __future__ import annotations

import threading

from threadpoolctl import threadpool_limits

_this_thread = threading.local()


def use_one_thread() -> None:
    """Keep the numeric libraries to one thread, since the worker already runs one thread for each job.

    The limit is permanent: as a context manager it would be lifted by the first thread that leaves. OpenMP
    stores it for the calling thread only, so each thread sets it once.
    """
    if not getattr(_this_thread, "is_limited", False):
        threadpool_limits(limits=1)
        _this_thread.is_limited = True
