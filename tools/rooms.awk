# Who includes whom: agent/rooms.allow against every #include.
#   awk -f rooms.awk agent/rooms.allow FILE...            complaints
#   awk -v PRINT=1 -f rooms.awk agent/rooms.allow         the layers, as `make rooms` shows them
# A row of rooms.allow: LAYER ROOM ROOMS HEADERS. A room includes itself and the rooms of its row, which are in its own
# layer or below, form no circle, and are all used. A header of the last column is included by that room only. Files in
# agent/ itself belong to the room "agent"; those in agent/cli/X to the room "cli/X". Tests and fuzzers may include
# anything, and so may main.c.
# Files form no circle either: foo.c and foo.h count as one, with foo_internal.h, which foo shares with its own parts.

function say(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

function complain(place, text) {
    printf "%s: %s\n", place, text
    bad = 1
}

function room_of(path,    parts, n) {
    n = split(path, parts, "/")
    if (parts[1] == "bpf")
        return "bpf"
    if (parts[2] == "cli" && n > 3)
        return "cli/" parts[3]
    return n > 2 ? parts[2] : "agent"
}

# The room of a header as it is written behind #include: without agent/ in front.
function room_of_header(header) {
    return header ~ /^bpf\// ? "bpf" : room_of("agent/" header)
}

# "HEADER" or "DIR/" is the sole property of a room.
function owner_of(header,    prefix) {
    for (prefix in owner)
        if (header == prefix || (prefix ~ /\/$/ && index(header, prefix) == 1))
            return owner[prefix]
    return ""
}

# A file without its suffix; what it shares with its parts belongs to it.
function unit_of(path) {
    sub(/^agent\//, "", path)
    sub(/(\.bpf)?\.[ch]$/, "", path)
    sub(/_internal$/, "", path)
    return path
}

function note_file(header,    from, to) {
    from = unit_of(FILENAME)
    to = unit_of(header)
    if (from == to || ((from, to) in edge_at))
        return
    edge_at[from, to] = FILENAME ":" FNR
    edges[from] = edges[from] " " to
}

function check(header, quoted,    own, target) {
    own = owner_of(header)
    if (own != "" && index(own " ", " " room " ") == 0)
        say("<" header "> belongs to" own " alone")
    if (!quoted || header !~ /\//)
        return
    target = room_of_header(header)
    if (own == "")
        note_file(header)
    used[room, target] = 1
    if (target == room || own != "")
        return
    if (room == "bpf")
        say("bpf includes \"" header "\": only bpf/ may be included there")
    else if (target != "bpf" && !(target in allowed))
        say("\"" header "\" is in no room of rooms.allow")
    else if (index(allowed[room] " ", " " target " ") == 0)
        say("the room \"" room "\" may not include \"" target "\" (" header ")")
}

# Depth first; state 1: on the way here, 2: done.
function walk(graph, at, node, state, path,    next_nodes, n, i) {
    state[node] = 1
    n = split(graph[node], next_nodes, " ")
    for (i = 1; i <= n; i++) {
        if (state[next_nodes[i]] == 1)
            circle(at, node, next_nodes[i], path " " node)
        else if (!state[next_nodes[i]])
            walk(graph, at, next_nodes[i], state, path " " node)
    }
    state[node] = 2
}

function circle(at, from, to, path,    way) {
    way = path
    sub("^.* " to " ", to " ", way)
    sub(/^ /, "", way)
    gsub(/ /, " -> ", way)
    complain((from, to) in at ? at[from, to] : "agent/rooms.allow:" line_of[from], "a circle: " way " -> " to)
}

function check_table(    room, names, n, i) {
    for (room in allowed) {
        n = split(allowed[room], names, " ")
        for (i = 1; i <= n; i++) {
            if (names[i] != "bpf" && !(names[i] in layer))
                complain("agent/rooms.allow:" line_of[room], "there is no room \"" names[i] "\"")
            else if (layer[names[i]] > layer[room])
                complain("agent/rooms.allow:" line_of[room], room " (layer " layer[room] ") includes " names[i] \
                         " (layer " layer[names[i]] "), which is above it")
            if (has_files[room] && !((room, names[i]) in used))
                complain("agent/rooms.allow:" line_of[room], room " may include " names[i] ", and does not")
        }
    }
    for (room in allowed)
        if (!room_state[room])
            walk(allowed, no_places, room, room_state, "")
}

function check_files(    unit) {
    for (unit in edges)
        if (!file_state[unit])
            walk(edges, edge_at, unit, file_state, "")
}

function print_layers(    l, i) {
    for (l = top; l >= 0; l--) {
        printf "layer %d\n", l
        for (i = 1; i <= rooms; i++)
            if (layer[name[i]] == l)
                printf "  %-12s %s\n", name[i], allowed[name[i]] == "" ? "-" : "uses" allowed[name[i]]
    }
}

FILENAME ~ /rooms\.allow$/ {
    if ($0 ~ /^#/ || NF < 4)
        next
    layer[$2] = $1
    top = $1 > top ? $1 : top
    allowed[$2] = ""
    line_of[$2] = FNR
    name[++rooms] = $2
    for (i = 3; i <= NF; i++) {
        if ($i == "-")
            continue
        if ($i ~ /\.h$|\/$/) # a header or a folder of headers: the last column
            owner[$i] = owner[$i] " " $2
        else
            allowed[$2] = allowed[$2] " " $i
    }
    next
}

FNR == 1 {
    room = room_of(FILENAME)
    has_files[room] = 1
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

END {
    if (PRINT) {
        print_layers()
    } else {
        check_table()
        check_files()
    }
    exit bad
}
