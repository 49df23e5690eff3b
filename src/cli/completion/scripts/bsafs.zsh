#compdef bsafs
# zsh completion for bsafs
_bsafs() {
    local -a found words_to_end words_to_go_on shown_to_end shown_to_go_on
    local line text shown
    line="${(j: :)words[1,CURRENT-1]} $IPREFIX$QIPREFIX$PREFIX"
    # What the program prints is data: it is neither evaluated nor expanded.
    while IFS= read -r -d $'\0' text && IFS= read -r -d $'\0' shown; do
        if [[ $text == *[/=] ]]; then
            words_to_go_on+=("$text")
            shown_to_go_on+=("$shown")
        else
            words_to_end+=("$text")
            shown_to_end+=("$shown")
        fi
    done < <(command bsafs -q complete zsh -- "$line" 2>/dev/null </dev/null)
    compadd -U -S '' -d shown_to_go_on -a words_to_go_on
    local status_of_first=$?
    compadd -U -d shown_to_end -a words_to_end || return $status_of_first
}
if [[ $funcstack[1] == _bsafs ]]; then
    _bsafs "$@"
else
    compdef _bsafs bsafs
fi
