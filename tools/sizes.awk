# Alarms for length: functions 78 lines (65 in eBPF programs), files 400 (600 for tests), the Makefile 200.
#   awk -f sizes.awk FILE...
# Relies on the house style, which clang-format holds up: a function's braces stand in column 0.

function say(line, text) {
    printf "%s:%d: %s\n", FILENAME, line, text
    bad = 1
}

function file_ends() {
    if (lines > file_limit)
        printf "%s:%d: the file has %d lines; the alarm is at %d: split it\n", file, lines, lines, file_limit
    if (lines > file_limit)
        bad = 1
}

FNR == 1 {
    if (file != "")
        file_ends()
    file = FILENAME
    file_limit = file ~ /Makefile$/ ? 200 : file ~ /_test\.c$/ ? 600 : 400
    limit = file ~ /\.bpf\.[ch]$/ ? 65 : 78
    start = 0
    open = 0
}

{ lines = FNR }

# The first line of a definition; a new one starts behind a blank line, a comment or a closed brace.
/^[A-Za-z_]/ && !open && !start {
    start = FNR
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
}

(/^$/ || /;[ \t]*$/) && !open { start = 0 }

/^\{/ && start { open = 1 }

/^\}/ {
    if (open && FNR - start + 1 > limit)
        say(start, "function " name " has " (FNR - start + 1) " lines; the alarm is at " limit)
    start = open = 0
}

END {
    file_ends()
    exit bad
}
