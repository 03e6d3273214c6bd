# The configuration of a sandbox: which GPUs its nodes have, and slurm.conf, gres.conf and cgroup.conf.
# `sandbox` reads this file. Before it calls these functions, it has set `site_conf`, `dir`, `base`,
# `nodes`, `types` and `program`.

port_first=10000 # below the ports of the daemons' pages, and those that the kernel gives to clients
port_last=19999
# Where a machine has the configuration of its Slurm. Tests have other places.
site_places=${PHASED_SITE_PLACES-/etc/slurm/slurm.conf /etc/slurm-llnl/slurm.conf /run/slurm/conf/slurm.conf}
driver_ms_max=15000 # without its persistence daemon, the driver takes seconds to wake the GPUs

# --- The GPUs of this machine --------------------------------------------------------------------

# What the nodes of the last start are: real or pretend.
kind() {
    cat "$dir/kind" 2>/dev/null || echo pretend
}

# Prints the configuration of another Slurm that this machine has.
other_slurm() {
    local file
    for file in "$site_conf" $site_places; do
        [ -e "$file" ] && ! [ "$file" -ef "$dir/slurm.conf" ] && echo "$file" && return
    done
}

# Jobs that wait in the queue for real GPUs must not run on pretend GPUs.
pretend_because() {
    [ "$(kind)" = pretend ] || fail "its node had the GPUs of this machine, but $1 (start --pretend makes pretend nodes)"
    echo "sandbox: pretend nodes, because $1"
}

# Slurm numbers the GPUs of a node type by type, and CUDA numbers them in the order of the bus. If
# these orders differ, a job would get other GPUs than Slurm means. Then there must be no types.
types_are_in_order() {
    [ "$(grep -cv ' Type=' <<<"$1")" = 0 ] &&
        [ -z "$(sed 's/.* Type=\([^ ]*\) .*/\1/' <<<"$1" | uniq | sort | uniq -d)" ]
}

# Prints the processors and the memory of this machine as in slurm.conf.
size_of_machine() {
    slurmd -C 2>/dev/null |
        grep -oE '\b(SocketsPerBoard|CoresPerSocket|ThreadsPerCore|RealMemory)=[0-9]+' | paste -sd' '
}

# The node has the name of this machine, if Slurm can use that name.
name_of_machine() {
    local name
    name=$(uname -n)
    name=${name%%.*}
    case $name in
    localhost | munged | slurmctld | *[!A-Za-z0-9-]* | [!A-Za-z]*) echo gpunode ;;
    *) echo "$name" ;;
    esac
}

# Sets `real` to the lines of gres.conf for this machine, or to nothing if the nodes are to be
# pretend nodes. Says what was decided, unless nobody has asked for this machine.
find_gpus() {
    local status=0 other said
    real=
    [ -n "$program" ] || return 0
    if other=$(other_slurm); then
        pretend_because "the GPUs of this machine belong to the Slurm of $other"
        return
    fi
    # A program that hangs in the driver must not hold the lock.
    said=$("$program" --gres --deadline-ms "$driver_ms_max" 2>&1 9>&-) || status=$?
    if [ "$status" = 3 ]; then
        pretend_because "there are no NVIDIA GPUs: ${said#phase-preflight: }"
        return
    fi
    [ "$status" = 0 ] ||
        fail "cannot use the GPUs of this machine: ${said#phase-preflight: } (start --pretend makes pretend nodes)"
    if ! types_are_in_order "$said"; then
        echo "sandbox: the GPUs have no types, because GPUs of one type are not side by side"
        said=$(sed 's/ Type=[^ ]*//' <<<"$said")
    fi
    host=$(name_of_machine)
    size=$(size_of_machine)
    [[ $size = *RealMemory=* ]] || fail "slurmd -C does not say how large this machine is"
    real=$(sed "s/^/NodeName=$host /" <<<"$said")
}

# Prints the GPUs of this machine as in slurm.conf: gpu:h100:2,gpu:l4:1.
real_gres() {
    sed 's/.* Type=\([^ ]*\) .*/\1:/; s/^NodeName=.*//' <<<"$real" | uniq -c |
        awk '{ print "gpu:" $2 $1 }' | paste -sd,
}

# CUDA's own order begins with the fastest GPU, but Slurm's numbers follow the bus. Nothing else hides
# the GPUs from a job without GPUs.
task_prolog() {
    cat <<'PROLOG'
#!/bin/sh
echo "export CUDA_DEVICE_ORDER=PCI_BUS_ID"
[ -n "$CUDA_VISIBLE_DEVICES" ] || echo "export CUDA_VISIBLE_DEVICES="
PROLOG
}

# --- The configuration ---------------------------------------------------------------------------

need_packages() {
    local pair
    for pair in munged:munge slurmctld:slurmctld slurmd:slurmd scontrol:slurm-client; do
        command -v "${pair%:*}" >/dev/null ||
            fail "${pair%:*} is missing: install the package ${pair#*:}"
    done
}

# The pretend GPUs need any eight character devices. Containers have few.
devices() {
    local device count=0
    for device in /dev/tty[0-7] /dev/{null,zero,full,random,urandom,tty,ptmx,pts/ptmx}; do
        if [ -c "$device" ] && [ "$count" -lt 8 ]; then
            echo "$device"
            count=$((count + 1))
        fi
    done
    [ "$count" = 8 ] || fail "found only $count of 8 character devices under /dev for the GPUs"
}

# free_ports COUNT old|new: prints the first of COUNT adjacent unused ports. "old" prefers those of
# the last start, so that running programs find the controller again.
free_ports() {
    local taken first port digits tries
    # State 06 is TIME_WAIT: the connection is over, and the port is free.
    taken=$(awk '$4 != "06" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp{,6} 2>/dev/null)
    first=$(sed -n 's/^SlurmctldPort=//p' "$dir/slurm.conf" 2>/dev/null)
    for ((tries = 0; tries < 200; tries++)); do
        if [ "$tries" -gt 0 ] || [ -z "$first" ] || [ "$2" = new ]; then
            first=$((port_first + RANDOM % (port_last - port_first - $1)))
        fi
        for ((port = first; port < first + $1; port++)); do
            printf -v digits %04X "$port"
            [[ $taken = *$digits* ]] && continue 2
        done
        echo "$first"
        return
    done
    fail "found no $1 free ports from $port_first to $port_last"
}

# Slurm wants a cgroup plugin even if nothing uses it. Since 24.05 there is a word for no plugin.
cgroup_plugin() {
    if [[ $(slurmctld -V) =~ ([0-9]+)\.([0-9]+) ]] &&
        ((BASH_REMATCH[1] * 100 + 10#${BASH_REMATCH[2]} >= 2405)); then
        echo disabled
    else
        echo cgroup/v1
    fi
}

# Prints the names of the nodes with the GPU type at this place in the list: 0, 1, ...
nodes_of_type() {
    local node names=
    for ((node = 1 + $1; node <= nodes; node += ${#types[@]})); do names+=,n$node; done
    echo "${names#,}"
}

write_nodes() {
    local i name names ports
    if [ -n "$real" ]; then
        echo "NodeName=$host NodeHostname=localhost NodeAddr=127.0.0.1 Port=$(($1 + 1))" \
            "$size Gres=$(real_gres) State=UNKNOWN"
        return
    fi
    for i in "${!types[@]}"; do
        names=$(nodes_of_type "$i")
        [ -n "$names" ] || continue
        ports=
        for name in ${names//,/ }; do ports+=,$(($1 + ${name#n})); done
        echo "NodeName=$names NodeHostname=localhost NodeAddr=127.0.0.1 Port=${ports#,}" \
            "Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=1900000" \
            "Gres=gpu:${types[i]}:8 State=UNKNOWN"
    done
}

write_slurm_conf() {
    local port=$1 grace_s=5 task_prolog=
    if [ -n "$real" ]; then
        grace_s=30 # Slurm's default: real programs need time to save
        task_prolog=TaskProlog=$base/task_prolog
    fi
    cat <<CONF
# Written by sandbox, again at each new start.
ClusterName=sandbox
SlurmctldHost=localhost
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
SlurmctldPidFile=$base/pid/slurmctld
SlurmdPidFile=$base/pid/%n
SlurmdSpoolDir=$base/spool/%n
StateSaveLocation=$base/state
SlurmctldLogFile=$base/log/slurmctld.log
SlurmdLogFile=$base/log/%n.log
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny

# Nothing here needs root or cgroups. Nodes have the size that they claim, whatever this machine
# has.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
$task_prolog
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none

# Slurm decides at once, so that the sandbox itself causes no waits.
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MaxJobCount=200000
MinJobAge=60
KillWait=$grace_s
SlurmdTimeout=30
ReturnToService=2

$(write_nodes "$port")
PartitionName=preempt Nodes=ALL Default=YES MaxTime=INFINITE State=UP \\
    PriorityTier=1 PreemptMode=REQUEUE GraceTime=$grace_s
PartitionName=prod Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
}

# Prints the lines of gres.conf for pretend nodes.
pretend_gres_conf() {
    local list device i names
    list=$(devices) || exit 1
    for i in "${!types[@]}"; do
        names=$(nodes_of_type "$i")
        for device in $list; do
            [ -z "$names" ] || echo "NodeName=$names Name=gpu Type=${types[i]} File=$device"
        done
    done
}

configure() {
    local port node
    port=$(free_ports $((nodes + 1)) "$1") || exit 1
    rm -rf "$dir/spool" "$dir/pid" "$dir/log"
    mkdir -p "$dir"/{munge,state,log,pid} || fail "cannot write to $dir"
    if [ -n "$real" ]; then
        mkdir -p "$dir/spool/$host"
        echo "$real" >"$dir/gres.conf"
        task_prolog >"$dir/task_prolog"
        chmod 700 "$dir/task_prolog"
        echo real >"$dir/kind"
    else
        for ((node = 1; node <= nodes; node++)); do mkdir -p "$dir/spool/n$node"; done
        pretend_gres_conf >"$dir/gres.conf" || exit 1
        echo pretend >"$dir/kind"
    fi
    parts_find
    chmod 700 "$dir/munge" # --force: else munged wants it open to everyone
    [ -s "$dir/munge/key" ] || head -c 1024 /dev/urandom >"$dir/munge/key"
    echo "CgroupPlugin=$(cgroup_plugin)" >"$dir/cgroup.conf"
    if ! name_of_host >"$dir/host" || ! write_slurm_conf "$port" >"$dir/slurm.conf"; then
        fail "cannot write to $dir"
    fi
}
