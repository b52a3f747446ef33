// otlprecv ADDRESS FILE: receives OTLP profiles and appends a line to FILE for each sample:
//
//	UNIX-SECONDS PROCESS complete|cut|kernel
//
// A stack is cut when it holds an abort marker, which the sender must be told to leave in it, and "kernel" when it has
// no user frames at all. The process is the name of its main thread, or of the sampled one when it has ended.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	service "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resources "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
)

type receiver struct {
	service.UnimplementedProfilesServiceServer
	mu  sync.Mutex
	out *os.File
}

// attribute finds a string among those of the dictionary that indices name; "" when it is not there.
func attribute(d *profiles.ProfilesDictionary, indices []int32, key string) string {
	for _, i := range indices {
		a := d.AttributeTable[i]
		if d.StringTable[a.KeyStrindex] != key {
			continue
		}
		if i := a.Value.GetStringValueStrindex(); i != 0 {
			return d.StringTable[i]
		}
		return a.Value.GetStringValue()
	}
	return ""
}

// process names the process of samples of a resource, or returns "".
func process(r *resources.Resource) string {
	for _, a := range r.GetAttributes() {
		if a.Key == "process.pid" {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", a.Value.GetIntValue()))
			return strings.TrimSpace(string(name))
		}
	}
	return ""
}

func verdict(d *profiles.ProfilesDictionary, s *profiles.Sample) string {
	result := "kernel"
	for _, i := range d.StackTable[s.StackIndex].LocationIndices {
		switch attribute(d, d.LocationTable[i].AttributeIndices, "profile.frame.type") {
		case "kernel":
		case "abort-marker":
			return "cut"
		default:
			result = "complete"
		}
	}
	return result
}

func (r *receiver) Export(_ context.Context, q *service.ExportProfilesServiceRequest) (*service.ExportProfilesServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := bufio.NewWriter(r.out)
	d := q.Dictionary
	for _, resource := range q.ResourceProfiles {
		process := process(resource.Resource)
		for _, scope := range resource.ScopeProfiles {
			for _, profile := range scope.Profiles {
				for _, s := range profile.Samples {
					name := process
					if name == "" {
						name = attribute(d, s.AttributeIndices, "thread.name")
					}
					name = strings.ReplaceAll(name, " ", "_")
					for _, t := range s.TimestampsUnixNano {
						fmt.Fprintf(out, "%d.%09d %s %s\n", t/1e9, t%1e9, name, verdict(d, s))
					}
				}
			}
		}
	}
	return &service.ExportProfilesServiceResponse{}, out.Flush()
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: otlprecv ADDRESS FILE")
	}
	out, err := os.Create(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(256 << 20))
	service.RegisterProfilesServiceServer(server, &receiver{out: out})
	log.Fatal(server.Serve(listener))
}
