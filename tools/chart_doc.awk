# The table of a chart's values, from the comments that begin with "# --" in values.yaml: one for each leaf.
# Complains on stderr about a leaf without one, and exits 1.

/^ *# -- / { sub(/^ *# -- /, ""); text = $0; more = 1; next }
/^ *# / && more { sub(/^ *# /, ""); text = text " " $0; next }
/^ *$/ { text = ""; more = 0; next }
{
    more = 0
    match($0, /^ */)
    depth = RLENGTH / 2
    colon = index($0, ":")
    path[depth] = substr($0, RLENGTH + 1, colon - RLENGTH - 1)
    value = substr($0, colon + 2)
    if (value == "") # a map: its members have their own lines
        next
    name = path[0]
    for (i = 1; i <= depth; i++)
        name = name "." path[i]
    if (text == "") {
        printf "%s:%d: %s has no comment that begins with # --\n", FILENAME, FNR, name >"/dev/stderr"
        bad = 1
    }
    gsub(/\|/, "\\|", value)
    gsub(/\|/, "\\|", text)
    rows[++n] = "| `" name "` | `" value "` | " text " |"
    text = ""
}
END {
    if (bad)
        exit 1
    print "| value | default | what |\n|---|---|---|"
    for (i = 1; i <= n; i++)
        print rows[i]
}
