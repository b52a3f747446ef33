// A store whose shares of CPU are known: 60 % in compact, 40 % in lookup.
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
func compact() { spin(600000); sink++ }

//go:noinline
func lookup() { spin(400000); sink++ }

//go:noinline
func serve() { compact(); lookup(); sink++ }

func main() {
	fmt.Println("ready")
	for {
		serve()
	}
}
