%% Known chains of calls, one after the other: at the end of each, what Erlang says of the stack is printed, and then the
%% CPU is busy for a while.
%%
%%   erl -noshell -run chains_target main MILLISECONDS
%%
%% A line is a JSON list: the name of the chain, and the frames from the root on, as [name, file, line].
-module(chains_target).
-export([main/1, exported/1, init/1, handle_call/3, handle_cast/2, woken/2]).
-behaviour(gen_server).

main([Ms]) ->
    erlang:system_flag(backtrace_depth, 2000),
    persistent_term:put(busy, list_to_integer(Ms)),
    Chains = [fun c01/0, fun c02/0, fun c03/0, fun c04/0, fun c05/0, fun c06/0, fun c07/0, fun c08/0, fun c09/0,
              fun c10/0, fun c11/0, fun c12/0, fun c13/0, fun c14/0, fun c15/0, fun c16/0, fun c17/0, fun c18/0,
              fun c19/0, fun c20/0, fun c21/0, fun c22/0, fun c23/0, fun c24/0, fun c25/0, fun c26/0],
    run(Chains),
    halt(0).

run([]) -> ok;
run([Chain | More]) ->
    {name, Name} = erlang:fun_info(Chain, name),
    persistent_term:put(chain, Name),
    Chain(),
    run(More).

%% ---- What it is compared with ----

frame({M, F, A, Place}) ->
    N = if is_list(A) -> length(A); true -> A end,
    io_lib:format("[\"~s:~s/~b\", \"~s\", ~b]",
                  [M, atom(F), N, proplists:get_value(file, Place, ""), proplists:get_value(line, Place, 0)]).

atom(F) -> io_lib:write_atom(F).

tell() ->
    {current_stacktrace, [_ | Frames]} = process_info(self(), current_stacktrace),
    Own = [F || F <- Frames, element(2, F) =/= tell],
    io:format("[\"~s\", [~s]]~n", [persistent_term:get(chain), lists:join(", ", [frame(F) || F <- lists:reverse(Own)])]).

till() -> erlang:monotonic_time(millisecond) + persistent_term:get(busy).

spin() ->
    tell(),
    burn(till(), 0) + 1.

burn(End, N) ->
    case erlang:monotonic_time(millisecond) < End of
        true -> burn(End, count(3000, N));
        false -> N
    end.

count(0, N) -> N;
count(I, N) -> count(I - 1, (N * 3 + I) band 16#ffff).

%% Most of it in C.
native(F) ->
    tell(),
    repeat(F, till()) + 1.

repeat(F, End) ->
    case erlang:monotonic_time(millisecond) < End of
        true -> F(), repeat(F, End);
        false -> 0
    end.

%% ---- Chains ----

c01() -> spin() + 1.
c02() -> F = fun() -> spin() + 1 end, F() + 1.
c03() -> X = persistent_term:get(busy), F = fun(Y) -> spin() + X + Y end, F(1) + 1.
c04() -> lists:map(fun(_) -> spin() + 1 end, [1]).
c05() -> lists:foldl(fun(_, A) -> spin() + A end, 0, [1]).
c06() -> [spin() + X || X <- [1]].
c07() ->
    try spin() + 1
    catch error:_ -> 0
    after ok
    end.
c08() -> apply(?MODULE, exported, [1]) + 1.
exported(X) -> spin() + X.
c09() -> deep(30) + 1.
deep(0) -> spin() + 1;
deep(N) -> deep(N - 1) + N.
c10() ->
    [A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T] = lists:seq(1, 20),
    X = wide({A, B}, "text", 1.5, <<1, 2>>),
    {X, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T}.
wide(A, B, C, D) -> X = spin(), {X, A, B, C, D}.
c11() ->
    {Pid, Ref} = spawn_monitor(fun() -> spin() + 1 end),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.
c12() ->
    {ok, Pid} = gen_server:start(?MODULE, [], []),
    gen_server:call(Pid, spin, infinity),
    gen_server:stop(Pid).
init([]) -> {ok, 0}.
handle_call(spin, _, State) -> X = spin(), {reply, X, State}.
handle_cast(_, State) -> {noreply, State}.
c13() -> self() ! go, receive go -> spin() + 1 end.
c14() -> maps:fold(fun(_, V, A) -> spin() + V + A end, 0, #{a => 1}).
c15() -> << <<(spin())>> || <<_>> <= <<1>> >>.
c16() ->
    T = ets:new(t, []),
    ets:insert(T, {a, 1}),
    ets:foldl(fun({_, V}, A) -> spin() + V + A end, 0, T).
c17() ->
    {Pid, Ref} = spawn_monitor(fun() -> proc_lib:hibernate(?MODULE, woken, [1, self()]) end),
    timer:sleep(20),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, _} -> ok end.
woken(X, _) -> receive go -> spin() + X end.
c18() -> X = lists:seq(1, 100000), native(fun() -> erlang:phash2(X) end) + 1.
c19() -> B = binary:copy(<<"x">>, 100000), native(fun() -> erlang:md5(B) end) + 1.
c20() -> X = lists:seq(1, 20000), native(fun() -> term_to_binary(X) end) + 1.
c21() -> native(fun() -> length(lists:seq(1, 20000)) end) + 1. % collects garbage
c22() -> S = lists:duplicate(20000, $a), native(fun() -> re:run(S, "a+b") end) + 1.
c23() -> catch (spin() + 1).
c24() -> F = fun ?MODULE:exported/1, F(1) + 1.
c25() -> deep(600) + 1.
c26() ->
    F = fun Self(0) -> spin() + 1.5; Self(N) -> Self(N - 1) * 2 end,
    F(3) + 1.
