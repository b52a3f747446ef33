// Go programs with stacks of every kind: gostacks WORK SECONDS PROFILE waits for the file START, does some work, and writes
// what runtime/pprof saw of it, RATE times a second of CPU time.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var deadline time.Time

func running() bool { return time.Now().Before(deadline) }

var works = map[string]func(){
	"cpu": cpu, "gc": gc, "grow": grow, "syscall": calls, "panic": panics, "preempt": preempt,
}

// Calls, closures, inlining, assembly of the standard library.
func cpu() {
	for running() {
		words := make([]string, 3000)
		for i := range words {
			words[i] = strconv.Itoa(i * 7919 % 3000)
		}
		sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
		var packed bytes.Buffer
		w, _ := flate.NewWriter(&packed, 6)
		io.WriteString(w, strings.Join(words, " "))
		w.Close()
		index := map[string]int{}
		for i, word := range words {
			index[word] = i
		}
		text, _ := json.Marshal(index)
		json.Unmarshal(text, &index)
		new(big.Int).Exp(big.NewInt(3), big.NewInt(20000), nil)
		fibonacci(22)
	}
}

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

type tree struct {
	left, right *tree
	values      [4]*int
}

func grown(depth int) *tree {
	if depth == 0 {
		value := depth
		return &tree{values: [4]*int{&value}}
	}
	return &tree{left: grown(depth - 1), right: grown(depth - 1)}
}

// Marking, sweeping, assists: on system stacks, and on goroutines that were stopped.
func gc() {
	var forest []*tree
	for running() {
		forest = append(forest, grown(14))
		if len(forest) > 12 {
			forest = forest[6:]
		}
	}
}

func descend(n int, above *[128]byte) int {
	var frame [128]byte
	if n == 0 {
		return int(above[3])
	}
	frame[n&127] = 1
	return descend(n-1, &frame) + int(frame[5])
}

// Stacks that start small and are copied as they grow.
func grow() {
	for running() {
		var all sync.WaitGroup
		for i := 0; i < 8; i++ {
			all.Add(1)
			go func() {
				var frame [128]byte
				descend(200, &frame)
				all.Done()
			}()
		}
		all.Wait()
	}
}

// The kernel, and the vdso, which is called on the system stack.
func calls() {
	zero, _ := os.Open("/dev/zero")
	data := make([]byte, 4096)
	for running() {
		for i := 0; i < 100; i++ {
			zero.Read(data)
			syscall.Getppid()
			time.Now()
		}
		os.Stat("/etc/passwd")
	}
}

//go:noinline
func fault(n int, p *int) int {
	if n == 0 {
		return *p
	}
	return fault(n-1, p) + 1
}

//go:noinline
func recovered(n int) (text int) {
	defer func() { text = len(fmt.Sprint(recover())) }()
	if n&1 == 0 {
		return fault(5, nil) // a signal becomes a panic
	}
	var none []int
	return none[n&7]
}

func panics() {
	for n := 0; running(); n++ {
		recovered(n)
	}
}

var sink uint64

// More loops without calls than there are CPUs: each is stopped by a signal that makes it call.
func preempt() {
	var all sync.WaitGroup
	for i := 0; i < 3*runtime.NumCPU(); i++ {
		all.Add(1)
		go func(x uint64) {
			defer all.Done()
			for running() {
				for k := 0; k < 30000000; k++ {
					x = x*6364136223846793005 + 1442695040888963407
				}
			}
			sink = x
		}(uint64(i))
	}
	all.Wait()
}

func main() {
	work := works[os.Args[1]]
	for start := os.Getenv("START"); start != ""; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(start); err == nil {
			break
		}
	}
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	deadline = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	if len(os.Args) > 3 {
		file, err := os.Create(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		if rate, _ := strconv.Atoi(os.Getenv("RATE")); rate > 0 {
			runtime.SetCPUProfileRate(rate) // StartCPUProfile complains that it is set, and keeps it
		}
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
	}
	work()
}
