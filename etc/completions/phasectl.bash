# Completion of phasectl for bash. Verbs and options come from `phasectl --help`, and addresses from
# the daemon.

_phasectl_addresses() {
    phasectl status --json 2>/dev/null |
        sed -nE 's/^ *"address": "([^"#]+)",?$/\1/p; s/^ *"workflow": ([0-9]+),?$/\1/p' | sort -u
}

_phasectl_nodes() {
    phasectl nodes --json 2>/dev/null | sed -nE 's/^ *"node": "([^"]+)",?$/\1/p'
}

_phasectl() {
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-} before=${COMP_WORDS[COMP_CWORD - 1]-}
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(phasectl --help | awk '/^  [a-z]+ / { print $1 }')" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(phasectl "$verb" --help 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$word")
    elif [[ $before == --after ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_addresses | grep -v /)" -- "$word")
    elif [[ $before == --png ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    elif [[ $before =~ ^--(set|with|priority|window|rank|tail|since|grep|last|name|steps|nodes|node|for|because|from|month|usd|gpu-hours|hours)$ ]]; then
        compopt +o default 2>/dev/null # what only the user knows; no file
    else
        case $verb in
        submit | check | plan | rehearse | import | failures) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        nodes) mapfile -t COMPREPLY < <(compgen -W "add clear $(_phasectl_nodes)" -- "$word") ;;
        doctor) ;; # it has options only
        daemon | sandbox) mapfile -t COMPREPLY < <(compgen -W 'start stop status' -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(_phasectl_addresses)" -- "$word") ;;
        esac
    fi
}

complete -o default -F _phasectl phasectl
