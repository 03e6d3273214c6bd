"""Does in a folder what a page says. See README.md."""

import argparse
import os
import re
import subprocess
import sys
import time

FENCE = re.compile(r" *```(\w*) ?(\S*)$")
NUMBER = re.compile(r"[-+]?(?:\d+[dhm](?=\d))*\d[\d:.,]*(?:e[-+]?\d+)?(?:ms|[smhd%]\b)?")
HASH = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{12,40}\b")
COMMAND = re.compile(
    r"\s*(\$ )?(\w+=\S* )*"
    r"(phasectl|phase-\w+|(\./|\.\./)\w+|tests/\S+|s(run|batch|control|queue)|sqlite3|tensorboard|systemctl"
    r"|apt-get|bash|cd|curl|export|for|git|make|mkdir|pip|python3?|rsync|sh|ssh|sudo|while) ")
SHELLS = "sh", "bash", "shell"
READS = re.compile(r"cat |phasectl (status|why|cost|gate|show|runs|plan|doctor)\b")
LOOKS_AGAIN_S = 240


def manual_blocks(page):
    """Yields what blocks() yields, from a manual page. A literal block with commands is `sh`."""
    inside = None
    for line in page.read().replace("\\e", "\\").splitlines():
        if line.startswith(".Bd -literal"):
            inside = []
        elif line == ".Ed" and inside is not None:
            has_command = any(COMMAND.match(each) and not each.startswith(" ") for each in inside)
            yield None, "sh" if has_command else "text", "", inside
            inside = None
        elif line.startswith(".Dl "):
            yield None, "sh", "", [line[4:]]
        elif inside is not None:
            inside.append(line)


def blocks(page):
    """Yields (heading, language, name, lines) of each fenced block. A block without a fence has the
    language "indented"."""
    heading, inside, last = None, None, ""
    if re.search(r"\.\d$", page.name):
        yield from manual_blocks(page)
        return
    for line in page.read().splitlines():
        fence = FENCE.match(line)
        if inside and inside[1] != "indented":
            if line.strip() == "```":
                yield inside
                inside = None
            else:
                inside[3].append(line)
            continue
        if inside and line and not line.startswith("    "):
            yield inside
            inside = None
        if fence:
            inside = heading, fence.group(1), fence.group(2), []
        elif inside:
            inside[3].append(line)
        elif line.startswith("    ") and not last:
            inside = heading, "indented", "", [line]
        elif line.startswith("## "):
            heading = line[3:]
        last = line
    assert inside is None or inside[1] == "indented", "a block does not end"
    if inside:
        yield inside


def part(found, begin, end):
    """The blocks from the heading `begin`, and before the heading `end`."""
    is_within = begin is None
    for heading, language, name, lines in found:
        is_within = (is_within or heading == begin) and heading != (end or "")
        if is_within:
            yield language, name, lines


def found_in(language, name, lines):
    """The commands of a block, as (command, the lines that it should print, or None). In a block that
    is nothing in particular, these are the commands that nobody runs."""
    if name or language in ("text", "yaml", "json", "python"):
        return []
    if language == "console":
        return list(commands(lines))
    if language in SHELLS:
        return [(command, None) for command in re.findall(r"(?:.*\\\n)*.+", "\n".join(lines))]
    if language == "sql":
        return [("sqlite3 -readonly ~/.phased/phased.db <<'SQL'\n%s\nSQL" % "\n".join(lines), None)]
    return [(line, None) for line in lines if COMMAND.match(line)]


def commands(lines):
    """Yields (command, the lines that it should print) of a block `console`."""
    command, printed = None, []
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, printed
            command, printed = line[2:], []
        else:
            assert command, "output before the first command: %s" % line
            printed.append(line)
    yield command, printed


def plain(line, folder):
    """The line without what differs from run to run."""
    line = line.replace(os.environ["PHASED_HOME"], "/home/anna/.phased")
    line = line.replace("<$", "$").replace(folder, "/home/anna/phased").replace(os.uname().nodename, "login1")
    # A cell that does not fit ends with a dot. Where it is cut depends on the other cells.
    line = re.sub(r"(?<=  )(\S{4}[^ ]*( \S+)*)\.(?=  )", lambda cell: cell.group(1)[:4], line)
    return " ".join(NUMBER.sub("#", HASH.sub("#", line)).split())


def agrees(expected, printed):
    """Whether the lines agree, `...` standing for any number of lines."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(agrees(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and agrees(expected[1:], printed[1:])


class Reader:
    """Who does what the page says. `expected` is None: the command must succeed."""

    def __init__(self, folder):
        self.top = self.folder = folder
        self.ran = 0

    def try_once(self, command, expected):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, stdin=subprocess.DEVNULL,
                              timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        if expected is None:
            return done.returncode == 0, done
        wanted, printed = ([plain(line, self.top) for line in lines if line]
                           for lines in (expected, done.stdout.splitlines()))
        is_good = agrees(wanted, printed)
        if not is_good:
            good = max(i for i in range(len(wanted) + 1) if agrees(wanted[:i] + ["..."], printed))
            done.stdout += "\nwithout, in this place: %s" % (wanted + ["the end"])[good]
        return is_good, done

    def run(self, command, expected):
        self.ran += 1
        if command.startswith("cd "):
            self.folder = os.path.join(self.folder, command[3:])
            return os.path.isdir(self.folder)
        if command.startswith("export "):
            told = subprocess.check_output(["bash", "-c", command + "\nenv -0"], cwd=self.folder, universal_newlines=True)
            os.environ.update(line.split("=", 1) for line in told.split("\0") if line)
            return True
        deadline = time.monotonic() + LOOKS_AGAIN_S
        is_good, done = self.try_once(command, expected)
        while not is_good and READS.match(command) and time.monotonic() < deadline:
            time.sleep(0.2)
            is_good, done = self.try_once(command, expected)
        if not is_good:
            print("$ %s\nexit code %d, and printed\n%s\ninstead of\n%s" % (
                command, done.returncode, done.stdout,
                "success" if expected is None else "\n".join(expected)))
        return is_good

    def block(self, language, name, lines, left_out):
        if name:
            whole = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w") as file:
                file.write("\n".join(lines) + "\n")
            return True
        found = found_in(language, name, lines)
        if found and language in ("", "indented"):
            print("no test runs this command, for its block is not `console` or `sh`:\n" + found[0][0])
            return False
        return all(command in left_out or self.run(command, expected) for command, expected in found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("folder")
    parser.add_argument("--begin", help="a heading: begin there")
    parser.add_argument("--end", help="a heading: end before it")
    parser.add_argument("--without", action="append", default=[], help="a command that is not run")
    given = parser.parse_args()
    reader = Reader(given.folder)
    with open(given.page) as page:
        text = page.read()
        for command in given.without:
            assert command in text, "the page has no such command: %s" % command
        page.seek(0)
        for block in part(blocks(page), given.begin, given.end):
            if not reader.block(*block, given.without):
                return 1
    return 0 if reader.ran or given.without else "the page has no command"


if __name__ == "__main__":
    sys.exit(main())
