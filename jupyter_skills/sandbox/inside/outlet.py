"""Runs inside the isolated kernel, from its start: bounds what one execution sends out, before it is sent.

The host bounds what arrives as well, but that comes too late for the kernel: what waits to be sent fills the
container's memory. This is a guard against floods and nothing more. Code in the kernel can undo all of it, so the host
trusts nothing that it sees to.

The host passes this file's text to the kernel; it may import nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import struct
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

_PLAIN = "text/plain"
_KINDS = (_PLAIN, "image/png", "image/jpeg", "image/gif", "image/webp")
# Seconds. The first piece of output should not wait for more of it to come.
_FLUSH_INTERVAL = 0.02
# Seconds for what programs wrote to pass the pipe; one left in the background may keep it full.
_DRAIN_WITHIN = 0.5
_MOST_CAUSES = 1000


def install(shell: Any, *, characters: int, displays: int, bytes: int) -> None:  # noqa: A002 -- named for its unit
    """Bounds what each execution from now on sends out.

    Args:
        shell: The kernel's ``get_ipython()``.
        characters: How many characters of text: on both streams together, in one display, in one traceback.
        displays: How many displays and results, and how many tracebacks.
        bytes: How much they may hold together, as it travels: pictures as base64.
    """
    streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "set_parent")]
    text = _Text(streams, characters)
    shown = _Displays(characters, displays, bytes)
    shell._tee = lambda channel: contextlib.nullcontext()  # keeps all that is printed, for an export nobody makes
    _bound_displays(shell, shown)
    _bound_reprs(shell, characters)
    _bound_errors(shell, shown, characters)
    shell.payload_manager.write_payload = lambda data, single=True: None
    _bound_executions(shell, text, shown, characters)


class _Text:
    """The budget that standard output and standard error share.

    The first two thirds pass as they come. Of what follows the last third is kept, and sent when the execution ends,
    after a line that says how much is missing. Between executions there is no end to wait for: there, all that is over
    the first two thirds is left out.

    Args:
        streams: ipykernel's streams.
        characters: The budget.
    """

    def __init__(self, streams: Sequence[Any], characters: int) -> None:
        self._streams = streams
        self._head, self._most_held = characters * 2 // 3, characters // 3
        self._send = [functools.partial(type(stream).write, stream) for stream in streams]
        self._writes = [self._bounded_write(number, send) for number, send in enumerate(self._send)]
        self._room = self._head
        self._installed = False
        # A signal's handler may print while its thread prints.
        self._lock = threading.RLock()
        os.register_at_fork(after_in_child=self._in_child)
        for stream in streams:
            stream.flush_interval = _FLUSH_INTERVAL
        self._renew()
        self._running = self._marked = False

    def begin(self) -> None:
        """An execution begins."""
        with self._lock:
            self._renew()
            self._running = True
        if not self._installed:  # not before: IPython puts the old method back when the cell that installs this ends
            self._installed = True
            for stream, write in zip(self._streams, self._writes, strict=True):
                stream.write = write

    def finish(self, note: str) -> None:
        """An execution ends: sends what was kept of its output.

        Args:
            note: A line to send after it, or nothing.
        """
        with contextlib.suppress(KeyboardInterrupt):  # it is over anyway, and the kernel has to answer
            self._drain()
        with self._lock:
            held, beyond = self._held, self._beyond
            printed = beyond or self._room < self._head
            self._renew()
            self._running = self._marked = False
        kept = ["".join(piece for owner, piece in held if owner == number) for number in range(len(self._streams))]
        surplus = sum(map(len, kept)) - self._most_held
        if surplus > 0:  # the oldest piece is kept whole until now
            oldest = held[0][0]
            kept[oldest] = kept[oldest][surplus:]
        if gap := beyond - sum(map(len, kept)):
            self._send[held[0][0]](_gap(gap))
        for send, tail in zip(self._send, kept, strict=True):
            if tail:
                send(tail)
        if note:
            self._send[0](f"\n{note}\n" if printed else f"{note}\n")
        for stream in self._streams:
            if stream not in (sys.stdout, sys.stderr):  # code has put another in its place, which the kernel flushes
                stream.flush()

    def _bounded_write(self, number: int, send: Callable[[str], int | None]) -> Callable[[str], int | None]:
        def write(string: str) -> int | None:
            if not isinstance(string, str):
                return send(string)  # which says what is wrong with it
            size = len(string)
            with self._lock:
                room = self._room
                self._room = max(room - size, 0)
            if size <= room:
                return send(string)
            if room:
                send(string[:room])
            if self._keep(number, string, size - room):
                send("\n… what follows is left out …\n")
            return size

        return write

    def _keep(self, number: int, string: str, beyond: int) -> bool:
        """Keeps the end of what is over the budget; true if instead it is left out for the first time."""
        with self._lock:
            if not self._running:
                first, self._marked = not self._marked, True
                return first
            piece = string[len(string) - min(beyond, self._most_held) :]
            self._beyond += beyond
            self._held_size += len(piece)
            self._held.append((number, piece))
            while len(self._held) > 1 and self._held_size - len(self._held[0][1]) >= self._most_held:
                self._held_size -= len(self._held.popleft()[1])
            return False

    def _drain(self) -> None:
        """Waits until ipykernel's threads have read what programs wrote to the file descriptors."""
        deadline = time.monotonic() + _DRAIN_WITHIN
        for stream in self._streams:
            while _unread(getattr(stream, "_fid", None)) and time.monotonic() < deadline:
                time.sleep(0.001)
        time.sleep(0.0002)  # a thread that has read has yet to write: this lets it

    def _renew(self) -> None:
        self._room = self._head
        self._beyond = self._held_size = 0
        self._held: deque[tuple[int, str]] = deque()

    def _in_child(self) -> None:
        """A forked process lacks the thread that may hold the lock, and does not see the execution's end."""
        self._lock = threading.RLock()
        self._held.clear()
        self._running = self._marked = False


class _Displays:
    """The budget for displays and results, which any thread may draw on.

    Args:
        characters: How many characters of plain text one may have.
        most: How many there may be.
        size: How many bytes they may hold together.
    """

    def __init__(self, characters: int, most: int, size: int) -> None:
        self._characters, self._most, self._size = characters, most, size
        self._lock = threading.RLock()
        self.renew()

    def renew(self) -> str:
        """Starts anew; returns a line on what was left out, if anything was."""
        left_out = getattr(self, "_left_out", 0)
        self._left = self._errors_left = self._most
        self._room = self._size
        self._left_out = 0
        return f"… {left_out:,} display{'' if left_out == 1 else 's'} left out …" if left_out else ""

    def admit(self, bundle: dict[str, Any]) -> dict[str, Any]:
        """What of a MIME bundle may be sent; nothing if it is over the budget or holds nothing of use."""
        with self._lock:
            if self._left <= 0:
                self._left_out += 1
                return {}
            found = {kind: bundle[kind] for kind in _KINDS if isinstance(bundle.get(kind), (str, bytes))}
            if isinstance(found.get(_PLAIN), str):
                found[_PLAIN] = _bounded(found[_PLAIN], self._characters)
            sizes = {kind: _travelling(value, self._size) for kind, value in found.items()}
            fitting = {kind: found[kind] for kind, size in sizes.items() if size <= self._size}
            size = sum(sizes[kind] for kind in fitting)
            if len(fitting) < len(found) or size > self._room:
                self._left_out += 1
            if not fitting or size > self._room:
                return {}
            self._left -= 1
            self._room -= size
            return fitting

    def admit_error(self) -> bool:
        """Whether one more traceback may be sent."""
        self._errors_left -= 1
        return self._errors_left >= 0


class _Said:
    """Stands for something whose text is too long to be asked for again.

    Args:
        text: What it says instead.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _bound_displays(shell: Any, budget: _Displays) -> None:
    publisher, hook = shell.display_pub, shell.displayhook
    # The publisher's own hooks would do, but each thread has a list of its own.
    send, send_result = publisher.publish, hook.write_format_data

    def publish(data: Any, metadata: Any = None, *_: Any, update: bool = False, **__: Any) -> None:
        if not isinstance(data, dict):
            send(data)  # which says what is wrong with it
        elif not update and (admitted := budget.admit(data)):
            send(admitted)

    def write_format_data(format_dict: dict[str, Any], md_dict: Any = None) -> None:
        admitted = budget.admit(format_dict)
        format_dict.clear()  # IPython keeps this very dictionary
        format_dict.update(admitted)
        send_result(format_dict, {})

    publisher.publish = publish
    publisher.clear_output = lambda wait=False: None
    hook.write_format_data = write_format_data
    shell.display_formatter.active_types = list(_KINDS)  # what is not sent need not be made
    with contextlib.suppress(ImportError):
        from ipykernel.comm.comm import BaseComm

        # Widgets, which nobody shows.
        BaseComm.publish_msg = lambda *_, **__: None  # type: ignore[method-assign]


def _bound_reprs(shell: Any, characters: int) -> None:
    """Keeps IPython from taking copies of a long text to lay it out."""
    from IPython.lib import pretty

    laid_out = pretty._repr_pprint

    def short(value: Any, printer: Any, cycle: bool) -> None:
        if type(value) in (str, bytes, bytearray) and len(value) > characters:
            head, tail = characters * 2 // 3, characters // 3
            gap = _gap(len(value) - head - tail)
            text = f"{value[:head]!r}{gap}{value[len(value) - tail :]!r}"
        else:
            text = _bounded(repr(value), characters)
        laid_out(_Said(text), printer, cycle)

    pretty._repr_pprint = short
    printers = shell.display_formatter.formatters[_PLAIN].type_printers
    printers.update({kind: short for kind, printer in printers.items() if printer is laid_out})


def _bound_errors(shell: Any, budget: _Displays, characters: int) -> None:
    find, show = shell._get_exc_info, shell._showtraceback

    def get_exc_info(exc_tuple: Any = None) -> Any:
        found = find(exc_tuple)
        _shorten(found[1], characters)
        return found

    def show_traceback(etype: Any, evalue: Any, stb: Any) -> None:
        parts = [str(part) for part in stb] if isinstance(stb, list) else [str(stb)]
        if sum(map(len, parts)) > characters:
            stb = [_bounded("\n".join(_bounded(part, characters) for part in parts), characters)]
        if not budget.admit_error():
            shell._last_traceback = stb
            return
        text = str(evalue)
        show(etype, evalue if len(text) <= characters else _Said(_bounded(text, characters)), stb)

    shell._get_exc_info = get_exc_info
    shell._showtraceback = show_traceback


def _bound_executions(shell: Any, text: _Text, shown: _Displays, characters: int) -> None:
    """Tells the budgets when an execution begins and when it has ended.

    IPython's own events would tell of cells within cells too, as ``%%capture`` makes them, and of the end before the
    figures are drawn that are drawn at the end.
    """
    kernel = shell.kernel
    execute = kernel.do_execute
    running, lock = 0, threading.Lock()  # subshells run side by side, each in a thread

    @functools.wraps(execute)
    async def do_execute(*args: Any, **options: Any) -> Any:
        nonlocal running
        with lock:
            running += 1
            if running == 1:
                shown.renew()
                text.begin()
        try:
            reply = await execute(*args, **options)
        finally:
            with lock:
                running -= 1
                if running == 0:
                    text.finish(shown.renew())
                    _forget(shell.history_manager)
        for key in ("ename", "evalue"):
            if key in reply:
                reply[key] = _bounded(reply[key], characters)
        return reply

    kernel.do_execute = do_execute


def _forget(history: Any) -> None:
    """Empties what IPython keeps of all outputs; not every version has each of these."""
    for name in ("outputs", "exceptions", "output_hist_reprs"):
        kept = getattr(history, name, None)
        if isinstance(kept, dict):
            kept.clear()


def _shorten(error: Any, limit: int) -> None:
    """Cuts the texts that an exception and its causes were made with: formatting takes many copies of them."""
    pending, seen = [error], set[int]()
    while pending and len(seen) < _MOST_CAUSES:
        error = pending.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        with contextlib.suppress(Exception):  # a class of the user's own may have made any of these anything
            pending += [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
            if any(_long(value, limit) for value in error.args):
                error.args = tuple(_bounded(value, limit) if _long(value, limit) else value for value in error.args)
            notes = getattr(error, "__notes__", None)
            if isinstance(notes, list):
                notes[:] = [_bounded(note, limit) if _long(note, limit) else note for note in notes]
            for name in ("msg", "text"):  # of a SyntaxError, which may quote one very long line
                if _long(getattr(error, name, None), limit):
                    setattr(error, name, _bounded(getattr(error, name), limit))


def _long(value: object, limit: int) -> bool:
    return isinstance(value, str) and len(value) > limit


def _bounded(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text: its beginning and its end, with the gap marked."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}{_gap(len(text) - head - tail)}{text[len(text) - tail :]}"


def _gap(characters: int) -> str:
    return f"\n… {characters:,} characters left out …\n"


def _travelling(value: str | bytes, enough: int) -> int:
    """How many bytes this is in a message; at least ``enough`` + 1 if it is more than that."""
    if isinstance(value, bytes):
        return -(-len(value) // 3) * 4
    if len(value) > enough or value.isascii():
        return len(value)
    return len(value.encode(errors="replace"))


def _unread(pipe: int | None) -> int:
    """How many bytes wait in a pipe."""
    if pipe is None:
        return 0
    try:
        return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0])
    except OSError:  # closed by the code that ran
        return 0
