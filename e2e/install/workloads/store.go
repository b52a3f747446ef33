// A store whose shares of CPU are known: 60 % in compact, 40 % in lookup. Its laps are of random length, lest a sampler of
// a steady rate meets the same part again and again.
package main

import "fmt"

var sink uint64

//go:noinline
func spin(rounds uint64) {
	for i := uint64(0); i < rounds; i++ {
		sink += i * i
	}
}

//go:noinline
func compact(n uint64) { spin(6 * n); sink++ }

//go:noinline
func lookup(n uint64) { spin(4 * n); sink++ }

//go:noinline
func serve(n uint64) { compact(n); lookup(n); sink++ }

func main() {
	fmt.Println("ready")
	for random := uint64(88172645463325252); ; {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		serve(random % 200000)
	}
}
