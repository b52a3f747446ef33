#!/bin/bash
# Puts the program's own tables of options between the markers of docs/options.md.   tools/options.sh [build/xprof]
set -euo pipefail

xprof=${1:-build/xprof}
page=docs/options.md
table=$(mktemp)
trap 'rm -f "$table" "$table.md"' EXIT
"$xprof" options-table >"$table"
sed -e "/^<!-- options -->\$/,/^<!-- \\/options -->\$/{/^<!-- options -->\$/{p;r $table
};/^<!-- \\/options -->\$/p;d}" $page >"$table.md"
cat "$table.md" >$page
