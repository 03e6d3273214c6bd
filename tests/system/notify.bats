#!/usr/bin/env bats
# A command or a webhook tells people what waits for them and what has ended.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    home_down
}

# told NOTIFY [EXIT]: a workflow of one phase that exits with this code.
told() {
    submit <<SPEC
name: told
notify: $1
phases:
  only:
    resources: {time: 10m}
    on_fail: ${3:-hold}
    run: exit ${2:-0}
SPEC
}

lines() { [ "$(wc -l <"$PHASED_HOME/told" 2>/dev/null || echo 0)" = "$1" ]; }
none_is_owed() { [ "$(record 'SELECT count(*) FROM notice WHERE done IS NULL')" = 0 ]; }
one_is_done() { [ "$(record 'SELECT count(*) FROM notice WHERE done IS NOT NULL')" = 1 ]; }

@test "a command gets the notice once, on its input and in its environment" {
    phasectl daemon start
    told "{on: [held, succeeded], command: 'cat >>\$PHASED_HOME/told; echo \"\$PHASED_NOTICE_KIND \$PHASED_NOTICE_ADDRESS\" >>\$PHASED_HOME/told'}" 3
    eventually 60 lines 2
    [ "$(sed -n 2p "$PHASED_HOME/told")" = 'held 1/only' ]
    head -n 1 "$PHASED_HOME/told" | gojq -e '.kind == "held" and .workflow == 1 and .name == "told" and (.message | contains("exit"))'
    told "{on: succeeded, command: 'echo \$PHASED_NOTICE_KIND \$PHASED_NOTICE_ADDRESS >>\$PHASED_HOME/told'}"
    eventually 60 lines 3
    [ "$(sed -n 3p "$PHASED_HOME/told")" = 'succeeded 2' ]
    told "{on: failed, command: 'echo \$PHASED_NOTICE_KIND: \$PHASED_NOTICE_MESSAGE >>\$PHASED_HOME/told'}" 3 fail
    eventually 60 lines 4
    [[ $(sed -n 4p "$PHASED_HOME/told") = 'failed: only: exit: '* ]]
    eventually 60 none_is_owed
}

# A server that writes down its requests. /moved redirects to /hook, and /ftp to a server of files.
# /broken fails, and /slow does not answer.
listen() {
    cat >"$PHASED_HOME/listener.py" <<'PYTHON'
import http.server, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        open(sys.argv[1] + "/ps", "w").write(os.popen("ps -ef").read())
        open(sys.argv[1] + "/asked", "a").write(self.path + "\n")
        if self.path == "/slow":
            time.sleep(600)
        moved, broken = self.path in ("/moved", "/ftp"), self.path == "/broken"
        if not moved and not broken:
            open(sys.argv[1] + "/told", "a").write("%s %s %s\n" % (self.path, self.headers["Content-Type"], body))
        self.send_response(301 if moved else 500 if broken else 204)
        if moved:
            self.send_header("Location", "ftp://127.0.0.1:1/" if self.path == "/ftp" else "/hook")
        self.end_headers()
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open(sys.argv[1] + "/port", "w").write(str(server.server_port))
server.serve_forever()
PYTHON
    python3 "$PHASED_HOME/listener.py" "$PHASED_HOME" &
    listener=$!
    eventually 60 test -s "$PHASED_HOME/port"
    hook=http://127.0.0.1:$(cat "$PHASED_HOME/port")
}

@test "a webhook gets the notice as JSON, and its address appears in no log and no list of processes" {
    phasectl daemon start
    listen
    told "{on: held, webhook: '$hook/hook?secret=\"quoted\"'}" 3
    eventually 60 lines 1
    [[ $(cat "$PHASED_HOME/told") = *'secret='*' application/json {'*'"kind":"held"'* ]]
    eventually 60 none_is_owed
    [ "$(grep -c 'secret=' "$PHASED_HOME/phased.log")" = 0 ]
    [ "$(grep -c 'secret=' "$PHASED_HOME/ps")" = 0 ]
}

@test "a redirect of a webhook is followed, and an error of a webhook is reported and tried again" {
    phasectl daemon start
    listen
    told "{on: held, webhook: '$hook/slow'}" 3
    eventually 60 grep -qx /slow "$PHASED_HOME/asked"
    told "{on: held, webhook: '$hook/moved'}" 3
    told "{on: held, webhook: '$hook/broken'}" 3
    eventually 60 lines 1
    [[ $(cat "$PHASED_HOME/told") = '/hook application/json {'* ]]
    eventually 60 warned "the webhook of notify exited with 22 for the notice 'held': curl: (22) The requested URL returned error: 500"
    # The webhook that does not answer has delayed nothing.
    others() { [ "$(record 'SELECT workflow, tries > 0, done IS NULL FROM notice WHERE workflow > 1 ORDER BY workflow' | paste -sd' ')" = '2|0|0 3|1|1' ]; }
    eventually 60 others
    [ "$(record 'SELECT done IS NULL FROM notice WHERE workflow = 1')" = 1 ]
    told "{on: held, webhook: 'http://127.0.0.1:1/'}" 3
    eventually 60 warned "for the notice 'held': curl: (7) "
}

@test "a webhook address that contains options of curl is refused, even if it is in the record" {
    printf 'name: x\nnotify: {webhook: "http://x/\\noutput = /tmp/x"}\nphases: {a: {run: x, resources: {time: 1h}}}\n' >"$PHASED_HOME/x.yaml"
    run phasectl check "$PHASED_HOME/x.yaml"
    [ "$status" != 0 ]
    [[ $output == *"notify.webhook: an address has no control characters"* ]]
    phasectl daemon start
    listen
    told "{on: succeeded, webhook: '$hook/hook'}" "\$(until [ -e $PHASED_HOME/go ]; do sleep 0.3; done; echo 0)"
    sqlite3 -cmd '.timeout 10000' "$PHASED_HOME/phased.db" "UPDATE workflow SET resolved = json_set(resolved, '\$.notify.webhook',
        '$hook/hook' || char(34, 10) || 'output = ' || char(34) || '$PHASED_HOME/written')"
    touch "$PHASED_HOME/go"
    eventually 60 warned "the webhook of notify is refused"
    eventually 60 none_is_owed
    [ ! -e "$PHASED_HOME/written" ]
    [ ! -e "$PHASED_HOME/told" ]
}

@test "a webhook address with braces is used as it is written" {
    phasectl daemon start
    listen
    told "{on: held, webhook: '$hook/{a,b}'}" 3
    eventually 60 lines 1
    eventually 60 none_is_owed
    [ "$(cat "$PHASED_HOME/asked")" = '/{a,b}' ]
}

@test "a webhook address with another protocol is refused, even if it is in the record" {
    phasectl daemon start
    listen
    # curl would post to /hook anyway: gopher sends what the address contains.
    gopher=gopher${hook#http}/_POST%20/hook%20HTTP/1.0%0d%0aContent-Length:%200%0d%0a%0d%0a
    told "{on: succeeded, webhook: '$hook/hook'}" "\$(until [ -e $PHASED_HOME/go ]; do sleep 0.3; done; echo 0)"
    sqlite3 -cmd '.timeout 10000' "$PHASED_HOME/phased.db" \
        "UPDATE workflow SET resolved = json_set(resolved, '\$.notify.webhook', '$gopher')"
    touch "$PHASED_HOME/go"
    eventually 60 one_is_done
    [ ! -e "$PHASED_HOME/asked" ]
    warned "the webhook of notify is refused"
}

@test "a redirect of a webhook may lead only to http and https" {
    phasectl daemon start
    listen
    told "{on: held, webhook: '$hook/ftp'}" 3
    eventually 60 warned "for the notice 'held': curl: (1) Protocol \"ftp\" "
}

@test "a phase notifies of its own events, and a workflow of its own" {
    phasectl daemon start
    tell="{command: 'echo \$PHASED_NOTICE_KIND \$PHASED_NOTICE_ADDRESS: \$PHASED_NOTICE_MESSAGE >>\$PHASED_HOME/told'"
    submit <<SPEC
name: told
notify: $tell, on: succeeded}
defaults: {resources: {time: 10m}, notify: $tell}}
phases:
  first: {run: exit 0}
  sweep: {after: first, matrix: {x: [1, 2]}, run: echo \$x}
  quiet: {after: first, run: exit 0, notify: null}
  last: {after: [sweep, quiet], run: exit 3, on_fail: fail, notify: $tell, on: failed}}
SPEC
    eventually 90 lines 3
    sort "$PHASED_HOME/told" >"$PHASED_HOME/sorted" # those of one moment are told side by side
    [[ $(sed -n 1p "$PHASED_HOME/sorted") = 'failed 1/last: exit: '* ]]
    [ "$(sed -n 2p "$PHASED_HOME/sorted")" = 'succeeded 1/first: no gate' ]
    [[ $(sed -n 3p "$PHASED_HOME/sorted") = 'succeeded 1/sweep: '* ]]
    eventually 60 none_is_owed
    [ "$(record 'SELECT count(*) FROM notice')" = 3 ]
}

@test "each phase that waits for a person gives a notice, and phases that are held together give one" {
    phasectl daemon start
    submit <<'SPEC'
name: told
notify: {on: held, command: 'echo $PHASED_NOTICE_KIND $PHASED_NOTICE_ADDRESS: $PHASED_NOTICE_MESSAGE >>$PHASED_HOME/told'}
defaults: {resources: {time: 10m}}
phases:
  a: {run: echo step=1 loss=5, gate: {low: last(loss) < 3}}
  b: {extends: a}
SPEC
    eventually 60 lines 2
    [ "$(sort "$PHASED_HOME/told")" = $'held 1/a: gate failed: low\nheld 1/b: gate failed: low' ]
    submit --hold <<'SPEC'
name: told
notify: {on: held, command: 'echo $PHASED_NOTICE_KIND $PHASED_NOTICE_ADDRESS >>$PHASED_HOME/told'}
defaults: {resources: {time: 10m}}
phases:
  a: {run: exit 0}
  b: {run: exit 0}
SPEC
    eventually 60 none_is_owed
    [ "$(tail -n +3 "$PHASED_HOME/told")" = 'held 2/a' ]
}

@test "a notice that fails is tried again with a warning, and a notice that hangs delays no other notice" {
    phasectl daemon start
    told "{on: held, command: 'yes >&2; sleep 1000'}" 3 # what it says takes no memory
    told "{on: held, command: 'echo x >>\$PHASED_HOME/tries; echo no mail today >&2; [ -e \$PHASED_HOME/works ] && echo y >>\$PHASED_HOME/told'}" 3
    eventually 60 test -s "$PHASED_HOME/tries"
    eventually 60 warned "the command of notify exited with 1 for the notice 'held': no mail today"
    record 'SELECT tries >= 1, due > time FROM notice WHERE workflow = 2' | grep -qx '1|1'
    touch "$PHASED_HOME/works"
    eventually 60 lines 1
    eventually 60 warned "the command of notify did not end within 30 s for the notice 'held': y; it will"
}

@test "what a command says beyond a few kilobytes is discarded, and the command goes on" {
    phasectl daemon start
    told "{on: held, command: 'set -e; i=0; while [ \$i -lt 4000 ]; do echo a line of many \$i >&2; i=\$((i + 1)); done; echo x >>\$PHASED_HOME/told'}" 3
    told "{on: held, command: 'set -e; i=0; while [ \$i -lt 4000 ]; do echo a line of many \$i >&2; i=\$((i + 1)); done; echo the last one >&2; exit 4'}" 3
    # A program in the background may still say something.
    told "{on: held, command: '(set -e; sleep 3; echo late >/dev/stderr; echo late >&2; echo x >>\$PHASED_HOME/told) &'}" 3
    eventually 60 lines 2
    eventually 60 warned "the command of notify exited with 4 for the notice 'held': the last one;"
}

change_record() { sqlite3 -cmd '.timeout 10000' "$PHASED_HOME/phased.db" "$1"; }
has_tried() { [ "$(record 'SELECT tries, done IS NULL FROM notice')" = "$1" ]; }

@test "a notice is tried for a day, and time without a daemon does not count" {
    phasectl daemon start
    told "{on: held, command: 'exit 1'}" 3
    eventually 60 has_tried '1|1'
    phasectl daemon stop
    change_record 'UPDATE notice SET tries = 0, time = time - 3 * 86400000, due = 0'
    phasectl daemon start
    eventually 60 has_tried '1|1'
    [ "$(record "SELECT count(*) FROM event WHERE message LIKE '%it will be tried again for a day'")" = 2 ]
    phasectl daemon stop
    change_record 'UPDATE notice SET tries = 40, due = 0'
    phasectl daemon start
    eventually 60 none_is_owed
    warned "the command of notify exited with 1 for the notice 'held'; given up"
}

warned() { record "SELECT message FROM event WHERE type = 'warning'" | grep -qF "$1"; }

@test "a daemon that was killed sends its notices after its next start" {
    phasectl daemon start
    told "{on: held, command: 'until [ -e \$PHASED_HOME/open ]; do sleep 0.3; done; echo x >>\$PHASED_HOME/told'}" 3
    eventually 60 state 1/only held
    daemon_kill
    [ "$(record 'SELECT count(*) FROM notice WHERE done IS NULL')" = 1 ]
    touch "$PHASED_HOME/open"
    phasectl daemon start
    eventually 60 none_is_owed
    [ -s "$PHASED_HOME/told" ]
}
