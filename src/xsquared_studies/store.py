"""The results store: a sqlite3 file, one transaction a row, committed the moment it is known.

sqlite keeps half-written rows out, lets processes take turns, and syncs each commit. What it does
not do is keep room on a disk that fills up during a sweep: before one starts, an unnamed file in
the same folder takes the space that its rows will need, and gives it back when a row finds none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO

from xsquared.checks import quoted
from xsquared_studies.trial import FAILED, LOST, Result, Trial

#: Space kept for a row, and for the journal of a transaction: several times what they take.
_ROW_BYTES, _JOURNAL_BYTES = 4096, 1 << 16
_TABLE = (
    "create table if not exists results (key text, fingerprint text, status text, row text,"
    " primary key (key, fingerprint))"
)
_PATIENCE_S = 60.0  # for another process's commit


class StoreError(RuntimeError):
    """A store that cannot be read or written; the message says which, and why."""


class Store:
    """Results in a file, identified by trial and fingerprint; any number of processes may share it.

    Args:
        path: the file; made when the first sweep starts.
        retry_failed: whether trials that failed need another run, whose rows replace theirs.

    Raises:
        StoreError: here and below, a file that cannot be read, or holds anything but results.
    """

    def __init__(self, path: Path | str, retry_failed: bool = False) -> None:
        self.path = Path(path).absolute()  # a trial may change the folder
        self._ballast: IO[bytes] | None = None
        self._again = (LOST, FAILED) if retry_failed else (LOST,)
        self._find("false")
        if self.path.exists():  # a damaged index, too, would lose rows
            with self._open("cannot read results from") as database:
                (said,) = database.execute("pragma integrity_check(1)").fetchone()
                if said != "ok":
                    raise StoreError(f"{self.path} is damaged: {' '.join(said.split())}")

    def results(self, fingerprint: str) -> list[Result]:
        """The rows made by those sources, in the order in which they came."""
        return self._find("fingerprint = ?", fingerprint)

    def result(self, trial: Trial, fingerprint: str) -> Result | None:
        """The row of a trial made by those sources, if there is one."""
        return next(iter(self._find("key = ? and fingerprint = ?", trial.key, fingerprint)), None)

    def has(self, trial: Trial, fingerprint: str) -> bool:
        """Whether a trial needs no run: it has a row, of a status that is not run again."""
        found = self.result(trial, fingerprint)
        return found is not None and found.status not in self._again

    def append(self, result: Result) -> bool:
        """Write a row; when this returns, it is on the disk.

        Returns:
            True, or False if the row of this trial is there already, from another process.
        """
        with self._open("cannot write a result to", "; the rows in it are safe") as database:
            try:
                return _insert(database, result, self._again)
            except sqlite3.OperationalError:
                if self._ballast is None:
                    raise
                self._ballast.truncate(0)
                return _insert(database, result, self._again)

    @contextmanager
    def reserved(self, rows: int) -> Iterator[None]:
        """Make sure, before any work, that so many rows can be written, and hold their space."""
        attempted, so = f"cannot write {rows} results to", "; no trial was started"
        with self._open(attempted, so) as database:
            database.execute(_TABLE)
        # Unnamed from the start: it vanishes with this process, however that ends.
        with ExitStack() as stack:
            try:
                folder = self.path.resolve().parent
                ballast = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
                block = bytes(1 << 20)
                while (missing := rows * _ROW_BYTES + _JOURNAL_BYTES - ballast.tell()) > 0:
                    ballast.write(block[:missing])
                os.fsync(ballast.fileno())
            except OSError as error:
                raise StoreError(f"{attempted} {self.path}: {error.strerror}{so}") from error
            self._ballast = ballast
            try:
                yield
            finally:
                self._ballast = None

    def _find(self, condition: str, *values: str) -> list[Result]:
        """The rows that meet a condition, the oldest first; none where there is no file."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError) as error:  # a name too long, or with a NUL
            reason = getattr(error, "strerror", error)
            message = f"cannot read results from {quoted(str(self.path))}: {reason}"
            raise StoreError(message) from error
        with self._open("cannot read results from") as database:
            tables = [name for (name,) in database.execute("select name from sqlite_master")]
            if not tables:
                return []
            if "results" not in tables:
                raise StoreError(f"{self.path} holds no results but {quoted(tables)}")
            found = f"select * from results where {condition} order by rowid"
            try:
                return [_checked(*row) for row in database.execute(found, values)]
            except (AttributeError, ValueError, TypeError, KeyError) as error:
                raise StoreError(f"{self.path} holds what is no result: {error}") from error

    @contextmanager
    def _open(self, attempted: str, so: str = "") -> Iterator[sqlite3.Connection]:
        """A connection that commits each statement, closed at the end; errors named."""
        try:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None)
            with closing(connection) as database:
                # A commit outlives a loss of power, the folder's entry for the journal too.
                database.execute("pragma synchronous = extra")
                yield database
        except sqlite3.Error as error:
            raise StoreError(f"{attempted} {self.path}: {error}{so}") from error


def _insert(database: sqlite3.Connection, result: Result, again: tuple[str, ...]) -> bool:
    """Write a row in place of one whose status is among those to be run again."""
    identity = (result.trial.key, result.fingerprint)
    with database:
        database.execute("begin immediate")
        database.execute(_TABLE)
        old = "delete from results where key = ? and fingerprint = ? and status = ?"
        database.executemany(old, [(*identity, status) for status in again])
        new = "insert or ignore into results values (?, ?, ?, ?)"
        row = (*identity, result.status, result.to_json())
        return database.execute(new, (*row[:3], f"{_sum(*row)} {row[3]}")).rowcount > 0


def _checked(key: str, fingerprint: str, status: str, row: str) -> Result:
    """The result of a row; ValueError where the row is not the one that was written."""
    noted, _, text = row.partition(" ")
    if noted != _sum(key, fingerprint, status, text):
        raise ValueError(f"the row of trial {key} is not as it was written")
    return Result.from_row(json.loads(text))


def _sum(*row: str) -> str:
    return hashlib.sha256("\0".join(row).encode()).hexdigest()[:16]
