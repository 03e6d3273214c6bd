"""Lets a trainer report to phased and ask it. No dependencies: copy this file beside the trainer.

    import phased

    start = phased.resume_step() or 0              # and load phased.resume_path()
    for step in range(start + 1, steps + 1):
        loss = train_one()
        phased.metric(step, loss=loss)             # a guard or a gate of the workflow reads it
        if step % 500 == 0 or phased.should_stop():
            save(path)
            phased.checkpoint(path, step)          # it is whole: runs resume from it
        if phased.should_stop():                   # preempted, out of time, or asked to
            break

In a run, metric() and checkpoint() write a line to the file that PHASED_CHANNEL names, and the agent
of the node reads it. Outside of phased they do nothing, so that the same trainer runs on a laptop.
If the file cannot be written (a full disk), one message goes to standard error, and the training
continues.

Import this file early and in the main thread. From then on the stop signal only makes should_stop()
true. A handler that the trainer has set before is still called. A handler that the trainer sets
later replaces the handler of this file. The signal goes to the ranks and to all processes that they
have started. Helpers such as data loaders still die of TERM, because Python itself ends them by
TERM. If that ends the trainer, write `stop_signal: USR1`.
"""

import errno
import json
import math
import os
import re
import signal
import sys
import threading

__all__ = ["metric", "checkpoint", "should_stop", "resume_path", "resume_step"]

_LINE_MAX = 65536  # bytes; the agent reads no longer line
_is_stopping = False
_has_complained = False
_watching = None  # the process that has our handler


def metric(step=None, **values):
    """Reports the values of a step. Without a step the values belong to the newest step.

    Call it in one rank, the first: if a name gets several values for a step, the last value counts.
    Values are numbers, or tensors of one element. NaN and infinities are reported too. Names
    are letters, digits and _, in lower case. Raises ValueError for anything else.
    """
    told = {"values": {_name(name): _number(name, value) for name, value in values.items()}}
    if not values:
        raise ValueError("metric() without a value")
    if step is not None:
        told["step"] = _step(step)
    _tell({"metric": told})


def checkpoint(path, step):
    """Reports that the checkpoint of a step, a file or a folder, is whole.

    Call it once, after all ranks have written their part. To never leave half a checkpoint, write
    to another name and rename it (os.replace). Raises FileNotFoundError if the path does not exist.
    """
    whole = os.path.realpath(os.fsdecode(path))
    os.stat(whole)
    _tell({"checkpoint": {"path": whole, "step": _step(step)}})


def should_stop():
    """Whether to save and end: the run is being preempted, is out of time, or was told to stop.

    The ranks may get the signal one step apart. Ranks that wait for each other must agree:

        stop = torch.tensor(int(phased.should_stop()), device=device)
        torch.distributed.all_reduce(stop, op=torch.distributed.ReduceOp.MAX)
    """
    _watch_for_stop()
    return _is_stopping


def resume_path():
    """The checkpoint to resume from, or None to start anew."""
    return os.environ.get("PHASED_RESUME") or None


def resume_step():
    """The step of resume_path(), or None."""
    step = os.environ.get("PHASED_RESUME_STEP")
    return int(step) if step else None


def _name(name):
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,127}", name):
        raise ValueError("not a name for a metric: %r" % name)
    return name.lower()


def _number(name, value):
    try:
        number = float(value.item() if hasattr(value, "item") else value)
    except Exception as error:  # tensors raise exceptions of their own
        raise ValueError("%s is not a number: %s" % (name, error)) from None
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _step(step):
    try:
        whole = int(step)
        is_good = whole == step and 0 <= whole < 2**63
    except (TypeError, ValueError, OverflowError):
        is_good = False
    if not is_good:
        raise ValueError("not a step: %r" % (step,))
    return whole


def _tell(message):
    global _has_complained
    path = os.environ.get("PHASED_CHANNEL")
    if not path:
        return
    line = (json.dumps(message, separators=(",", ":")) + "\n").encode()
    if len(line) > _LINE_MAX:
        raise ValueError("more than %d bytes in one call" % _LINE_MAX)
    try:
        channel = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.write(channel, line) < len(line):  # one write a line: ranks share the file
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(channel)
    except OSError as error:
        if not _has_complained:
            print("phased: cannot write %s: %s" % (path, error.strerror), file=sys.stderr)
        _has_complained = True


def _watch_for_stop():
    global _watching
    name = os.environ.get("PHASED_STOP_SIGNAL")
    number = getattr(signal, "SIG%s" % name, None)
    is_main = threading.current_thread() is threading.main_thread()
    if not number or _watching == os.getpid() or not is_main:
        return
    _watching = os.getpid()
    before = signal.getsignal(number)

    def stop(received, frame):
        global _is_stopping
        _is_stopping = True
        if callable(before) and before is not signal.default_int_handler:
            before(received, frame)

    # multiprocessing ends its processes by TERM, so they get the old handler. A TERM that comes
    # during the fork waits for it.
    masks = threading.local()

    def block():
        masks.saved = signal.pthread_sigmask(signal.SIG_BLOCK, [number])

    def unblock():
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.saved)

    def forked():
        if signal.getsignal(number) is stop:
            signal.signal(number, before or signal.SIG_DFL)
        unblock()

    signal.signal(number, stop)
    if number == signal.SIGTERM:
        os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=forked)


_watch_for_stop()
