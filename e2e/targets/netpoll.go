// Passes messages to and fro on connections: between two of them, all goroutines wait in the network poller.
package main

import (
	"fmt"
	"net"
	"time"
)

func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			var b [1]byte
			for {
				if _, err := c.Read(b[:]); err != nil {
					return
				}
				time.Sleep(2 * time.Millisecond)
				c.Write(b[:])
			}
		}()
	}
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go echo(l)
	done := make(chan int)
	for i := 0; i < 4; i++ {
		go func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			var b [1]byte
			n := 0
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); n++ {
				c.Write(b[:])
				c.Read(b[:])
			}
			done <- n
		}()
	}
	for i := 0; i < 4; i++ {
		fmt.Println(<-done)
	}
}
