"""Does what systemd does for a service of Type=notify: service.py FOLDER COMMAND...

Runs the command with a datagram socket in NOTIFY_SOCKET and a watchdog of a second. Writes each
line that the command says to FOLDER/said. SIGTERM goes on to the command. Exits as the command.
"""
import os
import signal
import socket
import subprocess
import sys

folder, command = sys.argv[1], sys.argv[2:]
path = os.path.join(folder, "notify")
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(path)
listener.settimeout(0.1)
environment = {**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"}
child = subprocess.Popen(command, env=environment)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
with open(os.path.join(folder, "said"), "w", buffering=1) as said:
    has_ended = False
    while True:
        try:
            said.write(listener.recv(65536).decode() + "\n")
        except socket.timeout:
            if has_ended:
                break
            has_ended = child.poll() is not None
sys.exit(child.returncode)
