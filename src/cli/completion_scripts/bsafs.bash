# bash completion for bsafs
_bsafs() {
    local IFS=$'\n' kind=words
    COMPREPLY=()
    # What the program prints is data: it is neither evaluated nor expanded.
    {
        IFS= read -r -d '' kind
        mapfile -d '' -t COMPREPLY
    } < <(command bsafs -q complete bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    if [[ $kind == names ]]; then compopt -o filenames; fi
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace; fi
}
complete -F _bsafs bsafs
