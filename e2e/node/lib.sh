# shellcheck shell=bash disable=SC2034
# What cases about Node.js share. To be sourced after e2e/lib.sh.

# Its major version: 20.
node_version() { # NODE
    "$1" -p 'process.versions.node.split(".")[0]'
}

# One node of each major version in $nodes: the one that is installed, and others, which are fetched once.
find_nodes() {
    local node version rc versions=
    nodes=()
    [ "$(uname -m)" = x86_64 ] || skip "packages of node are for x86_64"
    for version in installed 16.20.2 18.20.8 20.20.2 22.23.3 24.21.0 26.12.1; do
        if [ "$version" = installed ]; then
            node=$(command -v node) || continue
        else
            [[ " $versions " != *" ${version%%.*} "* ]] || continue
            rc=0
            node=$(e2e/node/get.sh "$version") || rc=$?
            [ $rc != 77 ] || continue
            [ $rc = 0 ] || fail "there is no node $version"
        fi
        version=$(node_version "$node")
        [ "$version" -ge 16 ] || continue
        versions+=" $version"
        nodes+=("$node")
    done
    [ ${#nodes[@]} -gt 0 ] || skip "there is no Node.js 16 or later, and no npm"
    echo "tried:$versions"
}
