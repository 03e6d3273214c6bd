"""Whether schema/workflow.schema.json and the parser agree: on the keys there are, and on a corpus.

Each file of good/ must be valid. Each file of bad/ says in a comment what the schema must do:
`# schema: rejects`, or `# schema: accepts` where only the parser can know (a phase that is not
there, an expression). Prints TAP. The same corpus is checked against the parser by test_spec.c.
"""

import glob
import json
import os
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print("1..0 # SKIP %s (packages python3-jsonschema and python3-yaml)" % missing)
    sys.exit(0)

SOURCE = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", ".."))


class Loader(yaml.SafeLoader):
    """YAML as the parser reads it: numbers, true and false as in JSON; all else is text."""


Loader.yaml_implicit_resolvers = {}
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), None)
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), None)
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(0|[1-9][0-9]*)$"), None)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"), None)
Loader.add_constructor("tag:yaml.org,2002:float",
                       lambda loader, node: float(loader.construct_scalar(node)))


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def rows_of(name):
    """The keys of a map in the table of lib/spec/keys.def."""
    row = {"workflow": r"WORKFLOW_KEY\(", "variant": r"WORKFLOW_KEY\(",
           "phase": r"PHASE_KEY\("}.get(name, r"\bKEY\(%s, " % name.upper())
    keys = re.findall(row + r'"(\w+)", (?:OF|\w*WHOLE|\w*CHOICE)\([^)]*\),\s+(\w*)', read("lib/spec/keys.def"))
    return {key for key, merge in keys if (name, merge) != ("variant", "OF_FILE")}


def check_keys(schema):
    definitions = schema["$defs"]
    metrics = [form for form in definitions["metrics"]["anyOf"] if "properties" in form][0]
    preflight = [form for form in definitions["preflight"]["anyOf"] if "properties" in form][0]
    maps = {
        "workflow": schema, "variant": definitions["variant"], "phase": definitions["phase"], "resources": definitions["resources"],
        "checkpoint": definitions["checkpoint"], "progress": definitions["progress"],
        "metrics": metrics, "preflight": preflight, "mfu": definitions["mfu"],
        "parallel": definitions["parallel"], "shard": definitions["shard"], "check": definitions["check"],
        "remedy": definitions["remedy"], "best": definitions["best"], "expect": definitions["expect"], "budget": definitions["budget"], "notify": definitions["notify"],
    }
    for name, form in maps.items():
        differing = rows_of(name) ^ set(form["properties"])
        yield "the parser's keys of a %s are the schema's" % name, sorted(differing)
    differing = (set(definitions["phase"]["properties"]) -
                 set(definitions["defaults"]["properties"])) ^ {"extends", "after", "colocate",
                                                                "matrix", "pack", "best", "expect"}
    yield "defaults hold what a phase does but what is its own", sorted(differing)
    options = set(re.findall(r'X\(\w+, "(\w+)"', read("lib/spec/slurm_options.h")))
    elsewhere = set(re.findall(r'^    \{"(\w+)", "', read("lib/spec/options.c"), re.M))
    differing = (options - elsewhere) ^ set(definitions["slurm"]["properties"])
    yield "the options of slurm are the schema's", sorted(differing)


def check_corpus(validator):
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests/specs/*/*.yaml"))):
        text = read(path)
        title = os.path.relpath(path, os.path.join(SOURCE, "tests/specs"))
        mark = re.search(r"^# schema: (accepts|rejects)$", text, re.M)
        is_good = title.startswith("good") or (mark and mark.group(1) == "accepts")
        if not title.startswith("good") and not mark:
            yield title, ["no line '# schema: accepts' or '# schema: rejects'"]
            continue
        try:
            errors = [error.message[:200] for error in
                      validator.iter_errors(yaml.load(text, Loader))]
        except yaml.YAMLError as error:
            errors = [str(error)]
        if is_good:
            yield "the schema accepts " + title, errors
        else:
            yield "the schema rejects " + title, [] if errors else ["it is accepted"]


def main():
    schema = json.loads(read("schema/workflow.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    results = list(check_keys(schema)) + list(check_corpus(validator))
    print("1..%d" % len(results))
    for number, (title, problems) in enumerate(results, 1):
        print("%sok %d - %s" % ("not " if problems else "", number, title))
        for problem in problems:
            print("# %s" % problem)


main()
