# Completion of phasectl for bash. Verbs and options come from `phasectl --help`, and addresses from
# the daemon, also of another host: ssh then has no terminal, so it cannot ask for a password.
# compgen -W expands its words as bash does, so words from outside have harmless letters only.

_phasectl_ask() {
    SSH_ASKPASS_REQUIRE=never setsid -w phasectl "$@" </dev/null 2>/dev/null
}

_phasectl_verbs() {
    phasectl --help | awk '/^  [a-z]+ / { print $1 }'
}

_phasectl_addresses() {
    _phasectl_ask status --json |
        sed -nE 's|^ *"address": "([A-Za-z0-9_./-]+)",?$|\1|p; s|^ *"workflow": ([0-9]+),?$|\1|p' | sort -u
}

_phasectl_nodes() {
    _phasectl_ask nodes --json | sed -nE 's|^ *"node": "([A-Za-z0-9_./-]+)",?$|\1|p'
}

_phasectl_hosts() {
    awk 'tolower($1) == "host" { for (i = 2; i <= NF; i++) if ($i ~ /^[A-Za-z0-9_.-]+$/) print $i }' \
        ~/.ssh/config 2>/dev/null
}

_phasectl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]-} at=1 verb
    local -x PHASED_HOST=${PHASED_HOST-}
    COMPREPLY=()
    if [[ ${COMP_WORDS[1]-} == --host && $COMP_CWORD -gt 1 ]]; then
        at=3
        [[ ${COMP_WORDS[2]-} != = ]] || at=4 # bash splits --host=login1
        PHASED_HOST=${COMP_WORDS[at - 1]-}
    fi
    verb=${COMP_WORDS[at]-}
    if [ "$COMP_CWORD" -lt "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_hosts)" -- "${word#=}")
    elif [ "$COMP_CWORD" = "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$([ $at -gt 1 ] || echo --host) $(_phasectl_verbs)" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(phasectl "$verb" --help 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$word")
    elif [[ $before == --after && $verb == submit ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_addresses | grep -v /)" -- "$word")
    elif [[ $before == --allow ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'submit decide' -- "$word")
    elif [[ $before =~ ^--(png|tensorboard|trackio)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [[ $before =~ ^--(set|with|after|priority|window|rank|tail|since|grep|last|name|steps|nodes|node|for|because|from|month|usd|gpu-hours|hours)$ ]]; then
        compopt +o default 2>/dev/null # what only the user knows; no file
    else
        case $verb in
        submit | check | plan | rehearse | import | failures) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        nodes) mapfile -t COMPREPLY < <(compgen -W "add clear $(_phasectl_nodes)" -- "$word") ;;
        help) mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_verbs)" -- "$word") ;;
        doctor | mcp) ;; # they have options only
        daemon) mapfile -t COMPREPLY < <(compgen -W 'start stop status build-slurm' -- "$word") ;;
        sandbox) mapfile -t COMPREPLY < <(compgen -W 'start stop status' -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_addresses)" -- "$word") ;;
        esac
    fi
}

complete -o default -F _phasectl phasectl
