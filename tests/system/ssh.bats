#!/usr/bin/env bats
# phasectl --host: a laptop and a login node that has an sshd of its own. Both are this machine, with
# different homes and different environments.

bats_require_minimum_version 1.5.0

load phased.bash

setup_file() {
    [ -x /usr/sbin/sshd ] || { skip_all "there is no sshd"; return; }
    command -v rsync >/dev/null || { skip_all "there is no rsync"; return; }
    sandbox_up 2
    NODE=$(mktemp -d /tmp/phased-node-XXXXXX)
    export NODE
    node_up
}

teardown_file() {
    is_of_test "${NODE:-}" || return 0
    PHASED_HOME=$NODE/phased phasectl daemon stop || true
    [ ! -f "$NODE/sshd.pid" ] || kill $(cat "$NODE"/*.pid)
    sandbox_down
    rm -rf "$NODE"
}

# The login node: its home has a profile that finds phasectl, prints something, and names a home for
# phased. It lets in only the key of the laptop.
node_up() {
    local port
    mkdir -p "$NODE/home" "$NODE/phased" "$NODE/empty"
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    cat >"$NODE/home/.profile" <<PROFILE
echo 'Welcome to the cluster'
export PATH=$BIN:/usr/sbin:/usr/bin:/sbin:/bin
export PHASED_HOME=$NODE/phased SLURM_CONF=$SLURM_CONF
PROFILE
    ssh-keygen -q -t ed25519 -N '' -f "$NODE/host_key"
    ssh-keygen -q -t ed25519 -N '' -f "$NODE/key"
    cp "$NODE/key.pub" "$NODE/authorized_keys"
    cat >"$NODE/sshd_config" <<CONFIG
ListenAddress 127.0.0.1
HostKey $NODE/host_key
PidFile $NODE/sshd.pid
AuthorizedKeysFile $NODE/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv HOME=$NODE/home PATH=/usr/bin:/bin
LogLevel VERBOSE
CONFIG
    port=$(sshd_start "$NODE/sshd_config")
    cat >"$NODE/ssh_config" <<CONFIG
Host login login1
    HostName 127.0.0.1
    Port $port
    User $(id -un)
    IdentityFile $NODE/key
    IdentitiesOnly yes
    UserKnownHostsFile $NODE/known_hosts
    StrictHostKeyChecking accept-new
CONFIG
    PHASED_HOME=$NODE/phased HOME=$NODE/home phasectl daemon start 3>&-
}

# sshd_start CONFIG: starts an sshd and prints its port. Another program may take a port that was free.
sshd_start() {
    local port
    for _ in 1 2 3; do
        port=$(free_port)
        /usr/sbin/sshd -f "$1" -p "$port" -E "$NODE/sshd.log" >/dev/null 3>&- && echo "$port" && return
    done
    return 1
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The laptop: it has no Slurm, no daemon, and a folder with code.
setup() {
    skips
    LAPTOP=$(mktemp -d /tmp/phased-laptop-XXXXXX)
    export LAPTOP HOME=$LAPTOP XDG_RUNTIME_DIR=$LAPTOP/run PHASED_HOST=login
    export PHASED_SSH="ssh -F $NODE/ssh_config"
    unset PHASED_HOME SLURM_CONF DISPLAY WAYLAND_DISPLAY
    mkdir -m 700 "$XDG_RUNTIME_DIR"
    mkdir "$LAPTOP/trm"
    cd "$LAPTOP/trm" || return
}

teardown() {
    is_of_test "${LAPTOP:-}" || return 0
    tmux -S "$LAPTOP/tmux" kill-server 2>/dev/null || true
    for socket in "$LAPTOP"/run/phased/*; do
        [ ! -S "$socket" ] || ssh -S "$socket" -O exit login 2>/dev/null || true
    done
    rm -rf "$LAPTOP"
}

# The pid of the process that keeps the connection.
keeper() {
    ssh -S "$(echo "$LAPTOP"/run/phased/????????????????)" -O check login 2>&1 | grep -oE '[0-9]+'
}

logins() { grep -c 'Accepted publickey' "$NODE/sshd.log" || true; }

spec() {
    cat <<'SPEC'
name: far
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    params: {steps: 2}
    run: |
      cat code.txt >"$PHASED_OUT/code"
      ls -A >"$PHASED_OUT/listing"
      pwd >"$PHASED_OUT/folder"
      echo "code is ${PHASED_CODE:-unknown}, host is ${PHASED_HOST:-unknown}"
      for i in $(seq $steps); do echo "step=$i loss=2"; done
SPEC
}

repository() {
    git init -q .
    git config user.email anna@example.org
    git config user.name Anna
    printf 'secret\nbig/\n' >.gitignore
    echo one >code.txt
    spec >my.yaml
    git add .
    git commit -qm first
}

out() { echo "$NODE/phased/runs/$1/train/out"; }

# far ADDRESS WORD: state() of the login node.
far() {
    [[ $(phasectl status "$1" --json 2>/dev/null) == *$'\n  "state": "'"$2"'"'* ]]
}

# says ADDRESS TEXT: whether the log of the newest run has it.
says() { phasectl logs "$1" --no-time | grep -qa "$2"; }

# Whether phasectl runs on the login node, or not.
runs_there() {
    local files
    files=$(grep -lazxF phasectl /proc/[0-9]*/cmdline 2>/dev/null | sed 's/cmdline$/environ/')
    grep -qazxF "HOME=$NODE/home" /dev/null $files 2>/dev/null
}
ends_there() { ! runs_there; }

number() { grep -oE '^workflow [0-9]+' | grep -oE '[0-9]+'; }

@test "verbs run on the host by one login, and nothing is added to what they print" {
    before=$(logins)
    run phasectl status
    [ "$status" = 0 ]
    phasectl nodes --json >out.json 2>err
    gojq -e 'type == "array" or type == "object"' out.json
    [ ! -s err ]
    phasectl --host login daemon status | grep -q sandbox
    phasectl --host=login daemon status | grep -q sandbox
    [ "$(logins)" = $((before + 1)) ]
    PHASED_HOST=elsewhere.invalid phasectl --host login daemon status
    [ "$(stat -c %a "$LAPTOP/run/phased")" = 700 ]
}

@test "code goes along by the rules of .gitignore, with the commit and the changes" {
    repository
    echo two >code.txt
    echo new >'a file with "quotes" and $(touch injected) and '\''more'\'''
    echo note >'#comment'
    echo x >secret
    mkdir big sub
    echo x >big/file
    id=$(phasectl submit my.yaml | number)
    eventually 60 far "$id" succeeded
    [ "$(cat "$(out "$id")/code")" = two ]
    grep -qxF 'a file with "quotes" and $(touch injected) and '\''more'\''' "$(out "$id")/listing"
    grep -qxF '#comment' "$(out "$id")/listing"
    run ! grep -qE '^(secret|big|\.git|injected)$' "$(out "$id")/listing"
    grep -qE "^$NODE/phased/code/trm-[0-9a-f]{12}\$" "$(out "$id")/folder"
    phasectl logs "$id/train" --no-time | grep -q 'code is unknown, host is unknown'
    phasectl show "$id" --json >shown
    [ "$(gojq -r .commit shown)" = "$(git rev-parse HEAD)" ]
    gojq -r .diff shown | grep -qx '+two'
    gojq -r .untracked shown | grep -qF 'a file with'
}

@test "a file that is gone here goes there, and what programs wrote there stays" {
    repository
    mkdir old
    echo x >old/file
    git init -q inner # a repository in the repository has rules of its own
    printf 'big\n' >inner/.gitignore
    echo x | tee inner/kept inner/big >/dev/null
    phasectl submit --hold my.yaml
    code=$(ls -td "$NODE"/phased/code/trm-*/ | head -n 1)
    [ -e "$code/old/file" ]
    [ "$(ls -A "$code/inner")" = $'.gitignore\nkept' ]
    echo made >"$code/made"
    rm -r old
    mv code.txt moved.txt
    phasectl submit --hold my.yaml
    [ ! -e "$code/old/file" ]
    [ ! -e "$code/code.txt" ]
    [ -e "$code/made" ] && [ -e "$code/moved.txt" ]
}

@test "a file in the place of another file of the same size and second is copied" {
    repository
    echo aaa >a.cfg
    echo bbb >b.cfg
    touch -d @1700000000 a.cfg b.cfg
    phasectl submit --hold my.yaml
    code=$(ls -td "$NODE"/phased/code/trm-*/ | head -n 1)
    [ "$(cat "$code/a.cfg")" = aaa ]
    mv b.cfg a.cfg
    phasectl submit --hold my.yaml
    [ "$(cat "$code/a.cfg")" = bbb ]
}

@test "a folder that has become a file here becomes a file there, and the reverse" {
    repository
    mkdir -p was/a/folder written
    echo x | tee was/a/folder/file written/file was_a_file >/dev/null
    phasectl submit --hold my.yaml
    code=$(ls -td "$NODE"/phased/code/trm-*/ | head -n 1)
    echo made >"$code/written/made"
    rm -r was written was_a_file
    mkdir was_a_file
    echo new | tee was was_a_file/file >/dev/null
    ln -s was written # a link is in the way of a folder, too
    phasectl submit --hold my.yaml
    [ "$(cat "$code/was" "$code/was_a_file/file")" = $'new\nnew' ]
    [ "$(readlink "$code/written")" = was ]
    [ "$(ls "$code/written.aside")" = made ] # what a program wrote there stays
    rm written
    mkdir written
    echo again >written/file
    phasectl submit --hold my.yaml
    [ "$(cat "$code/written/file" "$code/was")" = $'again\nnew' ]
}

@test "check and plan change nothing that a held workflow is going to run" {
    repository
    id=$(phasectl submit --hold my.yaml | number)
    echo edited >code.txt
    rm .gitignore
    phasectl check my.yaml
    phasectl plan my.yaml
    mv my.yaml moved.yaml
    run phasectl check my.yaml # it is gone here, and no earlier copy stands for it
    [ "$status" = 1 ]
    phasectl check moved.yaml
    phasectl release "$id"
    eventually 60 far "$id" succeeded
    [ "$(cat "$(out "$id")/code")" = one ]
    grep -qx .gitignore "$(out "$id")/listing"
    run ! grep -qx moved.yaml "$(out "$id")/listing"
}

@test "a list of files that is cut on its way removes nothing" {
    repository
    phasectl submit --hold my.yaml
    code=$(ls -td "$NODE"/phased/code/trm-*/ | head -n 1)
    before=$(ls -A "$code")
    cat >"$LAPTOP/cutting-ssh" <<SH
#!/bin/bash
case "\$*" in
*files.new*) head -c -12 | ssh -F $NODE/ssh_config "\$@" ;;
*) exec ssh -F $NODE/ssh_config "\$@" ;;
esac
SH
    chmod +x "$LAPTOP/cutting-ssh"
    PHASED_SSH=$LAPTOP/cutting-ssh run phasectl submit --hold my.yaml
    [ "$status" = 1 ]
    [[ $output = *"could not make a folder for the code on login"* ]]
    [ "$(ls -A "$code")" = "$before" ]
    phasectl submit --hold my.yaml # and whole lists still work
}

@test "without git the folder goes by the same rules, and two folders have two copies" {
    spec >my.yaml
    echo one >code.txt
    echo ignored >.gitignore
    echo x >ignored
    mkdir -p ../other/trm
    cp -r . ../other/trm
    echo other >../other/trm/code.txt
    id=$(phasectl submit my.yaml | number)
    other=$(cd ../other/trm && phasectl submit "$LAPTOP/other/trm/my.yaml" | number)
    eventually 60 far "$id" succeeded
    eventually 60 far "$other" succeeded
    [ "$(cat "$(out "$id")/code")" = one ]
    [ "$(cat "$(out "$other")/code")" = other ]
    run ! grep -qx ignored "$(out "$id")/listing"
    cd "$HOME"
    spec >my.yaml
    run phasectl submit my.yaml
    [ "$status" = 1 ]
    [[ $output = *"the code would be all of $HOME"* ]]
    phasectl check my.yaml # it copies this file alone
    (cd / && phasectl check "$HOME/my.yaml")
    cd trm
    run phasectl submit ../my.yaml
    [ "$status" = 1 ]
    [[ $output = *"../my.yaml is outside of $LAPTOP/trm"* ]]
}

@test "a copy of the code is made on the host for 'code: snapshot'" {
    repository
    mkdir sub
    { echo 'code: snapshot'; spec | sed 's/code.txt/..\/code.txt/'; } >sub/my.yaml
    cd sub
    id=$(phasectl submit my.yaml | number)
    eventually 60 far "$id" succeeded
    grep -q "^$NODE/phased/snapshots/.*/sub\$" "$(out "$id")/folder"
    [ "$(cat "$(out "$id")/code")" = one ]
}

@test "a file that git ignores, an old log and standard input reach the host" {
    repository
    mkdir big
    spec | sed 's/^    run:/    gate: {low: last(loss) < 1}\n&/' >big/mine.yaml
    echo 'step=1 loss=5' >big/old.log
    phasectl check big/mine.yaml
    run -0 phasectl check "$PWD/big/mine.yaml" --log train=big/old.log
    [[ $output = *"its gate would have failed"* ]]
    run -0 phasectl check big/mine.yaml "--log=train=$PWD/big/old.log"
    [[ $output = *"its gate would have failed"* ]]
    run -0 bash -c 'phasectl check big/mine.yaml --log train=/dev/stdin <big/old.log'
    [[ $output = *"its gate would have failed"* ]]
    sed 's/name: far/name: [/' my.yaml >bad.yaml
    run phasectl check bad.yaml
    [ "$status" = 1 ]
    [[ $output = *bad.yaml:* ]]
}

@test "no word is obeyed by a shell" {
    for word in '$(touch injected)' '`touch injected`' "'; touch injected; '" '"; touch injected; "' \
        $'a\ntouch injected\n' '!!' '\047; touch injected' '%s%n' '~' '*' '--' 'ä€'; do
        run phasectl status "$word"
        [ "$status" = 2 ] || [ "$word" = -- ] || { echo "$word: $status $output"; false; }
    done
    run phasectl --host '-oProxyCommand=touch injected' status
    [ "$status" = 2 ]
    run phasectl --host '$(touch injected)' status
    [ "$status" = 1 ]
    mkdir '$(touch injected) '\''"'
    cd '$(touch injected) '\''"'
    spec >'$(touch injected)'\''.yaml'
    phasectl check '$(touch injected)'\''.yaml'
    run phasectl check my.yaml --set "steps=\$(touch injected)'"
    [ -z "$(find "$LAPTOP" "$NODE" -name injected)" ]
}

@test "exit codes pass through, and bytes are not changed" {
    run phasectl status 999
    [ "$status" = 1 ]
    [[ $output = *"999"* ]]
    run phasectl status --nonsense
    [ "$status" = 2 ]
    cat >my.yaml <<'SPEC'
name: bytes
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    run: |
      printf 'bytes \377\001\r\n'
      until [ -e go ]; do sleep 0.3; done
SPEC
    id=$(phasectl submit my.yaml | number)
    eventually 60 far "$id/train" active
    eventually 60 says "$id/train" bytes
    phasectl logs "$id/train" --no-time | cmp - <(PHASED_HOST='' PHASED_HOME=$NODE/phased phasectl logs "$id/train" --no-time)
    run phasectl attach "$id" -- sh -c 'exit 7'
    [ "$status" = 7 ]
    run phasectl attach "$id" -- sh -c 'exit 255'
    [ "$status" = 255 ]
    [[ $output != *lost* ]]
    head -c 100000 /dev/urandom >random
    phasectl attach "$id" -- cat <random >copy
    cmp random copy
    phasectl cancel "$id"
}

@test "a killed connection, a host that is cut off, and a new laptop are logged in anew" {
    before=$(logins)
    phasectl daemon status
    kill -KILL "$(keeper)"
    phasectl daemon status
    [ "$(logins)" = $((before + 2)) ]
    pid=$(keeper)
    kill -STOP "$pid" # as if nothing came back from the host
    phasectl daemon status
    kill -KILL "$pid"
    [ "$(logins)" = $((before + 3)) ]
    XDG_RUNTIME_DIR=$LAPTOP/second
    mkdir -m 700 "$XDG_RUNTIME_DIR"
    phasectl daemon status & phasectl daemon status & wait
    [ "$(logins)" = $((before + 4)) ]
    ssh -S "$(echo "$LAPTOP"/second/phased/????????????????)" -O exit login
    mkdir -m 755 "$LAPTOP/third" "$LAPTOP/third/phased"
    XDG_RUNTIME_DIR=$LAPTOP/third run phasectl daemon status
    [ "$status" = 1 ]
    [[ $output = *"must be a folder of yours that nobody else can read"* ]]
}

@test "a verb beyond MaxSessions makes a new connection, and ends no other verb" {
    before=$(logins)
    { sed "s|^PidFile .*|PidFile $NODE/few.pid|" "$NODE/sshd_config"; echo 'MaxSessions 1'; } >"$NODE/few_config"
    sed "s|^    Port .*|    Port $(sshd_start "$NODE/few_config")|" "$NODE/ssh_config" >config
    export PHASED_SSH="ssh -F $PWD/config"
    phasectl events -f >events 3>&- &
    verb=$!
    eventually 60 runs_there
    full=$(keeper)
    phasectl daemon status | grep -q sandbox
    spec >my.yaml
    id=$(PHASED_HOST='' PHASED_HOME=$NODE/phased phasectl submit --hold my.yaml | number)
    eventually 60 grep -qE "\"workflow\": ?$id\b" events
    kill -INT $verb
    wait $verb
    eventually 60 test ! -e "/proc/$full"
    [ "$(logins)" = $((before + 2)) ]
}

@test "sockets go to /tmp when the logout has removed the folder of the session" {
    phasectl daemon status
    socket=$(echo "$LAPTOP"/run/phased/????????????????) # the name says which host and which ssh
    XDG_RUNTIME_DIR=$LAPTOP/gone phasectl daemon status | grep -q sandbox
    ssh -S "/tmp/phased-$(id -u)/${socket##*/}" -O exit login
    [ ! -e "$LAPTOP/gone" ]
}

@test "a verb whose connection is lost says so" {
    phasectl events -f >events 2>said 3>&- &
    verb=$!
    eventually 60 keeper
    eventually 60 runs_there
    kill -KILL "$(keeper)"
    status=0
    wait $verb || status=$?
    [ "$status" = 1 ]
    grep -qx 'phasectl: the connection to login was lost; phased goes on there: look with `phasectl status` before you call the verb again' said
    eventually 60 ends_there
}

@test "a host that cannot be reached is named, with what to do" {
    PHASED_HOST=nowhere
    printf 'Host nowhere\n    HostName 127.0.0.1\n    Port %s\n' "$(free_port)" >config
    PHASED_SSH="ssh -F config" run phasectl status
    [ "$status" = 1 ]
    [[ $output = *"Connection refused"* ]]
    [[ $output = *"phasectl: there is no connection to nowhere; 'ssh -F config nowhere' must work first"* ]]
    PHASED_HOST=login
    sed "s|^export PATH.*|export PATH=/usr/bin:/bin|" -i.bak "$NODE/home/.profile"
    run phasectl status
    [ "$status" = 1 ]
    [[ $output = *"there is no phasectl on login: name its folder in PHASED_HOST_PATH"* ]]
    PHASED_HOST_PATH=$BIN phasectl status
    ln -s "$BIN" "$NODE/home/it's bin"
    PHASED_HOST_PATH="~/it's bin" phasectl status
    mv "$NODE/home/.profile.bak" "$NODE/home/.profile"
    run phasectl --host
    [ "$status" = 2 ]
    run phasectl stauts
    [ "$status" = 2 ]
    [[ $output = *"did you mean 'status'"* ]]
}

@test "Ctrl-C ends the verb on the host, also without a terminal" {
    before=$(logins)
    spec >my.yaml
    phasectl submit --hold my.yaml
    phasectl events -f >events 3>&- &
    verb=$!
    eventually 60 grep -q '"event"' events
    kill -INT $verb
    wait $verb
    eventually 60 ends_there
    phasectl events -f >events 3>&- &
    verb=$!
    eventually 60 runs_there
    kill -KILL $verb
    eventually 60 ends_there
    nohup phasectl events -f >later 2>/dev/null 3>&- &
    verb=$!
    eventually 60 grep -q '"event"' later
    kill -HUP $verb
    id=$(phasectl submit --hold my.yaml | number)
    eventually 60 grep -qE "\"workflow\": ?$id\b" later
    kill -INT $verb
    wait $verb
    [ "$(logins)" = $((before + 1)) ]
}

@test "a terminal has its size, its keys and its exit code on the host" {
    command -v tmux >/dev/null || skip "there is no tmux"
    spec >my.yaml
    phasectl submit my.yaml --hold # `events` has something to print
    tmux -S "$LAPTOP/tmux" -f /dev/null new-session -d -x 100 -y 30 "phasectl top; echo top gives \$?; cat" 3>&-
    eventually 60 shows '? help'
    tmux -S "$LAPTOP/tmux" resize-window -x 60 -y 12
    tmux -S "$LAPTOP/tmux" send-keys '?'
    helps() { tmux -S "$LAPTOP/tmux" capture-pane -p | grep -qx -- '-- keys; any other key closes this help -*'; }
    eventually 60 helps # in 60 columns
    tmux -S "$LAPTOP/tmux" send-keys q q
    eventually 60 shows 'top gives 0'
    tmux -S "$LAPTOP/tmux" respawn-pane -k "phasectl events -f; echo events gives \$?; phasectl logs -f 99999; echo logs give \$?; cat"
    eventually 60 shows '"event"'
    tmux -S "$LAPTOP/tmux" send-keys C-c
    eventually 60 shows 'events gives 0'
    eventually 60 shows 'logs give 1'
}

shows() { tmux -S "$LAPTOP/tmux" capture-pane -p | grep -qF "$1"; }

@test "open forwards the page to this machine, mends it, and ends with Ctrl-C" {
    phasectl open >page 3>&- &
    verb=$!
    eventually 60 grep -q '^http' page
    url=$(head -n 1 page)
    token=${url#*#} origin=${url%%/#*}
    base=http://127.0.0.1:${origin##*:}
    theirs=$(PHASED_HOST='' PHASED_HOME=$NODE/phased phasectl open --json | gojq -r .url)
    [ "${origin%:*}" = "${theirs%:*}" ] # the same name
    [ "$origin" != "${theirs%%/#*}" ]   # and a port that is free here
    curl -sf "$base/" >html
    grep -q '<title>phased' html
    curl -sf -H "Authorization: Bearer $token" "$base/v1/ping"
    kill -KILL "$(keeper)"
    eventually 60 curl -sf -H "Authorization: Bearer $token" "$base/v1/ping"
    kill -INT $verb
    wait $verb
    run ! curl -s "$base/"
    keeper # the connection stays for other verbs
}

@test "doc/guide/from-a-laptop.md does what it says" {
    repository
    unset PHASED_HOST
    cp "$NODE/home/.profile" "$NODE/profile"
    echo "export PHASED_HOME=$NODE/page" >>"$NODE/home/.profile" # a home that counts from 1
    mkdir "$NODE/page"
    # These two do not end by themselves: tests above run them.
    PHASED_HOME=$NODE/page page doc/guide/from-a-laptop.md "$PWD" --without 'phasectl top' \
        --without "$(grep '^phasectl open' "$SRC/doc/guide/from-a-laptop.md")"
    phasectl --host login1 daemon stop
    mv "$NODE/profile" "$NODE/home/.profile"
}

@test "an assistant that runs here works there" {
    repository
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"submit","arguments":{"file":"my.yaml"}}}' |
        phasectl mcp --allow submit >answers
    id=$(tail -n 1 answers | gojq '.result.structuredContent.workflows[0].workflow')
    eventually 60 far "$id" succeeded
    [ "$(cat "$(out "$id")/code")" = one ]
    phasectl show "$id" --json | gojq -r '.. | strings' | grep -q 'mcp (me)' ||
        phasectl events "$id" | grep -q 'mcp (me)'
}

@test "completion knows hosts, and asks the host for addresses" {
    spec >my.yaml
    id=$(phasectl submit my.yaml --hold | number)
    mkdir "$HOME/.ssh"
    printf 'Host login login2\nhost *.example\n  User anna\n' >"$HOME/.ssh/config"
    unset PHASED_HOST
    . "$SRC/etc/completions/phasectl.bash"
    completes --host '' <<<'login login2'
    completes --host = log <<<'login login2'
    completes --h <<<--host
    completes --host login stat <<<status
    completes --host login why "$id/" <<<"$id/train"
    completes --host = login why "$id/" <<<"$id/train"
    completes --host login submit --wi <<<'--window --with'
    completes stat <<<status
}

# completes WORD...: the last word is completed to the words on standard input.
completes() {
    COMP_WORDS=(phasectl "$@") COMP_CWORD=$#
    _phasectl
    [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs)" = "$(cat)" ] || { printf '%s: %s\n' "$*" "${COMPREPLY[*]}"; false; }
}
