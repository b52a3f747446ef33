// goheap FILE SECONDS [late]: allocates by known functions, keeps a part of it, and writes its heap profile to FILE
// before it waits, or ("late": without any garbage collection) after that.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

type node struct {
	next *node
	data [200]byte
}

var (
	kept   [][]byte
	chain  *node
	table  = map[string][]int{}
	joined []string
)

//go:noinline
func block(n int) []byte { return make([]byte, n) }

func wrapped(n int) []byte { return block(n) }

func twice(n int) []byte { return append(wrapped(n), wrapped(n)...) }

func keepBlocks() {
	for i := 0; i < 300; i++ {
		kept = append(kept, twice(20000))
	}
}

func dropBlocks() {
	for i := 0; i < 2000; i++ {
		b := twice(30000)
		b[0] = 1
	}
}

func link(depth int) {
	if depth > 0 {
		link(depth - 1)
		return
	}
	for i := 0; i < 50000; i++ {
		chain = &node{next: chain}
	}
}

func fill[T any](n int) []T {
	var s []T
	for i := 0; i < n; i++ {
		var v T
		s = append(s, v)
	}
	return s
}

func keepTable() {
	for i := 0; i < 200; i++ {
		table[strconv.Itoa(i)] = fill[int](5000)
	}
}

func keepText() {
	for i := 0; i < 100; i++ {
		var b strings.Builder
		for b.Len() < 60000 {
			b.WriteString("some text, again and again ")
		}
		joined = append(joined, b.String())
	}
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	seconds, _ := strconv.Atoi(os.Args[2])
	late := len(os.Args) > 3
	keepBlocks()
	dropBlocks()
	link(6)
	done := make(chan bool)
	go func() { keepTable(); done <- true }()
	<-done
	func() { keepText() }()
	if !late {
		runtime.GC()
		runtime.GC()
		pprof.Lookup("heap").WriteTo(f, 0)
		f.Close()
	}
	fmt.Println("ready")
	time.Sleep(time.Duration(seconds) * time.Second)
	if late {
		pprof.Lookup("heap").WriteTo(f, 0)
		f.Close()
	}
	runtime.KeepAlive(kept)
}
