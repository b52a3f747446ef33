# Documents: links lead to files that are there, and so do paths in backquotes; lines are 120 characters at most, but for
# tables and code; README.md is one page.
#   awk -f docs.awk FILE.md...
# A path is what begins with a folder of the tree and has no placeholder in capitals.

function say(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

function exists(path) {
    return system("test -e '" path "'") == 0
}

function folder_of(file) {
    return file ~ /\// ? substr(file, 1, match(file, /\/[^\/]*$/)) : ""
}

function check_links(line,    target) {
    while (match(line, /\]\([^)#: ]+\)/)) {
        target = substr(line, RSTART + 2, RLENGTH - 3)
        if (!exists(folder_of(FILENAME) target))
            say("a link to " target ", which is not there")
        line = substr(line, RSTART + RLENGTH)
    }
}

function check_paths(line,    path) {
    while (match(line, /`(agent|bpf|bench|docs|e2e|tools|deploy)\/[A-Za-z0-9_.\/-]+`/)) {
        path = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (path !~ /(^|\/)([A-Z]+|foo)(\/|\.|$)/ && !exists(path))
            say(path " is not there")
    }
}

FNR == 1 { code = 0 }
/^```/ { code = !code; next }
FILENAME == "README.md" && !/^\|/ && ++prose == 141 { say("the first page has more than 140 lines, its tables left out") }
code { next }
!/^\|/ && !/^    / && !/^<!--/ && !/^`xprof / && length($0) > 120 { say("a line of " length($0) " characters") }
{
    check_links($0)
    check_paths($0)
}

END { exit bad }
