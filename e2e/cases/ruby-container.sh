#!/bin/bash
# An agent shows Ruby in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh

[ -x /usr/bin/ruby ] || skip "there is no /usr/bin/ruby"
INTERVAL=2s
cat >"$TMP/app.rb" <<'END'
class App
  def leaf(seconds)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    (1..100).sum { |n| n * 2 } while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  end

  def serve
    leaf(ARGV[0].to_f)
  end

  def run
    return serve unless ARGV[1] == "fork"

    loop do
      fork { serve }
      Process.wait
    end
  end
end

App.new.run
END

# In namespaces of its own: the program is where only it sees it. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
own=/mnt
mount -t tmpfs tmpfs $own
cp "$1/app.rb" $own
mount -o remount,bind,ro $own
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs /usr/bin/ruby --disable=gems $own/app.rb "${@:2}"
END

start_inside ab "ruby*" "$TMP/inside.sh" "$TMP" 600
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd "ruby*" "$TMP/inside.sh" "$TMP" 2 fork
expect_inside host/abababababab 'before the agent' App#serve 85
expect_inside host/cdcdcdcdcdcd 'after the agent, in workers' App#serve 75
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -i ruby "$errors"; then fail "the agent has to say something about Ruby"; fi
