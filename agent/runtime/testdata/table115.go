// What debug/gosym says about a raw table of 1.15 (its own test data): entry, name, file and line of all functions.
package main

import (
	"compress/gzip"
	"debug/gosym"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	const text = 0x1001000
	f, err := os.Open(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	z, _ := gzip.NewReader(f)
	data, _ := io.ReadAll(z)
	os.WriteFile(os.Args[2], data, 0o644)
	t, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		os.Exit(1)
	}
	for _, f := range t.Funcs {
		file, line, _ := t.PCToLine(f.Entry)
		name := f.Name
		if i, j := strings.Index(name, "["), strings.LastIndex(name, "]"); i >= 0 && j > i {
			name = name[:i] + "[...]" + name[j+1:] // as the runtime prints it
		}
		if line >= 0 { // go.buildid is no code
			fmt.Printf("%x\t%s\t%s\t%d\n", f.Entry-text+0x1000, name, file, line)
		}
	}
}
