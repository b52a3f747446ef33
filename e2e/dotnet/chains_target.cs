// Runs its functions, one chain after the other, each for so many milliseconds; prints the frames of each chain that are its
// own, outermost first, as .NET itself sees them.   chains_target.dll MS
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Chains
{
    static class Program
    {
        static string current;
        static long busy, sink;
        static volatile bool told;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Tell()
        {
            told = true;
            var names = new List<string>();
            foreach (var frame in new StackTrace(false).GetFrames()) {
                var method = frame.GetMethod();
                var type = method.DeclaringType;
                if (type != null && type.IsGenericType)
                    type = type.GetGenericTypeDefinition();
                var name = type == null ? method.Name : type.FullName.Replace('+', '.') + "." + method.Name;
                if (name.StartsWith("Chains.") || name.StartsWith("System."))
                    names.Add("[\"" + name + "\", \"\", 0]");
            }
            names.RemoveAt(0); // Tell
            names.Reverse();
            Console.WriteLine("[\"" + current + "\", [" + string.Join(", ", names) + "]]");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Spin()
        {
            Tell();
            var end = Stopwatch.GetTimestamp() + busy;
            while (Stopwatch.GetTimestamp() < end)
                for (int i = 0; i < 3000; i++)
                    sink += sink * i ^ i;
            return 1;
        }

        static int c01() { return Spin(); }
        static int c02() { return new Thing().Method(); }
        static int c03() { Thing t = new Derived(); return t.Virtual(); }
        static int c04() { IThing t = new Derived(); return t.OfInterface(); }
        static int c05() { Func<int> f = () => Spin(); return f(); }
        static int c06() { int x = 2; Func<int> f = () => x + Spin(); return f(); }
        static int c07() { return new Box<int>().Run(1) + 0; }
        static int c08() { return new Box<string>().Run("x"); }
        static int c09() { return Generic<long>(1); }
        static int c10() { return Generic<object>("x"); }
        static int c11() { return new Point().Run(); }
        static int c12() { return new Thing().Property; }
        static int c13() { return new Thing()[1]; }
        static int c14() { return (new Thing() + new Thing()).GetHashCode(); }
        static int c15() { return new Thing(true).GetHashCode(); }
        static int c16() { return Late.Value; }
        static int c17() { return Recursive(30); }
        static int c18() { return new[] { 1 }.Select(x => Spin()).Sum(); }
        static int c19() { return Nested.Inner.Run(); }
        static int c20() { try { throw new Exception(); } catch (Exception) { return Spin(); } }
        static int c21() { try { return 1; } finally { Spin(); } }
        static int c22() { foreach (var x in Iterate()) return x; return 0; }
        static int c23() { var t = new Thread(() => Spin()); t.Start(); t.Join(); return 0; }
        static int c24() { return Task.Run(() => Spin()).Result; }
        static int c25() { return Async().Result; }
        static int c26() { return Made()(); }
        static int c27() { var a = new[] { 2, 1 }; told = false; Array.Sort(a, (x, y) => told ? x - y : Spin()); return a[0]; }
        static int c28() { return new Lazy<int>(() => Spin()).Value; }
        static int c29() { Changed += OnChanged; Changed(null, EventArgs.Empty); return 0; }
        static int c30() { return (int)typeof(Program).GetMethod("Reflected").Invoke(null, null); }
        static int c31() { return 5.Extended(); }
        static int c32() { return Marshal.GetDelegateForFunctionPointer<Called>(Marshal.GetFunctionPointerForDelegate(called))(1); }
        static int c33() { return new Thing().ToString().Length; }
        static int c34() { using (new Thing()) return 1; }
        static int c35() { Parallel.Invoke(() => Spin()); return 0; }

        static int c36() { return new Dictionary<Thing, int> { { new Thing(), 1 } }.Count; } // Add keeps no frame pointer

        static event EventHandler Changed;
        static void OnChanged(object o, EventArgs e) { Spin(); }
        delegate int Called(int x);
        static readonly Called called = x => Spin();
        public static int Reflected() { return Spin(); }
        static int Extended(this int x) { return Spin(); }
        static int Generic<T>(T x) { return Spin(); }
        static int Recursive(int n) { return n == 0 ? Spin() : Recursive(n - 1) + 1; }
        static IEnumerable<int> Iterate() { yield return Spin(); }
        static async Task<int> Async() { await Task.Yield(); return Spin(); }

        static Func<int> Made()
        {
            var made = new DynamicMethod("made", typeof(int), Type.EmptyTypes, typeof(Program).Module);
            var il = made.GetILGenerator();
            il.Emit(OpCodes.Call, typeof(Program).GetMethod("Spin"));
            il.Emit(OpCodes.Call, typeof(Program).GetMethod("Spin")); // with one call only, it has no frame
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Ret);
            return (Func<int>)made.CreateDelegate(typeof(Func<int>));
        }

        static int Main(string[] args)
        {
            busy = Stopwatch.Frequency / 1000 * int.Parse(args[0]);
            var chains = typeof(Program).GetMethods(BindingFlags.NonPublic | BindingFlags.Static)
                .Where(m => m.Name.Length == 3 && m.Name[0] == 'c').OrderBy(m => m.Name)
                .Select(m => (Func<int>)m.CreateDelegate(typeof(Func<int>))).ToList();
            foreach (var chain in chains) {
                current = chain.Method.Name;
                chain();
            }
            return 0;
        }
    }

    interface IThing { int OfInterface(); }

    class Thing : IDisposable
    {
        public Thing() { }
        public Thing(bool run) { Program.Spin(); }
        public int Method() { return Program.Spin(); }
        public virtual int Virtual() { return 1; }
        public int Property { get { return Program.Spin(); } }
        public int this[int i] { get { return Program.Spin(); } }
        public static Thing operator +(Thing a, Thing b) { Program.Spin(); return a; }
        public override string ToString() { Program.Spin(); return "x"; }
        public override int GetHashCode() { return Program.Spin(); }
        public void Dispose() { Program.Spin(); }
    }

    class Derived : Thing, IThing
    {
        public override int Virtual() { return base.Virtual() + Program.Spin(); }
        int IThing.OfInterface() { return Program.Spin(); }
    }

    class Box<T> { public int Run(T x) { return Program.Spin(); } }
    struct Point { public int Run() { return Program.Spin(); } }
    static class Late { public static int Value = Program.Spin(); }
    class Nested { public class Inner { public static int Run() { return Program.Spin(); } } }
}
