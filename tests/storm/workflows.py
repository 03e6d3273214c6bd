"""The workflows of a storm: many shapes, drawn from the seed, and the expectations for each
phase."""
import json
import zlib

from program import loss_of, next_state


def states(steps):
    """Returns the state after each step of an undisturbed training."""
    state, found = 0, []
    for step in range(1, steps + 1):
        state = next_state(state, step)
        found.append(state)
    return found


def mean_loss(steps):
    """Returns the mean loss of these steps of an undisturbed training."""
    made = states(max(steps))
    return sum(round(loss_of(made[step - 1]), 6) for step in steps) / len(steps)


class Phase:
    """The expectations for a phase."""

    def __init__(self, steps, save, ranks=1, own=False, gate=True, keep=0):
        self.steps, self.save, self.ranks = steps, save, ranks
        self.own, self.gate, self.keep = own, gate, keep

    def final(self, steps):
        """The state after this many steps."""
        return states(steps)[-1]


class Maker:
    """Draws one workflow. The seed's random numbers make every choice."""

    def __init__(self, rng, program, account, short):
        self.rng, self.short = rng, short
        self.command = f"python3 {program} --account {account}"
        self.phases = {}

    def length(self, seconds=None):
        pace = self.rng.choice([0.15, 0.25, 0.4])
        return pace, int((seconds or self.rng.uniform(8, 18 if self.short else 45)) / pace)

    def program(self, pace, phase, more=""):
        return (f"{self.command} --steps {phase.steps} --pace {pace} --save {phase.save}"
                f"{' --own' if phase.own else ''} {more}").strip()

    def phase(self, name, members=(), nodes=1, gpus=None, time="10m", save=10, ranks=None, more="",
              seconds=None, prefix="exec ", launch="node"):
        """Returns one phase of a workflow file, and records its expectations."""
        pace, steps = self.length(seconds)
        keep = self.rng.choice([0, 1, 3]) if save else 0
        gpus = gpus or self.rng.choice([1, 1, 2, 8])
        expected = Phase(steps, save, ranks or (gpus if launch == "rank" else 1) * nodes, keep=keep)
        for member in members or [name]:
            self.phases[member] = expected
        spec = {"resources": {"nodes": nodes, "gpus": f"h100:{gpus}", "time": time},
                "launch": launch, "preflight": "off",
                "run": prefix + self.program(pace, expected, more),
                "progress": {"step": "step", "total": steps},
                "gate": {"all": {"value": "count(loss)", "at_least": 1},
                         "mean": {"value": "mean(loss)", "above": 0}}}
        if self.short:
            spec["hang"] = "40s"  # no fault lasts as long; by its pace it would take minutes
        if save:
            spec["checkpoint"] = {"path": "$PHASED_OUT/step_{step}", "save_time": "5s"}
            if keep:
                spec["checkpoint"]["keep"] = keep
        return spec

    # --- The shapes ----------------------------------------------------------------------------

    def single(self):
        return {"train": self.phase("train")}

    def no_checkpoint(self):
        return {"train": self.phase("train", save=0, seconds=self.rng.uniform(6, 15))}

    def two_phase(self):
        return {"validate": self.phase("validate", gpus=2),
                "production": {**self.phase("production", gpus=2), "after": "validate"}}

    def manual(self):
        return {"validate": {**self.phase("validate", gpus=1), "promote": "manual"},
                "production": {**self.phase("production", gpus=1), "after": "validate"}}

    def two_nodes(self):
        return {"train": self.phase("train", nodes=2, gpus=8)}

    def ranks(self):
        return {"train": self.phase("train", gpus=2, launch="rank")}

    def overlap(self):
        """The script itself starts the program with srun, on two nodes."""
        return {"train": self.phase("train", nodes=2, gpus=2, ranks=2, prefix=(
            'if [ "$NODE_RANK" != 0 ]; then exit 0; fi\n'
            'exec srun --overlap --ntasks=2 --ntasks-per-node=1 '), more="--srun")}

    def limit(self):
        """Takes longer than its time limit."""
        seconds = 30 if self.short else self.rng.uniform(70, 100)
        return {"train": self.phase("train", time="1m", seconds=seconds)}

    def matrix(self):
        members = [f"ladder.{i + 1}" for i in range(3)]
        ladder = self.phase("ladder", members, gpus=2, seconds=self.rng.uniform(5, 12))
        ladder.update(matrix={"BATCH": [16, 32, 64]}, best={"max": "mean(loss)"},
                      pack=self.rng.choice(["serial", "parallel"]))
        ladder["run"] = ': "$BATCH"\n' + ladder["run"]
        return {"ladder": ladder, "train": {**self.phase("train", gpus=2), "after": "ladder"}}

    def beside(self):
        left = self.phase("left", gpus=2)
        right = self.phase("right", gpus=2)
        del right["resources"]
        return {"left": left, "right": {**right, "colocate": "left"}}

    def fails(self):
        """Exits with 3 in its first runs, so a person must help."""
        times = self.rng.choice([1, 2])
        return {"train": self.phase("train", more=f"--fault exit@12x{times}"),
                "next": {**self.phase("next", seconds=6), "after": "train"}}

    def diverges(self):
        """Prints NaN, saves it, and is stopped."""
        return {"train": self.phase("train", save=5, more="--fault nan@23x1")}

    def budget(self):
        """The budget is large enough, but the costs are checked all the same."""
        return {"train": self.phase("train")}

    # How often each shape is drawn.
    SHAPES = {"single": 5, "no_checkpoint": 2, "two_phase": 6, "manual": 1, "two_nodes": 3,
              "ranks": 2, "overlap": 2, "limit": 2, "matrix": 3, "beside": 2, "fails": 2,
              "diverges": 2, "budget": 1, "script": 2, "srun_script": 3}

    def script(self, launcher=""):
        """An sbatch script that resumes by itself."""
        pace, steps = self.length()
        expected = Phase(steps, 10, own=True, gate=False)
        self.phases["train"] = expected
        lines = ["#!/bin/bash", "#SBATCH --job-name=train", "#SBATCH --partition=preempt",
                 "#SBATCH --gres=gpu:h100:2", "#SBATCH --time=10", "set -u",
                 f"{launcher}{self.program(pace, expected, '--srun' if launcher else '')}"]
        return "\n".join(lines) + "\n"

    def srun_script(self):
        return self.script(self.rng.choice(["srun ", "srun --ntasks=1 "]))

    def make(self, shape):
        """Returns the text of the file, and the ending of its name."""
        made = getattr(self, shape)()
        if isinstance(made, str):
            return made, "sbatch"
        workflow = {"name": shape, "slurm": {"partition": "preempt"}, "phases": made}
        if shape == "budget":
            workflow.update(price={"per_gpu_hour": 2}, budget={"usd": 1000})
        return json.dumps(workflow, indent=1), "yaml"


class Workflow:
    def __init__(self, number, shape, at, text, ending, phases):
        self.number, self.shape, self.at = number, shape, at
        self.text, self.ending, self.phases = text, ending, phases
        self.id, self.refused = None, None

    def __str__(self):
        return f"{self.id or '?'} ({self.shape})"


def draw(rng, count, seconds, program, account, short):
    """Draws this many workflows, submitted over these seconds. The first ones show every shape
    once."""
    shapes = sorted(Maker.SHAPES)
    order = rng.sample(shapes, len(shapes))
    while len(order) < count:
        order += rng.choices(shapes, [Maker.SHAPES[shape] for shape in shapes])
    found = []
    for number, shape in enumerate(order[:count]):
        maker = Maker(rng, program, account, short)
        text, ending = maker.make(shape)
        at = 0 if number < min(4, count) else rng.uniform(0, 0.9) * seconds
        found.append(Workflow(number, shape, at, text, ending, maker.phases))
    return sorted(found, key=lambda workflow: workflow.at)


def fingerprint(workflows, faults):
    """One number for the whole schedule. Equal seeds give equal numbers."""
    text = "".join(f"{w.at:.3f}{w.shape}{sorted(w.phases)}" for w in workflows)
    text += "".join(f"{f.at:.3f}{f.kind}{f.pick:.6f}" for f in faults)
    return f"{zlib.crc32(text.encode()):08x}"
