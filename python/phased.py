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

mirror() sends what metric() reports to Weights & Biases or MLflow as well, if they are installed:

    phased.mirror("wandb", project="trm")          # returns wandb's run, or None
    phased.mirror("mlflow", experiment="trm")      # returns MLflow's run, or None

All runs of a phase, after a preemption, a failure or a retry, are one run there. A run that resumes
reports some steps a second time, and both services keep both. A mirror never ends the training: what
a service does not take in time is dropped. One message says so, and the end of the program says how
much was dropped.

In a run, metric() and checkpoint() write a line to the file that PHASED_CHANNEL names, and the agent
of the node reads it. Outside of phased they do nothing, so that the same trainer runs on a laptop.
If the file cannot be written (a full disk), one message goes to standard error, and the training
continues.

Import this file early and in the main thread. From then on the stop signal only makes should_stop()
true. A handler that the trainer has set before is still called. A handler that the trainer sets
later replaces the handler of this file. The signal goes to the ranks and to all processes that they
have started. A process of multiprocessing, such as a data loader, still dies of TERM until it calls
should_stop(), because Python itself ends such processes by TERM. If that ends the trainer, write
`stop_signal: USR1`.
"""

import atexit
import collections
import errno
import json
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
import time

__all__ = ["metric", "mirror", "checkpoint", "should_stop", "resume_path", "resume_step"]

_LINE_MAX = 65536  # bytes; the agent reads no longer line
_STEP_END = 2**53  # the agent reads smaller steps
_MIRROR_MAX = 10000  # calls of metric() that wait for a service
_MIRROR_EXIT_S = 5  # for all services together: the run may be short of time
_is_stopping = False
_has_complained = False
_watching = None  # the process that has our handler
_mirrors = {}  # by the name of the library


def metric(step=None, **values):
    """Reports the values of a step. Without a step the values belong to the newest step.

    Call it in one rank, the first: if a name gets several values for a step, the last value counts.
    Values are numbers, or tensors of one element. NaN and infinities are reported too. Names
    are letters, digits and _, in lower case. Raises ValueError for anything else.
    """
    numbers = {_name(name): _number(name, value) for name, value in values.items()}
    if not values:
        raise ValueError("metric() without a value")
    told = {"values": {name: _json_number(number) for name, number in numbers.items()}}
    if step is not None:
        told["step"] = _step(step)
    _tell({"metric": told})
    for service in list(_mirrors.values()):
        service.add(told.get("step"), numbers)


def mirror(library, **options):
    """Sends what metric() reports to "wandb" or "mlflow" too. Returns the library's run, or None.

    The options go to wandb.init() or to mlflow.start_run(). With MLflow, `experiment` is the name of
    the experiment, and `tracking_uri` the address of the server. The id of the run follows from the
    workflow and the phase, so that all runs of the phase go on with it. Outside of phased the
    library chooses the id. The step is a metric named `step` for W&B, because its own step never
    goes back. MLflow's run stays active: use it rather than start another.

    finish() of W&B's run first sends what waits, for 5 s at most, and ends the mirror. A second
    mirror() to the same library returns the first run.

    The library ends after the mirror, and its end is not limited to 5 s: python/README.md of phased
    says how long it takes without a network.

    Only the first rank mirrors; mirror() returns None on the other ranks. It returns None on all
    ranks if the library is not installed, or if its service does not answer in time: a message on
    standard error says why.
    """
    if library not in _STARTS:
        raise ValueError("the library must be wandb or mlflow: %r" % (library,))
    ranks = _RANKS if os.environ.get("RANK") else _RANKS + _TASKS
    if any(os.environ.get(name) not in (None, "", "0") for name in ranks):
        return None
    running = _mirrors.get(library)
    if running and running.pid == os.getpid():
        return running.library_run
    try:
        run, log = _STARTS[library](os.environ.get("PHASED_PHASE_ID"), options)
    except Exception as error:  # libraries raise exceptions of their own, and networks are down
        _say("metrics are not mirrored to %s: %s" % (library, _first_line(error)))
        return None
    _mirrors[library] = _Mirror(library, run, log)
    atexit.unregister(_finish_mirrors)
    atexit.register(_finish_mirrors)  # the newest comes first: the library ends after it
    if multiprocessing.parent_process():  # if it is forked, it ends without atexit
        from multiprocessing import util

        util.Finalize(None, _finish_mirrors, exitpriority=0)
    return run


def checkpoint(path, step):
    """Reports that the checkpoint of a step, a file or a folder, is whole.

    Call it once, after all ranks have written their part. To never leave half a checkpoint, write
    to another name and rename it (os.replace). Raises FileNotFoundError if the path does not exist,
    and ValueError if it is not UTF-8.
    """
    whole = os.path.realpath(os.fsdecode(path))
    os.stat(whole)
    try:
        text = os.fsencode(whole).decode()
    except UnicodeDecodeError:
        raise ValueError("the path of the checkpoint is not UTF-8: %r" % whole) from None
    _tell({"checkpoint": {"path": text, "step": _step(step)}})


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
        raise ValueError("the name of a metric must be letters, digits and _: %r" % name)
    return name.lower()


def _number(name, value):
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except Exception as error:  # tensors raise exceptions of their own
        raise ValueError("%s is not a number: %s" % (name, error)) from None


def _json_number(number):
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _step(step):
    try:
        whole = int(step)
        is_good = whole == step and 0 <= whole < _STEP_END
    except (TypeError, ValueError, OverflowError):
        is_good = False
    if not is_good:
        raise ValueError("a step must be a whole number from 0 to 2^53 - 1: %r" % (step,))
    return whole


def _tell(message):
    global _has_complained
    path = os.environ.get("PHASED_CHANNEL")
    if not path:
        return
    # A full disk may have cut the line before, so the new line begins with a line feed of its own.
    line = ("\n" + json.dumps(message, separators=(",", ":")) + "\n").encode()
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
            _say("cannot write %s: %s" % (path, error.strerror))
        _has_complained = True


# Each of these variables is 0, empty or absent in the first rank, whoever has started it. Those of
# _TASKS count if nothing sets RANK: torchrun may order the nodes in its own way, and leaves
# NODE_RANK as it is.
_RANKS = ("RANK", "DP_RANK")
_TASKS = ("LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")

_WANDB_LIMITS = {"init_timeout": 60, "finish_timeout": 60}  # seconds; W&B 0.27 has the second


def _start_wandb(phase_id, options):
    import wandb

    known = wandb.Settings()  # a setting that W&B does not know is an error
    limits = {
        name: seconds
        for name, seconds in _WANDB_LIMITS.items()
        if hasattr(known, name) and "WANDB_" + name.upper() not in os.environ
    }
    if phase_id:
        ours = {"id": "phased-" + phase_id, "resume": "allow", "name": _phase_address()}
        options = dict(ours, **options)
    options.setdefault("settings", limits)
    run = wandb.init(**options)
    run.define_metric("step")
    run.define_metric("*", step_metric="step")
    finish = run.finish

    def finish_after_mirror(*args, **kwargs):  # the run takes nothing more after its end
        _finish_mirrors("wandb")
        finish(*args, **kwargs)

    run.finish = finish_after_mirror  # wandb.finish() calls it, too

    def log(step, values, seconds):
        run.log(values if step is None else dict(values, step=step))

    return run, log


# Without these limits, a server that is down holds a call for minutes.
_MLFLOW_LIMITS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}


def _start_mlflow(phase_id, options):
    ours = {name: limit for name, limit in _MLFLOW_LIMITS.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        run = _start_mlflow_run(phase_id, options)
    finally:  # what the trainer itself uploads may take longer
        for name in ours:
            del os.environ[name]
    import mlflow

    client = mlflow.MlflowClient()

    def log(step, values, seconds):
        client.log_batch(
            run.info.run_id,
            metrics=[
                mlflow.entities.Metric(name, value, int(seconds * 1000), step or 0)
                for name, value in values.items()
            ],
        )

    return run, log


def _start_mlflow_run(phase_id, options):
    import mlflow

    uri, experiment = options.pop("tracking_uri", None), options.pop("experiment", None)
    if uri:
        mlflow.set_tracking_uri(uri)
    if experiment:
        mlflow.set_experiment(experiment)
    if phase_id and "run_id" not in options:
        found = mlflow.search_runs(
            experiment_ids=[options["experiment_id"]] if "experiment_id" in options else None,
            filter_string="tags.`phased.run` = '%s'" % phase_id,
            max_results=1,
            order_by=["attributes.start_time ASC"],
            output_format="list",
        )
        options.setdefault("run_name", _phase_address())
        options["tags"] = dict(options.get("tags") or {}, **{"phased.run": phase_id})
        if found:
            options["run_id"] = found[0].info.run_id
    return mlflow.start_run(**options)


_STARTS = {"wandb": _start_wandb, "mlflow": _start_mlflow}


class _Mirror:
    """A thread that logs what metric() reports: a service that hangs must not stop the training."""

    def __init__(self, name, library_run, log):
        self.name = name
        self.library_run = library_run
        self.log = log
        self.pid = os.getpid()
        self.step = resume_step()
        self.calls = collections.deque()
        self.failed = 0
        self.wake = threading.Condition()
        threading.Thread(target=self.run, daemon=True).start()

    def add(self, step, values):
        if self.pid != os.getpid():
            return  # the thread is in the process that has called mirror()
        self.step = self.step if step is None else step
        with self.wake:
            if len(self.calls) < _MIRROR_MAX:
                self.calls.append((self.step, values, time.time()))
                self.wake.notify_all()
                return
        self.fail("%s does not keep up" % self.name)

    def run(self):
        while True:
            with self.wake:
                while not self.calls:
                    self.wake.wait()
                call = self.calls[0]  # it is removed when it is done: finish() waits for that
            try:
                self.log(*call)
            except Exception as error:
                self.fail("%s does not take a metric: %s" % (self.name, _first_line(error)))
            with self.wake:
                self.calls.popleft()
                self.wake.notify_all()

    def fail(self, message):
        with self.wake:
            self.failed += 1
            is_first = self.failed == 1
        if is_first:
            _say("%s; the training goes on" % message)

    def finish(self, deadline):
        if self.pid != os.getpid():
            return
        with self.wake:
            self.wake.wait_for(lambda: not self.calls, max(0, deadline - time.monotonic()))
            self.failed += len(self.calls)
            lost = self.failed
        if lost:
            _say("%d calls of metric() did not reach %s" % (lost, self.name))


def _finish_mirrors(*names):
    deadline = time.monotonic() + _MIRROR_EXIT_S
    for name in names or list(_mirrors):
        service = _mirrors.pop(name, None)
        if service:
            service.finish(deadline)


def _phase_address():
    return os.environ.get("PHASED_ADDRESS", "").split("#")[0] or None


def _first_line(error):
    return (str(error).splitlines() or [""])[0] or type(error).__name__


def _say(message):
    print("phased: %s" % message, file=sys.stderr, flush=True)


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


# A helper that multiprocessing starts anew imports the main module, and so this file. TERM must end
# the helper until it calls should_stop(). Another signal must not end it. parent_process() is still
# None during that import.
if (
    os.environ.get("PHASED_STOP_SIGNAL") != "TERM"
    or multiprocessing.current_process().name == "MainProcess"
):
    _watch_for_stop()
