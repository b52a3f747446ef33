// Go as a shared object of a program in C.
package main

import "C"

type node struct{ left, right *node }

//go:noinline
func grown(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grown(depth - 1), grown(depth - 1)}
}

//export Work
func Work(n C.int) C.int {
	done := make(chan *node)
	go func() { done <- grown(int(n)) }()
	trees := [2]*node{grown(int(n)), <-done}
	if trees[0].left == nil {
		return 0
	}
	return 1
}

func main() {}
