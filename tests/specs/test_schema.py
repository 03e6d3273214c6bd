"""Whether schema/workflow.schema.json and the parser agree on a corpus, and on names outside of the
table of keys.

Each file of good/ must be valid. Each file of bad/ says in a comment what the schema must do:
`# schema: rejects`, or `# schema: accepts` where only the parser can know (a phase that is not
there, an expression). If several phases of a file are bad, the schema must reject each of them
alone, too, except those that the comment names: `# schema: rejects, but not train, deploy`. Prints
TAP. The same corpus is checked against the parser by test_spec.c.
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


def check_keys(schema):
    """The keys are those of lib/spec/keys.def: test_keys.sh compares. These come from elsewhere."""
    defaults = set(schema["$defs"]["defaults"]["properties"])
    differing = (set(schema["$defs"]["phase"]["properties"]) - defaults) ^ {
        "extends", "after", "colocate", "matrix", "pack", "best", "expect"}
    yield "defaults have the keys of a phase, except those that are its own", sorted(differing)
    options = set(re.findall(r'X\(\w+, "(\w+)"', read("lib/spec/slurm_options.h")))
    elsewhere = set(re.findall(r'^    \{"(\w+)", "', read("lib/spec/options.c"), re.M))
    differing = (options - elsewhere) ^ set(schema["$defs"]["slurm"]["properties"])
    yield "the options of slurm are the schema's", sorted(differing)
    taken = re.search(r"scope_taken_names\[\] = \{(.*?)\};", read("lib/spec/scope.c"), re.S)
    refused = schema["$defs"]["params"]["propertyNames"]["allOf"][2]["not"]["enum"]
    differing = set(re.findall(r'"(\w+)"', taken.group(1))) ^ set(refused)
    yield "no param has the name of a variable that every run has", sorted(differing)


def check_phases(validator, text, workflow, excepted):
    """Says of which bad phases the comment tells otherwise than the schema."""
    bad = set(re.findall(r"^# expect: [0-9]+:[0-9]+: phases\.([^.:]+)", text, re.M))
    phases = workflow.get("phases") if isinstance(workflow, dict) else None
    if not isinstance(phases, dict) or len(bad) < 2:
        phases = {}
    for name in sorted(bad & set(phases)):
        alone = {"name": "alone", "phases": {name: phases[name]}}
        if validator.is_valid(alone) != (name in excepted):
            yield "%s is %s" % (name, "rejected" if name in excepted else "accepted")
    yield from ("%s is not among the bad phases" % name for name in excepted - (bad & set(phases)))


def check_corpus(validator):
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests/specs/*/*.yaml"))):
        text = read(path)
        title = os.path.relpath(path, os.path.join(SOURCE, "tests/specs"))
        mark = re.search(r"^# schema: (accepts|rejects)(?:, but not (.+))?$", text, re.M)
        is_good = title.startswith("good") or (mark and mark.group(1) == "accepts")
        if not title.startswith("good") and not mark:
            yield title, ["no line '# schema: accepts' or '# schema: rejects'"]
            continue
        try:
            workflow = yaml.load(text, Loader)
            errors = [error.message[:200] for error in validator.iter_errors(workflow)]
        except yaml.YAMLError as error:
            workflow, errors = None, [str(error)]
        if is_good:
            yield "the schema accepts " + title, errors
        else:
            excepted = set((mark.group(2) or "").split(", ")) - {""}
            yield "the schema rejects " + title, (
                list(check_phases(validator, text, workflow, excepted)) if errors
                else ["it is accepted"])


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
