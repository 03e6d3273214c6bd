"""A stand-in for MLflow. See README.md."""

import json
import os
import re

_FOLDER = os.environ["TRACKING"]
_experiment = "Default"
_active = None


def _tell(what, **members):
    with open(os.path.join(_FOLDER, "mlflow"), "a") as calls:
        calls.write(json.dumps(dict(members, call=what)).replace("NaN", '"nan"') + "\n")


def _told(what):
    try:
        with open(os.path.join(_FOLDER, "mlflow")) as calls:
            return [call for call in map(json.loads, calls) if call["call"] == what]
    except FileNotFoundError:
        return []


class _Info:
    def __init__(self, run_id):
        self.run_id = run_id


class _Run:
    def __init__(self, run_id):
        self.info = _Info(run_id)


def set_tracking_uri(uri):
    _tell("set_tracking_uri", uri=uri)


def set_experiment(experiment_name):
    global _experiment
    _experiment = experiment_name


def search_runs(experiment_ids=None, filter_string="", max_results=100000, order_by=None,
                output_format="pandas"):
    assert output_format == "list"
    searched = experiment_ids or [_experiment]
    name, value = re.fullmatch(r"tags\.`([^`]+)` = '([^']+)'", filter_string).groups()
    found = [
        _Run(run["run_id"])
        for run in _told("create_run")
        if run["experiment"] in searched and run["tags"].get(name) == value
    ]
    return found[:max_results]


def start_run(run_id=None, experiment_id=None, run_name=None, tags=None):
    global _active
    if _active:
        raise Exception("Run with UUID %s is already active" % _active.info.run_id)
    if run_id is None:
        run_id = "%032x" % (len(_told("create_run")) + 1)
        experiment = experiment_id or _experiment
        _tell("create_run", run_id=run_id, name=run_name, experiment=experiment, tags=tags or {})
    _tell("start_run", run_id=run_id, timeout=os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"])
    _active = _Run(run_id)
    return _active


class entities:  # the real one is a module
    class Metric:
        def __init__(self, key, value, timestamp, step):
            self.key, self.value, self.timestamp, self.step = key, value, timestamp, step


class MlflowClient:
    def log_batch(self, run_id, metrics=()):
        if os.path.exists(os.path.join(_FOLDER, "broken")):
            raise ConnectionError("the server is down")
        for metric in metrics:
            assert isinstance(metric, entities.Metric) and metric.timestamp > 10**12
            _tell("log", run_id=run_id, name=metric.key, value=metric.value, step=metric.step)
