#!/bin/bash
# Events of PMUs by what sysfs says of them: sampled by rate or by period, as those that have names of their own; and what
# is misspelt is named, with what there is.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

# Page faults by number: 20,000 and more, one in 50 of which is sampled, for all of them.
record -e 'perf:software/config=2,config1=0/' --period 50 -- python3 -c 'x = bytearray(80_000_000)'
echo 1 >"$TMP/x.sample"
n=$(samples_of 'python3.*')
is "$n" '>=' 18000 || fail "$n page faults, not 20,000"
is "$n" '<' 60000 || fail "$n page faults, not 20,000"
is "$n % 50" == 0 || fail "one in 50 stands for 50: $n"
record -e 'cpu,perf:software/config=2/' -o "$TMP/x.pb.gz" -- python3 -c 'x = bytearray(80_000_000)'
go tool pprof -symbolize=none -sample_index=software_config_2 -top "$TMP/x.pb.gz" >"$TMP/top" 2>/dev/null || fail "no such type"
expect_exit 2 'no PMU sotfware; it has:.* software' "$XPROF" record -a -e perf:sotfware/x/
expect_exit 2 'the PMU software has no event x; it has:' "$XPROF" record -a -e perf:software/x/
expect_exit 2 'has no term umask' "$XPROF" record -a -e perf:software/umask=1/
expect_exit 2 'expected perf:PMU/EVENT/' "$XPROF" record -a -e perf:software
expect_exit 2 'has no fields' "$XPROF" record -a -e perf:software/config=2/ --filter 'pid == 1'
expect_exit 1 '-e perf:software/config=99/: this machine cannot count it' "$XPROF" record -a -e perf:software/config=99/
if [ -e /sys/bus/event_source/devices/msr/events/tsc ]; then
    expect_exit 1 '-e perf:msr/tsc/: the kernel cannot sample it' "$XPROF" record -a -e cpu,perf:msr/tsc/
fi
