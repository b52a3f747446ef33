#!/bin/bash
# Puts the program's own table of options between README.md's markers.   tools/readme.sh [build/xprof]
set -euo pipefail

xprof=${1:-build/xprof}
table=$(mktemp)
trap 'rm -f "$table" "$table.md"' EXIT
"$xprof" options-table >"$table"
sed -e "/^<!-- options -->\$/,/^<!-- \\/options -->\$/{/^<!-- options -->\$/{p;r $table
};/^<!-- \\/options -->\$/p;d}" README.md >"$table.md"
cat "$table.md" >README.md
