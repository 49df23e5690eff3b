# fish completion for bsafs
complete -c bsafs -e
complete -c bsafs -f -a '(command bsafs -q complete fish -- (commandline -cp) \
    2>/dev/null </dev/null | string split0)'
