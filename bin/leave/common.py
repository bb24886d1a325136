"""Messages, progress, and the file of refused items."""
import json
import os
import stat
import sys
import threading
import time

ME = 'dynamo_table'


class Failure(Exception):
    """What ends the program, with words for its user."""


class Stopped(Failure):
    """It was told to end."""


class Pages:
    """The positions of pages that follow each other: one that comes again would do so for ever.  Those are remembered whose number is a power of two."""

    def __init__(self, source):
        self.source, self.count, self.known = source, 0, None

    def go_on(self, position):
        if self.count and position == self.known:
            raise Failure(f'{self.source.name} begins the same page again and again')
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self.known = position


def printable(text):
    return ''.join(c if c.isprintable() else '?' for c in str(text))


def say(text):
    clear = '\r\033[K' if sys.stderr.isatty() else ''
    print(f'{clear}{ME}: {printable(text)}', file=sys.stderr, flush=True)


def clock(seconds):
    seconds = int(seconds + 0.5)
    hours, rest = divmod(seconds, 3600)
    return f'{hours}:{rest // 60:02}:{rest % 60:02}' if hours else f'{rest // 60}:{rest % 60:02}'


class Progress:
    """A line that is drawn again on a terminal, and written every ten seconds elsewhere."""

    def __init__(self, quiet):
        self.bar = sys.stderr.isatty()
        self.quiet = quiet
        self.pause = 0.5 if self.bar else 10
        self.next = time.monotonic() + self.pause

    def show(self, text, share=None):
        if self.quiet or time.monotonic() < self.next:
            return
        self.next = time.monotonic() + self.pause
        if share is not None:
            done = int(min(share, 1) * 30)
            text = f"[{'#' * done}{'.' * (30 - done)}] {int(min(share, 1) * 100):3} %  {text}"
        if self.bar:
            print('\r\033[K' + text, end='', file=sys.stderr, flush=True)
        else:
            say(text)

    def end(self):
        if self.bar and not self.quiet:
            print('\r\033[K', end='', file=sys.stderr, flush=True)


class Refused:
    """Items that the other side does not take, with the reason, in lines that "dynamo_table import" reads.  They are written before
    the transaction that leaves them out commits, so a crash may write one twice, and loses none."""

    def __init__(self, path):
        self.path, self.file, self.lock, self.count = path, None, threading.Lock(), 0

    def add(self, lines):
        if not lines:
            return
        with self.lock:
            if self.file is None:
                handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
                found = os.fstat(handle)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                    raise Failure(f'{self.path} is no file of yours')
                os.fchmod(handle, 0o600)
                self.file = os.fdopen(handle, 'w', encoding='ascii')
            for line in lines:
                self.file.write(json.dumps(line) + '\n')
            self.file.flush()
            os.fsync(self.file.fileno())
            self.count += len(lines)

    def result(self):
        """The exit status, after a word about what was refused."""
        if self.count:
            say(f'{self.count} items were refused, see {self.path}')
        return 3 if self.count else 0
