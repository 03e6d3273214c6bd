#!/usr/bin/env bats
# Which processes of a program hear of a stop. The lead and its agents run with a stand-in for srun.

load worker/helpers

setup() {
    worker_setup
    start_daemon
    write_trainer
}

teardown() {
    worker_teardown
}

# Trains until the stop signal comes, and saves how often it came within a second.
write_trainer() {
    cat >"$home/train.py" <<'PROGRAM'
import os, signal, sys, time
told = []
signal.signal(getattr(signal, "SIG" + os.environ["PHASED_STOP_SIGNAL"]), lambda *_: told.append(1))
name = os.environ["PHASED_OUT"] + "/" + sys.argv[1]
if "loader" in sys.argv and os.fork() == 0:
    name += ".loader" # which has inherited the handler, as a data loader does
parent = os.getppid()
open(name + ".ready", "w").close()
while not told and parent == os.getppid():
    time.sleep(0.05)
end = time.monotonic() + 1
while time.monotonic() < end:
    time.sleep(0.05)
print(len(told), file=open(name + ".new", "w"))
os.rename(name + ".new", name + ".told")
PROGRAM
}

# told NAME...: how often the stop signal reached each of these programs.
told() {
    local name
    for name in "$@"; do cat "$home/out/$name.told"; done | xargs
}

@test "programs of a launcher that does not know USR1 save, and the launcher waits for them" {
    # Like torchrun: its programs have sessions of their own. The last program has no handler yet.
    cat >"$home/launch.py" <<'LAUNCHER'
import os, signal, subprocess
out = os.environ["PHASED_OUT"]
def stop(number, frame):
    for program in programs:
        os.killpg(program.pid, number)
signal.signal(signal.SIGTERM, stop)
trainers = [["python3", "train.py", name, "loader"] for name in ("a", "b")]
late = ["bash", "-c", f"echo >{out}/late.ready; until [ -e {out}/a.told ]; do sleep 0.1; done"]
programs = [subprocess.Popen(words, start_new_session=True) for words in trainers + [late]]
codes = [program.wait() for program in programs]
open(out + "/codes", "w").write(str(codes))
LAUNCHER
    local signal name run=0
    for signal in USR1 TERM; do
        rm -rf "$home/out" && mkdir "$home/out"
        run=$((run + 1))
        new_run $run "{\"launch\": \"node\", \"checkpoint\": {\"path\": \"\$PHASED_OUT/{step}.told\", \"stop_signal\": \"$signal\",
            \"save_time_s\": 600}, \"run\": $(script 'python3 launch.py | tee $PHASED_OUT/printed
            touch $PHASED_OUT/after')}"
        start_lead $run
        for name in a b a.loader b.loader late; do await test -e "$home/out/$name.ready"; done
        command_lead $run 1 '{"verb": "stop", "why": "held"}'
        await_lead 1
        [ ! -e "$home/out/after" ]
        if [ $signal = USR1 ]; then
            [ "$(told a b a.loader b.loader)" = "1 1 0 0" ]
            [ "$(cat "$home/out/codes")" = "[0, 0, 0]" ]
        else # the launcher itself signals the groups of its programs
            [ "$(told a b a.loader b.loader)" = "1 1 1 1" ]
            [ "$(cat "$home/out/codes")" = "[0, 0, -15]" ]
        fi
    done
}

@test "a program in a process group of its own hears of a stop once" {
    local signal rank run=0
    for signal in TERM USR1 INT; do
        rm -rf "$home/out" && mkdir "$home/out"
        run=$((run + 1))
        new_run $run "{\"resources\": {\"nodes\": 1, \"gpus\": 6}, \"checkpoint\": {\"path\": \"\$PHASED_OUT/{step}.told\",
            \"stop_signal\": \"$signal\", \"save_time_s\": 600}, \"run\": $(script 'train="python3 train.py $RANK"
            case $RANK in
            0) timeout 1000 $train ;;
            1) timeout --foreground 1000 $train ;;
            2) set -m; $train & wait ;;
            3) set -m; $train & pid=$!; trap "kill -'$signal' -- -$pid" '$signal'; wait || wait ;;
            4) trap "echo end" EXIT; set -m
               $train & pid=$!; trap "kill -'$signal' -- -$pid" '$signal'; wait || wait ;;
            5) trap "echo end" EXIT; timeout 1000 bash -c "$train; touch $PHASED_OUT/after" ;;
            esac')}"
        start_lead $run
        for rank in {0..5}; do await test -e "$home/out/$rank.ready"; done
        command_lead $run 1 '{"verb": "stop", "why": "held"}'
        await_lead 1
        [ "$(told {0..5})" = "1 1 1 1 1 1" ]
        [ $signal = INT ] || [ ! -e "$home/out/after" ] # a shell goes on after INT, as at a terminal
    done
}

# As apptainer, which is written in Go: its starter takes all signals and passes them on.
@test "a program without a handler ends at once, although a helper takes almost all signals" {
    cat >"$home/starter.py" <<'STARTER'
import os, signal, subprocess, sys
program = subprocess.Popen(sys.argv[1:])
for number in set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, lambda number, _: program.send_signal(number))
open(os.environ["PHASED_OUT"] + "/ready", "w").close()
sys.exit(program.wait() != 0)
STARTER
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/{step}.told\", \"stop_signal\": \"USR1\",
        \"save_time_s\": 600}, \"run\": $(script 'python3 starter.py sleep 1000')}"
    start_lead 1
    await test -e "$home/out/ready"
    command_lead 1 1 '{"verb": "stop", "why": "held"}'
    await_lead 1 # the time for the save is longer
}
