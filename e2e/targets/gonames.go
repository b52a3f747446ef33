// Burns CPU time in functions whose names, lines and inlined callers are known.
package main

import (
	"fmt"
	"syscall"
)

type number interface{ ~int | ~float64 }

type counter struct{ n uint64 }

//go:noinline
func (c *counter) spin(rounds int) {
	for i := 0; i < rounds; i++ {
		c.n = c.n*6364136223846793005 + 1442695040888963407 // the hot line
	}
}

// Inlined into each other and into work.
func leaf(x uint64) uint64  { return x ^ x>>7 ^ x<<9 }
func twice(x uint64) uint64 { return leaf(leaf(x) + 1) }

//go:noinline
func work(x uint64) uint64 {
	for i := 0; i < 1<<16; i++ {
		x = twice(x) // the call that is inlined
	}
	return x
}

//go:noinline
func sum[T number](v []T) (s T) {
	for i := 0; i < 1<<12; i++ {
		for _, x := range v {
			s += x
		}
	}
	return s
}

func cpuMillis() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return (u.Utime.Nano() + u.Stime.Nano()) / 1e6
}

func main() {
	var c counter
	spin := c.spin // a method value
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	x, f := uint64(1), 0.0
	turn := func() {
		spin(1 << 16)
		x = work(x)
		f += sum(values)
	}
	for cpuMillis() < 600 {
		turn()
	}
	fmt.Println(c.n, x, f)
}
