#!/bin/bash
# An agent shows Erlang in containers, as another user, below a root that is read-only: of a process that runs when the agent
# starts, and of one that starts later, and has an Erlang process of two seconds after the other.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need erl erlc go unshare setpriv
. e2e/agent/lib.sh

cat >"$TMP/app.erl" <<'END'
-module(app).
-export([main/1]).

leaf(Until, N) ->
    case erlang:monotonic_time(millisecond) < Until of
        true -> leaf(Until, lists:sum(lists:seq(1, 1000)) + N);
        false -> N
    end.

serve(Seconds) -> leaf(erlang:monotonic_time(millisecond) + 1000 * list_to_integer(Seconds), 0) + 1.

main([Seconds]) -> serve(Seconds);
main([Seconds, Again]) ->
    {_, Ref} = spawn_monitor(fun() -> serve(Seconds), ok end),
    receive {'DOWN', Ref, process, _, _} -> main([Seconds, Again]) end.
END
erlc -o "$TMP" "$TMP/app.erl"
before=("$TMP/app.beam" -- env HOME=/ erl -noshell -pa . -run app main 600)
after=("$TMP/app.beam" -- env HOME=/ erl -noshell -pa . -run app main 2 again)
shows_inside 'beam*' app:serve/1 90 80 'after the agent, in processes of Erlang'
ends_silent '>=' 2 3 erlang
