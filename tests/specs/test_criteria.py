"""Whether doc/guide/criteria.md tells the truth: each of its rows against the workflow that it is of.

A table stands under the heading of its file, with the columns lines, what the guide says, and where
it stands. Each of the lines must be named in the file, in brackets; each `place` of the last column
must be there when the file is resolved (`phasectl check --print`), and hold what is said of it:

    `train.guards.memory`              there is such a key
    `train.params.batch_size=64`       with this value; numbers are compared as such
    `train.run~--batch_size`           a text with this in it
    `ladder: train.params.lr=0.1`      with the variant `ladder`; several: `a+b: ...`
    `phasectl gpus`                    a command, not looked up

A row without any place must say that it stands in a comment. And `run` must give the programs of
the guides such options alone as they have. Prints TAP.
"""

import json
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", ".."))
PHASECTL = os.path.join(os.environ.get("BIN", os.path.join(SOURCE, "build/bin")), "phasectl")
PAGE = "doc/guide/criteria.md"
resolved = {}

# What the guides' programs know, as they tell themselves with --help or in their source.
OPTIONS = {
    ("trm-two-phase.yaml", "validate", "scripts.base_train"): """
        run device_type depth n_loops compile max_seq_len num_iterations target_flops
        target_param_data_ratio device_batch_size total_batch_size embedding_lr unembedding_lr
        weight_decay matrix_lr grad_clip warmup_ratio warmdown_ratio final_lr_frac resume_from_step
        eval_every eval_tokens core_metric_every core_metric_max_per_task sample_every save_every
        model_tag""",
    ("prompt-distillation.yaml", "generate", 'python "$create_data"'): """
        input_file output_file model_name temperature max_tokens tensor_parallel_size""",
    ("h100-mfu.yaml", "train", "train_h100_optimized.py"): """
        dim n_layers n_heads head_dim intermediate_size batch_size gradient_accumulation_steps
        learning_rate min_learning_rate warmup_steps max_hours max_length num_workers
        prefetch_factor use_fp8 use_flash_attn compile_model gradient_checkpointing use_wandb
        output_dir eval_interval log_interval""",
    ("latentwire.yaml", "train", "latentwire/train.py"): """
        samples epochs batch_size grad_accum_steps seed data_seed dataset models llama_id
        qwen_id use_optimized_dataloader num_dataloader_workers dataloader_prefetch_factor
        dataloader_cache_tokenization dataloader_pin_memory lr max_grad_norm grad_ckpt
        mixed_precision save_dir save_every resume_from auto_resume reset_epoch""",
}

# The keys of main.py's configuration that are set, of hdp-diffusion: Hydra refuses another one, and
# one with a + that is there already.
HYDRA = """
    mode data model algo noise loader.global_batch_size loader.batch_size loader.eval_batch_size
    loader.eval_global_batch_size loader.num_workers model.length model.attn_backend block_size
    algo.backbone optim.lr lr_scheduler.num_warmup_steps training.ema training.resample
    trainer.max_steps trainer.accumulate_grad_batches trainer.devices trainer.num_nodes
    trainer.precision trainer.gradient_clip_val trainer.val_check_interval
    trainer.log_every_n_steps wandb.project wandb.name hydra.run.dir checkpointing.save_dir
    checkpointing.resume_ckpt_path eval.checkpoint_path"""
HYDRA_DATA = """ data.train_path data.test_path data.hdp.question_len data.hdp.plan_len
    data.hdp.exec_len""" # of data=hdp_diffusion alone
KEYS = {
    ("bd3lm-h200.yaml", "train", "main.py"): HYDRA,
    ("bd3lm-h200.yaml", "evaluate", "evaluate.py\""): HYDRA,
    ("hdp-diffusion-h200.yaml", "train", "main.py"): HYDRA + HYDRA_DATA,
    ("hdp-diffusion-h200.yaml", "evaluate", "evaluate.py\""): HYDRA + HYDRA_DATA,
}


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def resolve(file, variants):
    """The file as `check --print` shows it, or what `check` says of it."""
    if (file, variants) not in resolved:
        options = [option for name in variants for option in ("--with", name)]
        path = os.path.join(SOURCE, "etc/workflows", file)
        run = subprocess.run([PHASECTL, "check", path, "--print"] + options,
                             capture_output=True, text=True, check=False)
        resolved[file, variants] = json.loads(run.stdout) if run.returncode == 0 else run.stderr
    return resolved[file, variants]


def look_up(workflow, keys):
    """What stands there; KeyError when nothing does."""
    phases = {phase["name"]: phase for phase in workflow["phases"]}
    member = ".".join(keys[:2])  # of a matrix: ladder.1
    if member in phases:
        keys = [member] + keys[2:]
    value = phases if keys[0] in phases else workflow
    for key in keys:
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and value.get(key) is not None:
            value = value[key]
        else:
            raise KeyError(key)
    return value


def is_equal(value, text):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return (value if isinstance(value, str) else json.dumps(value)) == text
    try:
        return float(text) == value
    except ValueError:
        return False


def check_place(file, place):
    """What is wrong with it, or None."""
    form = re.fullmatch(r"(?:(\w+(?:\+\w+)*): )?([\w.]+)(?:([=~])(.+))?", place)
    if not form:
        return "is not a place"
    variants, path, relation, text = form.groups()
    workflow = resolve(file, tuple(variants.split("+")) if variants else ())
    if isinstance(workflow, str):
        return "check says: " + workflow
    try:
        value = look_up(workflow, path.split("."))
    except KeyError as missing:
        return "there is no %s" % missing.args[0]
    if relation == "=" and not is_equal(value, text):
        return "is %s" % json.dumps(value)
    if relation == "~" and text not in (value if isinstance(value, str) else json.dumps(value)):
        return "is without that"
    return None


def lines_of(text):
    """{1, 4, 5, 6} of "1, 4-6"; what is not a number, as `program`, counts for nothing."""
    lines = set()
    for first, last in re.findall(r"\b(\d+)(?:-(\d+))?\b", text):
        lines.update(range(int(first), int(last or first) + 1))
    return lines


def named_in(file):
    """The lines that the comments of a workflow name: those in brackets with nothing else."""
    comments = re.findall(r"(?:^|\s)#(.*)", read("etc/workflows/" + file))
    brackets = re.findall(r"\[([0-9, -]+)\]", "\n".join(comments))
    return set().union(*map(lines_of, brackets)) if brackets else set()


def rows_of(page):
    """Yields the file, its line in the page, and the three cells of each row."""
    file = None
    for number, line in enumerate(page.splitlines(), 1):
        heading = re.match(r"## `?([\w-]+\.yaml)`?", line)
        if heading:
            file = heading.group(1)
        elif line.startswith("| ") and file and not line.startswith("| lines"):
            yield file, number, [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def check_row(file, cells):
    """Yields what is wrong with a row."""
    if len(cells) != 3:
        yield "has %d cells" % len(cells)
        return
    absent = lines_of(cells[0]) - named_in(file)
    if absent:
        yield "%s does not name %s" % (file, ", ".join(map(str, sorted(absent))))
    places = [place for place in re.findall(r"`([^`]+)`", cells[2])
              if not place.startswith("phasectl ")]
    if not places and "comment" not in cells[2]:
        yield "says of no place where it stands"
    for place in places:
        fault = check_place(file, place)
        if fault:
            yield "%s: %s" % (place, fault)


def calls_of(file, phase, program):
    """What is given to a program, each time that it is called."""
    text = look_up(resolve(file, ()), [phase, "run"]).replace("\\\n", " ")
    calls = [line.split(program, 1)[1] for line in text.splitlines() if program + " " in line]
    return calls or ["--is-not-called"]


def check_options(file, phase, program, options):
    """Yields the options that are given to a program and that it does not have."""
    for option in re.findall(r"--([a-z]\w*)", " ".join(calls_of(file, phase, program))):
        if option not in options.split():
            yield "%s: %s has no option --%s" % (file, program, option)


def check_keys(file, phase, program, keys):
    """Yields the keys that Hydra would refuse."""
    given = re.findall(r"\s(\+{0,2})([a-z][\w.]*)=", " ".join(calls_of(file, phase, program)))
    if not given:
        yield "%s: %s gives nothing to %s" % (file, phase, program)
    for sign, key in given:
        if sign != "++" and (key in keys.split()) == (sign == "+"):
            yield "%s: %s: Hydra refuses %s%s" % (file, phase, sign, key)


def main():
    faults, rows = {}, {}
    for file, number, cells in rows_of(read(PAGE)):
        rows[file] = rows.get(file, 0) + 1
        for fault in check_row(file, cells):
            faults.setdefault(file, []).append("%s:%d: %s" % (PAGE, number, fault))
    unknown = [fault for call, options in OPTIONS.items()
               for fault in check_options(*call, options)]
    unknown += [fault for call, keys in KEYS.items() for fault in check_keys(*call, keys)]
    print("1..%d" % (len(rows) + 1))
    for number, (file, count) in enumerate(rows.items(), 1):
        print("%sok %d - %s carries what its guide says: %d rows"
              % ("not " if file in faults else "", number, file, count))
        for fault in faults.get(file, []):
            print("# " + fault.strip().replace("\n", "\n# "))
    print("%sok %d - the guides' programs are given options that they have"
          % ("not " if unknown else "", len(rows) + 1))
    for fault in unknown:
        print("# " + fault)
    sys.exit(1 if faults or unknown or not rows else 0)


main()
