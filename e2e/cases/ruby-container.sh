#!/bin/bash
# An agent shows Ruby in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh
language=ruby
. e2e/scripts/lib.sh

cat >"$TMP/app" <<'END'
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

shows_scripts_inside App#serve 85 75 /usr/bin/ruby --disable=gems
