#!/bin/bash
# What is made from the chart, and kept beside it:
#   deploy/helm/xprof/README.md           the table of values, between its markers
#   deploy/helm/xprof/values.schema.json  the options that `config` takes, as build/xprof lists them
#   deploy/manifests/xprof.yaml           the chart with its default values, for those without helm (dashboards left out)
#   tools/chart.sh            makes them (`make manifests`), in the top folder
#   tools/chart.sh --check    complains about those that differ, a line each, and exits 1
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
chart=deploy/helm/xprof
manifest=deploy/manifests/xprof.yaml
xprof=${B:-build}/xprof
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
status=0

put() { # MADE PLACE
    if [ "${check:-}" = yes ]; then
        cmp -s "$1" "$2" || { echo "$2:1: not what the chart says: make manifests" && status=1; }
    else
        cat "$1" >"$2"
    fi
}

readme() {
    awk -f "$tools/chart_doc.awk" $chart/values.yaml >"$new/table"
    sed -e "/^<!-- values/,/^<!-- \\/values -->\$/{/^<!-- values/{p;r $new/table
};/^<!-- \\/values -->\$/p;d}" $chart/README.md >"$new/readme"
    put "$new/readme" $chart/README.md
}

# {"rate": {"description": ..., "type": ...}, ...} from the comments and the defaults of --print-config.
options() {
    "$xprof" agent --print-config | jq -RnS '[inputs] as $lines | [range($lines | length)
        | select($lines[.] | startswith("# ")) | select($lines[. + 1] // "" | test("^(# )?[a-z-]+:"))
        | ($lines[. + 1] | capture("^(# )?(?<key>[a-z-]+): ?(?<value>.*)$")) as $o
        | {($o.key): ({description: $lines[.][2:]}
            + if ($o.value | . == "on" or . == "off") then {enum: [true, false, "on", "off"]}
              elif ($o.value | test("^[0-9]+$")) then {type: ["integer", "string"]}
              elif $o.value != "" then {type: ["string", "number", "boolean"]} else {} end)}] | add'
}

schema() {
    if ! command -v jq >/dev/null || [ ! -x "$xprof" ]; then
        echo "chart.sh: no jq or no $xprof: the options in values.schema.json stay as they are" >&2
        return
    fi
    options >"$new/options"
    jq --indent 2 --slurpfile o "$new/options" '.properties.config.properties = ($o[0] + .["$defs"].lists)' \
        $chart/values.schema.json >"$new/schema"
    put "$new/schema" $chart/values.schema.json
}

manifests() {
    local helm
    helm=$(command -v helm) || helm=$("$tools/../e2e/kube/build.sh" --find 2>/dev/null)/helm || {
        echo "chart.sh: there is no helm: $manifest is not looked at" >&2
        return
    }
    {
        echo "# Made from $chart by tools/chart.sh, without the dashboards. Say in the ConfigMap where profiles go."
        "$helm" template xprof $chart --namespace xprof --kube-version 1.30.0 --skip-tests \
            --set pyroscope.url=http://pyroscope.monitoring:4040 --set dashboards.enabled=false
    } >"$new/manifest"
    put "$new/manifest" $manifest
}

if [ "${1:-}" = --check ]; then check=yes; fi
readme
schema
manifests
exit $status
