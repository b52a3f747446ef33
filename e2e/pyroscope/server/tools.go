//go:build tools

// Package server pins the Pyroscope that the end-to-end tests talk to. It is built and run, never linked or shipped.
package server

import _ "github.com/grafana/pyroscope/cmd/pyroscope"
