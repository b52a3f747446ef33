#!/bin/bash
# A real program: git, over a repository of its own, with helper processes.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need git
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=e2e GIT_AUTHOR_EMAIL=e2e GIT_COMMITTER_NAME=e2e GIT_COMMITTER_EMAIL=e2e
git init -q "$TMP/repo"
cp -r /usr/include/linux /usr/include/x86_64-linux-gnu/bits "$TMP/repo/"
cat >"$TMP/work.sh" <<'SCRIPT'
cd "$1"
git add -A
git commit -qm one
git repack -adfq --window=20
git fsck --full --no-progress
git log -p | wc -c
SCRIPT
record -- sh "$TMP/work.sh" "$TMP/repo" >/dev/null
expect_samples 500
expect_complete 99
expect_stack 'git;(_start|\[git[^;]*);(.*;)?__libc_start_main;.*' "$profile" 400
expect_stack '(deflate|inflate|crc32|adler32)(;.*)?' "$profile" 50
