# Who includes whom: rooms.allow against every #include.
#   awk -f rooms.awk agent/rooms.allow FILE...
# A room includes itself and the rooms of its second column; a header of the third column is included by that room only.
# Files in agent/ itself belong to the room "agent". Tests, fuzzers and main.c, which wires, may include anything.

function say(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

function room_of(path,    parts, n) {
    n = split(path, parts, "/")
    if (parts[1] == "bpf")
        return "bpf"
    return n > 2 ? parts[2] : "agent"
}

# "HEADER" or "DIR/" is the sole property of a room.
function owner_of(header,    prefix) {
    for (prefix in owner)
        if (header == prefix || (prefix ~ /\/$/ && index(header, prefix) == 1))
            return owner[prefix]
    return ""
}

function check(header, quoted,    own, target, has) {
    own = owner_of(header)
    if (own != "" && index(own " ", " " room " ") == 0)
        say("<" header "> belongs to" own " alone")
    if (!quoted || header !~ /\//)
        return
    target = header
    sub(/\/.*/, "", target)
    if (target == room || own != "")
        return
    if (room == "bpf")
        say("bpf includes \"" header "\": only bpf/ may be included there")
    else if (target != "bpf" && !(target in allowed))
        say("\"" header "\" is in no room of rooms.allow")
    else if (index(" " allowed[room] " ", " " target " ") == 0)
        say("the room \"" room "\" may not include \"" target "\" (" header ")")
}

FNR == NR {
    if ($0 ~ /^#/ || NF < 3)
        next
    allowed[$1] = ""
    for (i = 2; i <= NF; i++) {
        if ($i == "-")
            continue
        if ($i ~ /[.\/]/) # a header or a folder of headers, so column 3
            owner[$i] = owner[$i] " " $1
        else
            allowed[$1] = allowed[$1] " " $i
    }
    next
}

FNR == 1 {
    room = room_of(FILENAME)
    exempt = FILENAME ~ /_(test|fuzz)\.[ch]$/ || FILENAME == "agent/main.c" || FILENAME ~ /\/(test_main\.c|test\.h)$/
    if (room != "bpf" && !(room in allowed))
        say("the room \"" room "\" is not in rooms.allow")
}

!exempt && /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    header = $0
    sub(/^[^<"]*[<"]/, "", header)
    sub(/[>"].*/, "", header)
    check(header, $0 ~ /include[ \t]*"/)
}

END { exit bad }
