package main

/*
static int twice(int x) { return 2 * x; }
*/
import "C"

// Report is for the host of the shared object.
//
//export Report
func Report(n C.int) {
	report(int(C.twice(n)) / 2)
}
