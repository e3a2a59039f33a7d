"""The results store: one line of JSON per row, appended and synced the moment it is known.

A row is one write of one line to a file opened for appending, under an exclusive lock, followed by
fsync. What may go wrong, and what becomes of it:

- a process killed in the middle of a write leaves a line without its end; readers skip it and the
  next writer, who holds the lock and so knows that nobody is writing, cuts it off;
- two processes with one store take turns; before writing, each reads what the other wrote, and a
  row that is already there is not written again;
- a disk that fills up: before a sweep starts, an unnamed file in the same folder takes the space
  that its rows will need, and gives it back when an append finds none.

Rows are identified by their trial and by the fingerprint of the sources that made them.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from xsquared.studies.trial import LOST, Result, Trial

#: Space kept for a row: several times what rows take.
_ROW_BYTES = 4096
_FULL = {errno.ENOSPC, errno.EDQUOT}


class StoreError(RuntimeError):
    """A store that cannot be read or written; the message says which, and why."""


class Store:
    """Results in a file.

    Args:
        path: the file; made when the first sweep starts.

    Raises:
        StoreError: a file that cannot be read, or holds anything but rows.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._read = 0  # bytes of the file, in whole lines, that _rows reflects
        self._inode = 0
        self._ballast: IO[bytes] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read what was appended since, by anyone.

        Raises:
            StoreError: as for the class.
        """
        try:
            with self.path.open("rb") as file:
                # Shared with other readers; no writer cuts or appends meanwhile.
                fcntl.flock(file, fcntl.LOCK_SH)
                self._read_new(file.fileno())
        except FileNotFoundError:
            self._forget(0)
        except OSError as error:
            raise StoreError(f"cannot read results from {self.path}: {error.strerror}") from error

    def results(self, fingerprint: str) -> list[Result]:
        """The rows made by those sources, in the order in which they came."""
        return [Result.from_row(row) for (_, f), row in self._rows.items() if f == fingerprint]

    def result(self, trial: Trial, fingerprint: str) -> Result | None:
        """The row of a trial made by those sources, if there is one."""
        row = self._rows.get((trial.key, fingerprint))
        return None if row is None else Result.from_row(row)

    def has(self, trial: Trial, fingerprint: str) -> bool:
        """Whether a trial needs no run: it has a row, and the row is not that of a lost process."""
        row = self._rows.get((trial.key, fingerprint))
        return row is not None and row["status"] != LOST

    def append(self, result: Result) -> bool:
        """Write a row; when this returns, it is on the disk.

        Returns:
            True, or False if the row of this trial is there already, from another process.

        Raises:
            StoreError: it could not be written. The file is as it was.
        """
        line = (result.to_json() + "\n").encode("utf-8")
        try:
            with self._locked() as descriptor:
                if self.has(result.trial, result.fingerprint):
                    return False
                try:
                    self._write(descriptor, line)
                except OSError as error:
                    if error.errno not in _FULL or self._ballast is None:
                        raise
                    self._ballast.truncate(0)
                    self._write(descriptor, line)
                self._read_new(descriptor)
        except OSError as error:
            raise StoreError(
                f"cannot write results to {self.path}: {error.strerror}; the "
                f"{len(self._rows)} rows in it are safe, and the sweep resumes from them"
            ) from error
        return True

    @contextmanager
    def reserved(self, rows: int) -> Iterator[None]:
        """Make sure, before any work, that so many rows can be written; hold their space meanwhile.

        Raises:
            StoreError: a folder that is missing or read-only, a full disk, a limit on file sizes.
        """
        needed = rows * _ROW_BYTES
        try:
            with self._locked() as descriptor:
                # Grown and cut back, the file shows whether a limit on its size is near.
                size = os.fstat(descriptor).st_size
                os.ftruncate(descriptor, size + needed)
                os.ftruncate(descriptor, size)
            # Unnamed from the start: it vanishes with this process, however that ends.
            ballast = tempfile.TemporaryFile(dir=self.path.parent, buffering=0)  # noqa: SIM115
            try:
                block = bytes(1 << 20)
                while (missing := needed - ballast.tell()) > 0:
                    ballast.write(block[:missing])
                os.fsync(ballast.fileno())
            except OSError:
                ballast.close()
                raise
        except OSError as error:
            raise StoreError(
                f"cannot write {rows} results to {self.path}: {error.strerror}; "
                "no trial was started"
            ) from error
        self._ballast = ballast
        try:
            yield
        finally:
            self._ballast = None
            ballast.close()

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file, opened for appending, locked, read to its end, and without a torn last line."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._read_new(descriptor)
            if os.fstat(descriptor).st_size > self._read:
                os.ftruncate(descriptor, self._read)
            yield descriptor
        finally:
            os.close(descriptor)  # and with it the lock

    def _write(self, descriptor: int, line: bytes) -> None:
        """Append a line and sync, or leave the file as it was."""
        size = os.fstat(descriptor).st_size
        try:
            written = 0
            # One write but on a disk that fills up, where the second raises.
            while written < len(line):
                written += os.write(descriptor, line[written:])
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise

    def _read_new(self, descriptor: int) -> None:
        """Take in the whole lines behind those already known."""
        status = os.fstat(descriptor)
        if status.st_ino != self._inode or status.st_size < self._read:
            self._forget(status.st_ino)
        if status.st_size == self._read:
            return
        text = b""
        while block := os.pread(descriptor, 1 << 24, self._read + len(text)):
            text += block
        for line in text[: text.rfind(b"\n") + 1].splitlines(keepends=True):
            try:
                row = json.loads(line)
                identity = (row["key"], row["fingerprint"])
                row["status"], row["trial"]  # what every row has
            except (ValueError, TypeError, KeyError) as error:
                raise StoreError(
                    f"{self.path} holds something that is no result, at byte {self._read}: "
                    f"{line[:60]!r}"
                ) from error
            self._rows[identity] = row
            self._read += len(line)

    def _forget(self, inode: int) -> None:
        self._rows, self._read, self._inode = {}, 0, inode
