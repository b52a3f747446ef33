//go:build cgo

package main

/*
#include <stdlib.h>
extern int goCompare(int, int);
static int compare(const void *a, const void *b) { return goCompare(*(const int *)a, *(const int *)b); }
static __attribute__((noinline)) void sort(int *p, int n) { qsort(p, n, sizeof *p, compare); }
static __attribute__((noinline)) unsigned spin(int n) {
	volatile unsigned x = n;
	for (int i = 0; i < n; i++) x = x * 1103515245 + 12345;
	return x;
}
static __thread int own[7]; // so that g does not stand where it always stands
static int touch(void) { return ++own[3]; }
*/
import "C"

//export goCompare
func goCompare(a, b C.int) C.int { return compared(a, b) }

//go:noinline
func compared(a, b C.int) C.int {
	garbage := make([]byte, 64+int(a)&31)
	garbage[3] = byte(fibonacci(8))
	return a - b
}

// Go calls C, which calls Go.
func callC() {
	var numbers [256]C.int
	for running() {
		for i := range numbers {
			numbers[i] = C.int(i * 7919 % 256)
		}
		C.sort(&numbers[0], 256)
		C.spin(100000)
		C.touch()
	}
}

func init() { works["cgo"] = callC }
