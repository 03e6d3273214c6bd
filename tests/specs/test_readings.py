"""Whether the `run` scripts of workflows make the right things of what their programs print.

What a script makes of its program's output (steps counted on, states linked aside, a callback that
prints what is watched) is code like any other, and no stand-in of phase-model runs it. Each case
runs the script of one phase as the worker does, its params in the environment; what it prints is
read by `phase-worker extract` with the phase's own pattern. Prints TAP.
"""

import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", "..")))
BIN = os.environ.get("BIN", os.path.join(SOURCE, "build/bin"))

# Lightning and torch as far as the callback asks for them: four micro-batches a step, of which the
# first of step 31 is when a stop is asked for.
LIGHTNING = {
    "lightning/__init__.py": "class Callback: pass\n",
    "lightning/pytorch/__init__.py": "",
    "lightning/pytorch/utilities.py": """
def grad_norm(module, norm_type):
    return {"grad_2.0_norm_total": float("nan") if module.is_bad else 1.25}
""",
    "torch/__init__.py": "",
    "torch/utils/__init__.py": "",
    "torch/utils/checkpoint.py": """
def checkpoint(function, *arguments, use_reentrant):
    return "again", function(*arguments)
""",
}

TRAIN = """
import os, sys, time, types
sys.argv = ["main.py"] + sys.argv[1:]
print("\\n".join(sys.argv[1:]), file=open(os.environ["ARGUMENTS"], "w"))
import tell
clock = [0.0]
time.monotonic = lambda: clock[0]
block = types.SimpleNamespace(forward=lambda x: x)
module = types.SimpleNamespace(is_bad=False,
    backbone=types.SimpleNamespace(blocks=[block]),
    config=types.SimpleNamespace(lr_scheduler=types.SimpleNamespace(num_warmup_steps=5000),
                                 loader=types.SimpleNamespace(batch_size=128, num_workers=16)))
def save(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").close()
trainer = types.SimpleNamespace(global_step=0, accumulate_grad_batches=4, world_size=1,
    is_global_zero=True, received_sigterm=False, sanity_checking=True,
    callback_metrics={"val/nll": 9.0}, save_checkpoint=save,
    optimizers=[types.SimpleNamespace(param_groups=[{"initial_lr": 6e-4}])])
callback = tell.Tell()
callback.setup(trainer, module, "fit")
print("block:", block.forward(7))
callback.on_validation_end(trainer, module)
trainer.sanity_checking = False
callback.on_train_start(trainer, module)
for batch in range(125):
    print("Loss: 77.0")
    clock[0] += 0.2
    if batch % 4 == 3:
        module.is_bad = trainer.global_step == 19
        callback.on_before_optimizer_step(trainer, module, None)
        trainer.global_step += 1
    trainer.received_sigterm = batch == 124
    outputs = {"loss": 0.5 + trainer.global_step / 1000}
    callback.on_train_batch_end(trainer, module, outputs, None, batch)
trainer.callback_metrics["val/nll"] = 3.5
callback.on_validation_end(trainer, module)
"""

DATALOADER = """
def get_dataloaders(config, tokenizer, skip_train=False, valid_seed=None):
    assert not skip_train, "there is no test set without the training's"
    return None, "test set"
"""

EVALUATE = """
import os, sys
import dataloader
print("\\n".join(sys.argv[1:]), file=open(os.environ["ARGUMENTS"], "w"))
def main():
    assert dataloader.get_dataloaders(1, 2, skip_train=True, valid_seed=1)[1] == "test set"
    print("│          val/nll          │    3.2500    │")
"""

TORCHRUN = """
import os, sys, time
print("\\n".join(sys.argv[1:]), file=open(os.environ["ARGUMENTS"], "w"))
options = dict(zip(sys.argv, sys.argv[1:]))
latest = options["--save_dir"]
os.makedirs(latest, exist_ok=True)
first = 3 if options["--resume_from"] else 1
step = 1000 if options["--resume_from"] else 0
for epoch in range(first, first + 2):
    print("Epoch %d/%s" % (epoch, options["--epochs"]), flush=True)
    print("  [Step 7] GPU 0: 12.3GB")
    for at in (200, 400):
        step += 200
        print("  step  %d/400 | grad_norm=%d.50 | sec/step~0.52 | lr=1.00e-03 | keep=1.00 | K=4 |"
              " llama(L): tf=%d.2500 first=9.0 kCE=9.0 | qwen(L): tf=8.0" % (at, epoch, at))
        open(latest + "/state.pt", "w").write(str(step))
        print("  Saved (and pruned to) latest at step %d" % step, flush=True)
        end = time.monotonic() + 30
        while not os.path.exists(latest + "/../state_%d" % step) and time.monotonic() < end:
            time.sleep(0.01)
        os.unlink(latest + "/state.pt")
"""

PHASE_WORKER = """
import os, sys
print(" ".join(sys.argv[1:]), file=open(os.environ["ANNOUNCED"], "a"))
"""


class Case:
    """One phase of a file, with a folder of its own."""

    def __init__(self, folder, file, phase):
        self.folder = folder
        run = subprocess.run([BIN + "/phasectl", "check", "--print",
                              "%s/etc/workflows/%s.yaml" % (SOURCE, file)],
                             capture_output=True, text=True, check=True)
        self.phase = next(one for one in json.loads(run.stdout)["phases"] if one["name"] == phase)
        self.out = os.path.join(folder, "out")
        os.makedirs(self.out)
        os.makedirs(os.path.join(folder, "bin"))
        self.environment = {"PHASED_RESUME": "", "PHASED_RESUME_STEP": "", "MASTER_PORT": "1234",
                            "RANK": "0", "PYTHONIOENCODING": "utf-8"}

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def stub(self, name, text):
        self.write("bin/" + name, "#!%s\n%s" % (sys.executable, text))
        os.chmod(os.path.join(self.folder, "bin", name), 0o755)

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return file.read().splitlines()

    def run(self):
        """Runs the script; keeps what it printed, and the rows that are read of it."""
        texts = {name: json.dumps(value).strip('"') for name, value in self.phase["params"].items()}
        environment = dict(os.environ, **texts, **self.environment)
        environment.update(PHASED_OUT=self.out, PHASED_PHASE=self.phase["name"],
                           ARGUMENTS=self.folder + "/arguments",
                           ANNOUNCED=self.folder + "/announced",
                           PATH="%s/bin:%s" % (self.folder, environment["PATH"]))
        script = "set -eu -o pipefail\n" + self.phase["run"]
        run = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment,
                             capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        self.printed = run.stdout
        pattern = self.phase["metrics"]["pattern"]
        rows = subprocess.run([BIN + "/phase-worker", "extract", "--pattern=" + pattern],
                              input=run.stdout, capture_output=True, text=True, check=True)
        self.rows = [json.loads(line) for line in rows.stdout.splitlines()]
        self.arguments = self.read("arguments")


def equal(seen, expected):
    assert seen == expected, "%r is not %r" % (seen, expected)


def diffusion(folder, file, phase="train"):
    case = Case(folder, file, phase)
    for path, text in LIGHTNING.items():
        case.write("modules/" + path, text)
    case.write("main.py", TRAIN)
    case.stub("python", "import os, sys\n"
                        "os.execv(sys.executable, [sys.executable] + sys.argv[1:])\n")
    case.environment["PYTHONPATH"] = folder + "/modules"
    return case


def the_callback_tells_what_is_watched(folder, file):
    case = diffusion(folder, file)
    case.run()
    # Means over the micro-batches of ten steps, 0.2 s each; the first mark is a batch late.
    equal([(row["step"], row.get("grad_norm"), row.get("dt")) for row in case.rows if "dt" in row],
          [(10, 1.25, 780.0), (20, "nan", 800.0), (30, 1.25, 800.0)])
    assert all(2 < row["loss"] < 3 for row in case.rows if "loss" in row), case.rows
    equal([row["val_nll"] for row in case.rows if "val_nll" in row], [3.5])
    equal(os.listdir(case.out + "/checkpoints"), ["stop-31.ckpt"])
    # A remedy is proven by what the program has.
    seen = subprocess.run([BIN + "/phase-worker", "extract"], input=case.printed,
                          capture_output=True, text=True, check=True).stdout
    for name in "BATCH_SIZE GRAD_ACCUM NUM_WORKERS LR WARMUP_STEPS".split():
        told = '"%s": %g' % (name.lower(), case.phase["params"][name])
        assert told in seen, (told, seen)
    assert "block: 7" in case.printed
    assert "checkpointing.resume_ckpt_path=null" in case.arguments


def blocks_are_checkpointed_and_a_run_resumed(folder, file):
    case = diffusion(folder, file)
    case.phase["params"]["CHECKPOINTING"] = True
    case.environment["PHASED_RESUME"] = "/out/checkpoints/2-500.ckpt"
    case.write("out/checkpoints/2-31.ckpt", "")
    case.run()
    assert "block: ('again', 7)" in case.printed
    assert "checkpointing.resume_ckpt_path=/out/checkpoints/2-500.ckpt" in case.arguments
    equal(os.listdir(case.out + "/checkpoints"), ["2-31.ckpt"])  # this step is saved already


def the_test_set_comes_with_the_training_set(folder, file):
    case = diffusion(folder, file, "evaluate")
    case.write("main.py", EVALUATE)
    case.write("dataloader.py", DATALOADER)
    case.environment["PHASED_CHECKPOINT_train"] = "/out/checkpoints/9-50000.ckpt"
    case.run()
    equal([row["val_nll"] for row in case.rows], [3.25])
    assert "eval.checkpoint_path=/out/checkpoints/9-50000.ckpt" in case.arguments


def steps_are_counted_over_epochs(folder, file):
    case = Case(folder, file, "train")
    case.stub("torchrun", TORCHRUN)
    case.stub("phase-worker", PHASE_WORKER)
    case.run()
    equal([(row["step"], row["grad_norm"], row["sec_step"], row["loss"]) for row in case.rows],
          [(200, 1.5, 0.52, 200.25), (400, 1.5, 0.52, 400.25),
           (600, 2.5, 0.52, 200.25), (800, 2.5, 0.52, 400.25)])
    equal(case.arguments[case.arguments.index("--epochs") + 1], "8")
    equal(case.read("announced")[-1], "checkpoint %s/state_800 --step 800" % case.out)
    equal((case.read("out/state_400/epoch"), case.read("out/state_600/epoch")), (["0"], ["1"]))
    equal(case.read("out/state_600/state.pt"), ["600"])


def a_resumed_run_trains_the_epochs_that_are_left(folder, file):
    case = Case(folder, file, "train")
    case.stub("torchrun", TORCHRUN)
    case.stub("phase-worker", PHASE_WORKER)
    case.write("state/epoch", "2\n")
    case.environment.update(PHASED_RESUME=folder + "/state", PHASED_RESUME_STEP="1000")
    case.run()
    equal([row["step"] for row in case.rows], [1200, 1400, 1600, 1800])
    equal(case.arguments[case.arguments.index("--epochs") + 1], "6")
    equal(case.read("out/state_1800/epoch"), ["3"])


CASES = [
    (the_callback_tells_what_is_watched, "bd3lm-h200"),
    (the_callback_tells_what_is_watched, "hdp-diffusion-h200"),
    (blocks_are_checkpointed_and_a_run_resumed, "bd3lm-h200"),
    (blocks_are_checkpointed_and_a_run_resumed, "hdp-diffusion-h200"),
    (the_test_set_comes_with_the_training_set, "bd3lm-h200"),
    (the_test_set_comes_with_the_training_set, "hdp-diffusion-h200"),
    (steps_are_counted_over_epochs, "latentwire"),
    (a_resumed_run_trains_the_epochs_that_are_left, "latentwire"),
]


def main():
    failed = 0
    print("1..%d" % len(CASES))
    for number, (case, file) in enumerate(CASES, 1):
        fault = None
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder, file)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                fault = str(error) or "no more is known"
        failed += fault is not None
        print("%sok %d - %s: %s" % ("not " if fault else "", number, file,
                                    case.__name__.replace("_", " ")))
        if fault:
            print("# " + fault.strip().replace("\n", "\n# "))
    sys.exit(1 if failed else 0)


main()
