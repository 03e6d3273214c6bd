"""A stand-in for W&B. See README.md."""

import json
import os
import time

_FOLDER = os.environ["TRACKING"]


def _tell(what, **members):
    with open(os.path.join(_FOLDER, "wandb"), "a") as calls:
        calls.write(json.dumps(dict(members, call=what)).replace("NaN", '"nan"') + "\n")


class Settings:
    init_timeout = 90.0
    finish_timeout = 0.0

    def __init__(self):
        if os.path.exists(os.path.join(_FOLDER, "old")):
            del Settings.finish_timeout


class Run:
    last = -1
    is_finished = False

    def __init__(self, id):
        self.id = id

    def finish(self, exit_code=None):
        self.is_finished = True
        _tell("finish", exit_code=exit_code)

    def define_metric(self, name, step_metric=None):
        _tell("define_metric", name=name, step_metric=step_metric)

    def log(self, data, step=None):
        if os.path.exists(os.path.join(_FOLDER, "hangs")):
            time.sleep(600)
        if os.path.exists(os.path.join(_FOLDER, "broken")):
            raise ConnectionError("the network is down\nand this is the second line")
        if os.path.exists(os.path.join(_FOLDER, "slow")):
            time.sleep(0.01)
        if self.is_finished:
            raise RuntimeError("Run (%s) is finished" % self.id)
        if step is not None and step < Run.last:
            return
        Run.last = Run.last + 1 if step is None else step
        _tell("log", data=data, id=self.id)


def init(project=None, id=None, name=None, resume=None, settings=None):
    if any(character in (id or "") for character in "/\\#?%:"):
        raise ValueError("not an id: %s" % id)
    _tell("init", project=project, id=id, name=name, resume=resume, settings=settings)
    return Run(id)
