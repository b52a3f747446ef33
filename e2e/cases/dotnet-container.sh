#!/bin/bash
# An agent shows .NET in containers, as another user, below a root that is read-only: of a process that runs when the agent
# starts, and of one that starts later, and runs a task of two seconds after the other.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need mcs go unshare setpriv
. e2e/agent/lib.sh
. e2e/dotnet/lib.sh

find_dotnet
cat >"$TMP/app.cs" <<'END'
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

static class App
{
    static long sum;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Leaf(double seconds)
    {
        for (var time = Stopwatch.StartNew(); time.Elapsed.TotalSeconds < seconds;)
            for (int i = 0; i < 10000; i++)
                sum += sum * i ^ i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Serve(double seconds)
    {
        Leaf(seconds / 2);
        Leaf(seconds / 2);
    }

    static void Main(string[] args)
    {
        if (args.Length == 1)
            Serve(double.Parse(args[0]));
        while (true)
            Task.Run(() => Serve(double.Parse(args[0]))).Wait();
    }
}
END
compile "$TMP/app.cs" "$TMP/app.dll"
before=("$runtime"/*.* "$runtime/host" "$TMP/app.dll" -- ./host ./app.dll 600)
after=("$runtime"/*.* "$runtime/host" "$TMP/app.dll" -- ./host ./app.dll 2 tasks)
shows_inside host App.Serve 90 80 'after the agent, in tasks'
ends_silent '>=' 2 3 'dotnet|json'
