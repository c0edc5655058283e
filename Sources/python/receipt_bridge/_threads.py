"""Work in threads, whose results are in order."""
from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

# A batch ends at either limit.
BATCH_ITEMS, BATCH_BYTES = 64, 1 << 20
# Items that arrive more slowly are not waited for: the results so far come first.
PAUSE = 0.001


def in_order(items: Iterator[Item], work: Callable[[list[Item]], list[Result]], size: Callable[[Item], int],
             workers: int) -> Generator[Result, None, None]:
    """Yields the result of each item; `work` returns those of several. An exception of the items is raised after the results of those before it.

    No thread lives longer than the generator. In a forked child, which has no threads, the generator goes on without them."""
    if workers == 1:
        return (work([item])[0] for item in items)
    return _in_threads(items, work, size, workers)


def _in_threads(items: Iterator[Item], work: Callable[[list[Item]], list[Result]], size: Callable[[Item], int],
                workers: int) -> Generator[Result, None, None]:
    # Its import takes longer than that of all the rest, and one receipt needs no threads.
    from concurrent.futures import ThreadPoolExecutor

    pool, process = ThreadPoolExecutor(workers, "receipt-bridge"), os.getpid()
    pending: deque[tuple[list[Item], Future[list[Result]] | None]] = deque()

    def results() -> list[Result]:
        batch, future = pending.popleft()
        return future.result() if future and os.getpid() == process else work(batch)

    try:
        failure: Exception | None = None
        while failure is None:
            batch, failure, is_slow = _batch(items, size)
            pending.append((batch, pool.submit(work, batch) if os.getpid() == process else None))
            while pending and (is_slow or len(pending) > 2 * workers):
                yield from results()
        while pending:
            yield from results()
        if not isinstance(failure, StopIteration):
            raise failure
    finally:
        pool.shutdown(wait=os.getpid() == process, cancel_futures=True)


def _batch(items: Iterator[Item], size: Callable[[Item], int]) -> tuple[list[Item], Exception | None, bool]:
    """Returns a batch, the exception after it, and whether it ended because its last item was waited for."""
    batch: list[Any] = []
    total = 0
    while len(batch) < BATCH_ITEMS and total < BATCH_BYTES:
        begin = time.perf_counter()
        try:
            item = next(items)
        except Exception as error:
            return batch, error, False
        batch.append(item)
        total += size(item)
        if time.perf_counter() - begin > PAUSE:
            return batch, None, True
    return batch, None, False
