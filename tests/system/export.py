#!/usr/bin/env python3
"""Reads what `phasectl metrics --tensorboard` and `--trackio` wrote, without their libraries.

    export.py events FOLDER     a folder with one event file
    export.py trackio FILE RUN  a run in a file of trackio

Prints a line for each value in the order of the file: the metric, the step, the value with 6
digits, and the time. Fails if a checksum, a key of protobuf or the order of the steps is wrong."""
import datetime
import json
import pathlib
import sqlite3
import struct
import sys

TABLE = []
for number in range(256):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        size, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), f"the length at {at} has a wrong checksum"
        record = data[at + 12:at + 12 + size]
        (crc,) = struct.unpack_from("<I", data, at + 12 + size)
        assert crc == masked_crc(record), f"the record at {at} has a wrong checksum"
        yield record
        at += 16 + size


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def members(data):
    """The members of a message: (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,) = struct.unpack_from("<d", data, at)
            at += 8
        elif kind == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            assert len(value) == size
            at += size
        elif kind == 5:
            (value,) = struct.unpack_from("<f", data, at)
            at += 4
        else:
            sys.exit(f"a member of kind {kind}")
        yield number, value


def read_events(folder):
    # The files of earlier calls are empty.
    (path,) = (p for p in pathlib.Path(folder).glob("*tfevents*") if p.stat().st_size)
    events = [list(members(record)) for record in records(path.read_bytes())]
    assert dict(events[0])[3] == b"brain.Event:2", events[0]
    assert list(members(dict(events[1])[7])) == [(1, 1)], events[1]  # a session starts
    assert dict(events[1])[2] == 0
    for event in events[2:]:
        (number, time), (step_number, step), (summary_number, summary) = event
        assert (number, step_number, summary_number) == (1, 2, 5)
        for value_number, value in members(summary):
            (tag_number, tag), (simple_number, simple) = members(value)
            assert (value_number, tag_number, simple_number) == (1, 1, 2)
            yield tag.decode(), step, simple, time


def read_trackio(path, run):
    words = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
    file = sqlite3.connect(path)
    rows = file.execute("SELECT run_id, timestamp, step, metrics FROM metrics"
                        " WHERE run_name = ? ORDER BY timestamp, id", (run,))
    for run_id, timestamp, step, metrics in rows:
        assert run_id == run
        time = datetime.datetime.fromisoformat(timestamp)
        assert time.utcoffset() == datetime.timedelta(0)
        for name, value in json.loads(metrics).items():
            yield name, step, words.get(value, value), time.timestamp()


def main():
    reader = {"events": read_events, "trackio": read_trackio}[sys.argv[1]]
    last = {}
    for name, step, value, time in reader(*sys.argv[2:]):
        assert last.get(name, (-1, 0)) < (step, time), f"{name} goes back at step {step}"
        last[name] = (step, time)
        print(name, step, f"{value:.6g}", f"{time:.3f}")


main()
