#!/bin/bash
# What a machine can check about the style of the house. Each complaint is one line: file:line: what is wrong.
#   tools/lint.sh [RULE...]      in the top folder; without names all rules run
# To add a rule: a function rule_NAME that prints complaints and returns 1 after any; a case in tools/lint_test.sh.
set -u

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
B=${B:-build}
export B
rules=(format rooms sizes text headers shell docs chart stacks code)

# Files of the tree that are checked: tracked ones and new ones, in a git tree; else all of them.
files() {
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard -- "$@"
    else
        find . -type f -printf '%P\n' | grep -vE '^(build|\.git)/' | while read -r f; do
            for pattern; do
                # shellcheck disable=SC2254
                case $f in $pattern) echo "$f" ;; esac
            done
        done
    fi | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done
}

# Runs a command on the files that match, and succeeds when there are none. Fixtures (testdata) are odd on purpose: only
# the rules for text see them.
on() {
    local command=$1 list
    shift
    case $command in
    ascii_files | paths_files | shell_files) mapfile -t list < <(files "$@") ;;
    *) mapfile -t list < <(files "$@" | grep -v /testdata/) ;;
    esac
    [ ${#list[@]} = 0 ] || $command "${list[@]}"
}

complain() { # stdin: complaints; any is a failure
    local status=0
    while IFS= read -r line; do
        echo "$line"
        status=1
    done
    return $status
}

# Runs a command on the files that are newer than its last clean run; on all of them if one of SETTINGS is.
since_clean() { # COMMAND SETTINGS FILE...
    local command=$1 stamp=$B/lint/$1.ok file settings list=() all=
    read -ra settings <<<"$2"
    shift 2
    mkdir -p "$B/lint"
    touch "$stamp.new"
    for file in "${settings[@]}"; do
        if [ "$file" -nt "$stamp" ]; then all=1; fi
    done
    for file; do
        if [ "$all" ] || [ "$file" -nt "$stamp" ]; then list+=("$file"); fi
    done
    if [ ${#list[@]} -gt 0 ]; then "$command" "${list[@]}" || return; fi
    mv "$stamp.new" "$stamp"
}

# --- The layout is clang-format's.
rule_format() {
    on format_files '*.c' '*.h'
}
format_files() {
    since_clean layout_of "$tools/lint.sh .clang-format" "$@"
}
layout_of() {
    printf '%s\0' "$@" | xargs -0 -n 8 -P "$(nproc)" clang-format --dry-run -Werror 2>&1 |
        sed -nE 's/^([^:]+:[0-9]+):[0-9]+: error: .*/\1: not as clang-format would have it (clang-format -i)/p' |
        sort -u -t: -k1,2 -V | complain
}

# --- Rooms include only the rooms that agent/rooms.allow names.
rule_rooms() {
    on rooms_files 'agent/*.c' 'agent/*.h' 'bpf/*.c' 'bpf/*.h'
}
rooms_files() {
    awk -f "$tools/rooms.awk" agent/rooms.allow "$@"
}

# --- Nothing is too long.
rule_sizes() {
    on sizes_files '*.c' '*.h' Makefile
}
sizes_files() {
    awk -f "$tools/sizes.awk" "$@"
}

# --- ASCII, no blanks at the end of a line, no tabs in C, no paths of somebody's machine.
rule_text() {
    local status=0
    on ascii_files '*.c' '*.h' '*.sh' '*.awk' '*.md' '*.s' Makefile .ci/run || status=1
    on tabs_files '*.c' '*.h' || status=1
    on paths_files '*.c' '*.h' '*.sh' '*.awk' '*.md' Makefile .ci/run || status=1
    return $status
}
ascii_files() {
    {
        LC_ALL=C grep -HnP '[^\x00-\x7f]' "$@" | sed -E 's/^([^:]+:[0-9]+):.*/\1: a character that is not ASCII/'
        grep -HnE '[[:blank:]]+$' "$@" | sed -E 's/^([^:]+:[0-9]+):.*/\1: blanks at the end of the line/'
    } | complain
}
tabs_files() {
    grep -Hn $'\t' "$@" | sed -E 's/^([^:]+:[0-9]+):.*/\1: a tab/' | complain
}
paths_files() {
    grep -HnE '(^|[^A-Za-z0-9_./$}-])/(home|root|work|Users|mnt)/[A-Za-z0-9]' "$@" |
        sed -E 's/^([^:]+:[0-9]+):.*/\1: an absolute path of some machine/' | complain
}

# --- A header is the manual of what it declares: it opens with a comment.
rule_headers() {
    on headers_files 'agent/*.h' 'bpf/*.h'
}
headers_files() {
    awk 'FNR == 1 && !/^\/\*/ { printf "%s:1: a header opens with a comment that explains its concept\n", FILENAME; bad = 1 }
         END { exit bad }' "$@"
}

# --- Shell scripts.
rule_shell() {
    on shell_files '*.sh' .ci/run
}
shell_files() {
    local sourced
    sourced=$(grep -hoE '^[[:blank:]]*\. [a-z0-9/_.-]+\.sh' "$@" | awk '{ print $2 }' | sort -u | tr '\n' ' ')
    since_clean shellcheck_of "$tools/lint.sh $sourced" "$@"
}
shellcheck_of() {
    printf '%s\0' "$@" | xargs -0 -n 8 -P "$(nproc)" shellcheck -x -f gcc
}

# --- The tables of options are the program's own; links and paths in documents lead somewhere.
rule_docs() {
    local status=0
    on docs_files '*.md' || status=1
    check_options || status=1
    return $status
}
docs_files() {
    awk -f "$tools/docs.awk" "$@"
}
check_options() {
    local page=docs/options.md markers
    [ -f $page ] && [ -x "$B/xprof" ] || return 0
    markers=$(grep -cE '^<!-- /?options -->$' $page)
    if [ "$markers" != 2 ]; then
        echo "$page:1: <!-- options --> and <!-- /options --> must be there once each"
        return 1
    fi
    if ! diff -q <(sed -n '/^<!-- options -->$/,/^<!-- \/options -->$/p' $page | sed '1d;$d') \
        <("$B/xprof" options-table) >/dev/null; then
        echo "$page:$(grep -n '^<!-- options -->$' $page | cut -d: -f1):" \
            "not what the program says: tools/options.sh"
        return 1
    fi
}

# --- What is made from the chart is what the chart makes.
rule_chart() {
    [ ! -d deploy/helm/xprof ] || "$tools/chart.sh" --check
}

# --- Old kernels accept the stacks of eBPF programs.
rule_stacks() {
    local status=0 object name
    command -v llvm-objdump >/dev/null || return 0
    for object in "$B"/bpf/*.bpf.o "$B"/bpf/kinds/*.bpf.o; do
        name=${object#"$B"/}
        [ ! -e "$object" ] || llvm-objdump -d -r --no-show-raw-insn "$object" |
            awk -v file="${name%.o}.c" -f "$tools/stacks.awk" || status=1
    done
    return $status
}

# --- gcc, clang and clang-tidy have nothing to say.
rule_code() {
    on code_files 'agent/*.c' 'bpf/host/*.c' 'bpf/*_test.c' ':(glob)bench/*.c' 'e2e/oracle/*.c'
}
code_files() {
    mkdir -p "$B/lint"
    printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" "$tools/lint_file.sh" "$B/lint"
}

for tool in clang-format clang-tidy gcc shellcheck awk; do
    command -v $tool >/dev/null || { echo "lint: $tool is not installed: make deps" >&2 && exit 1; }
done
failed=()
for rule in "${@:-${rules[@]}}"; do
    "rule_$rule" || failed+=("$rule")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "lint: failed: ${failed[*]}" >&2
    exit 1
fi
