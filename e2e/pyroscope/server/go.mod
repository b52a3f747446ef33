module xprof.io/e2e/pyroscope

go 1.25.7

require github.com/grafana/pyroscope v1.21.1

// The replace lines of a dependency do not count, so its own are repeated here. Its api folder at v1.21.1 is what was
// published as api v1.4.0.
replace (
	github.com/grafana/pyroscope/api => github.com/grafana/pyroscope/api v1.4.0
	github.com/hashicorp/memberlist => github.com/grafana/memberlist v0.3.1-0.20251126142931-6f9f62ab6f86
	gopkg.in/yaml.v3 => github.com/colega/go-yaml-yaml v0.0.0-20220720105220-255a8d16d094
)
