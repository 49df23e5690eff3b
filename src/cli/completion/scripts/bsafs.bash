# bash completion for bsafs
_bsafs() {
    local listed=()
    # Candidates are only listed, which leaves what was typed as it is.
    if [[ $COMP_TYPE -eq 63 ]]; then listed=(--listed); fi
    # What the program prints is quoted, and neither evaluated nor expanded here.
    COMPREPLY=()
    mapfile -d '' -t COMPREPLY < <(command bsafs -q complete "${listed[@]}" bash -- \
        "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace; fi
}
complete -F _bsafs bsafs
