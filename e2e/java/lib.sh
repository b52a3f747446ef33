# shellcheck shell=bash disable=SC2034,SC2086,SC2154
# What cases about Java share. To be sourced after e2e/lib.sh.

# Compiles e2e/java/NAME.java into $TMP, or the folder OUT. The oldest virtual machine that is to run it must be able to.
build_java() { # NAME [FLAG...]
    need javac
    javac --release "${RELEASE:-11}" "${@:2}" -d "${OUT:-$TMP}" "e2e/java/$1.java" 2>"$TMP/javac" || fail "$(cat "$TMP/javac")"
}

# Its major version: 17. "1.8.0_402" is 8.
version_of() { # JAVA
    "$1" -version 2>&1 | sed -nE 's/.* version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

# The virtual machines of these versions that are installed, in $javas: in the usual places, and in $XPROF_JAVA_HOMES.
for_each_java() { # VERSION...
    local java wanted version missing=()
    javas=()
    for wanted; do
        version=
        for java in $(compgen -G '/usr/lib/jvm/*/bin/java') ${XPROF_JAVA_HOMES:+$(printf '%s/bin/java\n' $XPROF_JAVA_HOMES)}; do
            version=$(version_of "$java")
            [ "$version" != "$wanted" ] || break
        done
        if [ "$version" = "$wanted" ]; then javas+=("$java"); else missing+=("$wanted"); fi
    done
    [ ${#javas[@]} -gt 0 ] || skip "there is no Java ${missing[*]}"
    [ ${#missing[@]} = 0 ] || echo "not tried, because it is not installed: Java ${missing[*]}"
}

# Adds to $javas those of Debian's sid of these versions: they run in its root, where $TMP is at the same place.
add_debian_javas() { # VERSION...
    local version root java
    for version; do
        if ! root=$(e2e/debian.sh sid "openjdk-$version-jre-headless" 2>"$errors"); then
            echo "not tried, because Debian's sid cannot be fetched: Java $version"
            continue
        fi
        java=$TMP/java-$version/bin/java
        mkdir -p "${java%/*}" "$root/proc" "$root/dev" "$root/tmp"
        cat >"$java" <<END
#!/bin/bash
exec unshare -m --propagation private bash -c 'mount --rbind /proc "\$0/proc" && mount --rbind /dev "\$0/dev" &&
    mount -t tmpfs none "\$0/tmp" && mkdir -p "\$0$TMP" && mount --bind "$TMP" "\$0$TMP" && exec chroot "\$0" "\$@"' \
    '$root' /usr/lib/jvm/java-$version-openjdk-amd64/bin/java -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8 "\$@"
END
        chmod +x "$java"
        "$java" -version >/dev/null 2>"$errors" || fail "Java $version of Debian's sid does not run"
        javas+=("$java")
    done
}

# The jstack beside a java; that of another version knows its processes, too.
jstack_of() { # JAVA
    local jstack=${1%/java}/jstack
    [ -x "$jstack" ] || jstack=$(command -v jstack) || skip "there is no jstack"
    echo "$jstack"
}
