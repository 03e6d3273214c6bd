#!/usr/bin/env python3
"""A fake RAS service of NCCL: answers one client, and prints the questions. As `silent` it accepts
the connection and does not answer. With the name of a file, it answers each client with the text
in this file, until it is killed."""
import socket
import sys
import time

server = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(str(server.getsockname()[1]))


def hear(client):
    """Reads the questions, and answers all but the last."""
    lines = client.makefile("r", encoding="ascii")
    asked = []
    for answer in ("SERVER PROTOCOL 2\n", "OK\n", None):
        asked.append(lines.readline().rstrip("\n"))
        if answer:
            client.sendall(answer.encode())
    return "|".join(asked)


def answer_all(path):
    """Answers with the text in this file."""
    while True:
        client, _ = server.accept()
        hear(client)
        with open(path, "rb") as file:
            client.sendall(file.read())
        client.close()


if sys.argv[2:] and sys.argv[2] != "silent":
    answer_all(sys.argv[2])
client, _ = server.accept()
if sys.argv[2:] == ["silent"]:
    time.sleep(60)
print(hear(client), flush=True)
client.sendall(b"Job summary\n  Rank 3 has launched ")
time.sleep(0.1)
client.sendall(b"7 of 8 operations\n")
client.close()
