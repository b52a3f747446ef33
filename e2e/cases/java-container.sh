#!/bin/bash
# An agent shows Java in containers, as another user, below a root that is read-only, within two intervals: of a process that
# runs when the agent starts, and of one that starts later.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh
. e2e/java/lib.sh

build_java Chains

# The classes are where only the container sees them.
for_each_java 17 25
before=("$TMP"/Chains*.class -- "${javas[0]}" Chains 600000 c03)
after=("$TMP"/Chains*.class -- "${javas[-1]}" Chains 600000 c03)
shows_inside java Chains.in5 80 80 'after the agent'
ends_silent '==' 2 10 'java|hotspot'
