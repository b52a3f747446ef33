// A program that knows its own frames: `main N` prints what the runtime says about N random pcs of it, and about some
// chosen ones, each as file offset and name, file, line of every frame, innermost first, with tabs between.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"runtime"
	_ "runtime/pprof"
	"sort"
	"strconv"
	"strings"
	_ "unsafe"
)

// What runtime/pprof expands the last pc of a stack with.
//
//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stk []uintptr) []uintptr

type mapping struct{ lo, hi, offset uintptr }

// The mapping that this code runs from, so that shared objects find themselves, too.
func ownText(pc uintptr) mapping {
	maps, _ := os.ReadFile("/proc/self/maps")
	for _, line := range strings.Split(string(maps), "\n") {
		var m mapping
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x", &m.lo, &m.hi, new(string), &m.offset); n == 4 && pc >= m.lo && pc < m.hi {
			return m
		}
	}
	panic("no such mapping")
}

func frames(w *bufio.Writer, m mapping, pc uintptr) {
	fmt.Fprintf(w, "%x", pc-m.lo+m.offset)
	it := runtime.CallersFrames(expand([]uintptr{pc + 1}))
	for more := true; more; {
		var f runtime.Frame
		f, more = it.Next()
		fmt.Fprintf(w, "\t%s\t%s\t%d", f.Function, f.File, f.Line)
	}
	fmt.Fprintln(w)
}

// The runtime subtracts one from what it takes for a return address, but looks the function up before.
func sound(pc uintptr) bool {
	f, g := runtime.FuncForPC(pc), runtime.FuncForPC(pc+1)
	return f != nil && g != nil && f.Entry() == g.Entry() && f.Entry() <= pc
}

var sites []uintptr

// Remembers the place of the call of its caller.
//
//go:noinline
func site() int {
	pc := make([]uintptr, 1)
	runtime.Callers(2, pc)
	sites = append(sites, pc[0]-1)
	return len(sites)
}

type number interface{ ~int | ~float64 }

//go:noinline
func sum[K comparable, V number](m map[K]V) (s V) {
	for _, v := range m {
		s += v
	}
	site()
	return s
}

type pair[A, B any] struct {
	a A
	b B
}

//go:noinline
func (p *pair[A, B]) swap() pair[B, A] {
	site()
	return pair[B, A]{p.b, p.a}
}

type counter struct{ n int }

//go:noinline
func (c *counter) add(n int) {
	c.n += n
	site()
}

type adder interface{ add(int) }
type outer struct{ *counter } // its add is a wrapper

func in1() int { return site() }
func in2() int { return in1() + 1 }
func in3() int { return in2() + 1 }
func in4() int { return in3() + 1 }
func in5() int { return in4() + 1 }

//go:noinline
func chosen() {
	f := func() { site() }
	f()
	in5()
	sum(map[string]float64{"a": 1})
	(&pair[int, pair[string, []int]]{a: 1}).swap()
	c := &counter{}
	add := c.add
	add(1)
	var a adder = outer{c}
	a.add(2)
	defer func() {
		recover()
		site()
	}()
	panic("deferred")
}

func report(n int) {
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	pc := reflect.ValueOf(chosen).Pointer()
	m := ownText(pc)
	chosen()
	for _, pc := range sites {
		frames(w, m, pc)
	}
	lo, hi := pc, pc
	for lo > m.lo+64 && runtime.FuncForPC(lo-64) != nil {
		lo -= 64
	}
	for hi < m.hi-64 && runtime.FuncForPC(hi+64) != nil {
		hi += 64
	}
	r := rand.New(rand.NewSource(1))
	for n > 0 {
		pc := lo + uintptr(r.Int63n(int64(hi-lo)))
		if sound(pc) {
			frames(w, m, pc)
			n--
		}
	}
}

var _ = json.Marshal
var _ = sort.Strings

func main() {
	if len(os.Args) > 1 {
		n, _ := strconv.Atoi(os.Args[1])
		report(n)
	}
}
