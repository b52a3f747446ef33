// Has goroutines wait for locks, and prints for each lock how often they waited, and how long, by their own clock:
// ROUNDS times for each. Begins when it has read a line, or the end of its input, and a second has passed.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

type lock struct {
	name       string
	hold       time.Duration // 0: nobody else takes it
	waiters    int
	take       func() // and release it
	lock, free func()

	mutex sync.Mutex // of what follows
	waits int
	ns    int64
}

// Inside of a larger object on the heap.
type object struct {
	other [64]byte
	mutex sync.Mutex
}

var (
	staticLock sync.Mutex
	sharedLock sync.RWMutex
	aloneLock  sync.Mutex
	onHeap     = new(object)
)

//go:noinline
func takeStatic() { staticLock.Lock(); staticLock.Unlock() }

//go:noinline
func takeHeap() { onHeap.mutex.Lock(); onHeap.mutex.Unlock() }

//go:noinline
func takeWrite() { sharedLock.Lock(); sharedLock.Unlock() }

//go:noinline
func takeRead() { sharedLock.RLock(); sharedLock.RUnlock() }

//go:noinline
func takeAlone() { aloneLock.Lock(); aloneLock.Unlock() }

func (l *lock) wait(done *sync.WaitGroup) {
	defer done.Done()
	before := time.Now()
	l.take()
	ns := time.Since(before).Nanoseconds()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.hold > 0 && ns > int64(l.hold)/2 {
		l.waits++
		l.ns += ns
	}
}

func (l *lock) round() {
	var done sync.WaitGroup
	done.Add(l.waiters)
	if l.hold > 0 {
		l.lock()
	}
	for i := 0; i < l.waiters; i++ {
		go l.wait(&done)
	}
	if l.hold > 0 {
		time.Sleep(l.hold)
		l.free()
	}
	done.Wait()
}

func (l *lock) rounds(n int, done *sync.WaitGroup) {
	defer done.Done()
	for i := 0; i < n; i++ {
		l.round()
	}
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	bufio.NewReader(os.Stdin).ReadString('\n')
	time.Sleep(time.Second)
	locks := []*lock{
		{name: "alone", waiters: 1, take: takeAlone},
		{name: "static", waiters: 1, hold: 5 * time.Millisecond, take: takeStatic, lock: staticLock.Lock, free: staticLock.Unlock},
		{name: "heap", waiters: 2, hold: 6 * time.Millisecond, take: takeHeap, lock: onHeap.mutex.Lock, free: onHeap.mutex.Unlock},
	}
	one := []*lock{ // the same one
		{name: "write", waiters: 1, hold: 20 * time.Millisecond, take: takeWrite, lock: sharedLock.RLock, free: sharedLock.RUnlock},
		{name: "read", waiters: 3, hold: 10 * time.Millisecond, take: takeRead, lock: sharedLock.Lock, free: sharedLock.Unlock},
	}
	var done sync.WaitGroup
	done.Add(len(locks))
	for _, l := range locks {
		go l.rounds(rounds, &done)
	}
	done.Wait()
	for _, l := range one {
		done.Add(1)
		l.rounds(rounds, &done)
	}
	for _, l := range append(locks, one...) {
		fmt.Println(l.name, l.waits, l.ns)
	}
}
