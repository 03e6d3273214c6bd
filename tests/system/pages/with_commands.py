"""Prints those of the pages that tell a reader to run something. See README.md."""

import sys

import page


def has_commands(name):
    with open(name) as file:
        return any(page.found_in(*block[1:]) for block in page.blocks(file))


for each in sys.argv[1:]:
    if has_commands(each):
        print(each)
