#!/usr/bin/env python3
"""Runs what a dashboard asks for: each variable's query and each panel's, as Grafana would send them.

    check.py DASHBOARD.json --pyroscope URL --prometheus URL [--choose NAME=VALUE]... [--function NAME]...

Variables that are not chosen stay at All, or at the first value there is. A chosen value must be one that the variable's
query returns. Each panel must show something, flame graphs every --function. Prints a line for each query; exit 1 when one
of them returned nothing, and 3 when that may be only because it is too early.
"""
import argparse
import json
import re
import sys
import time
import urllib.parse
import urllib.request


class Nothing(Exception):
    """A query was answered, with no data."""


class Server:
    def __init__(self, args):
        self.pyroscope, self.prometheus = args.pyroscope, args.prometheus
        self.now = int(time.time())

    def pyro(self, method, **body):
        span = {"start": (self.now - 3600) * 1000, "end": (self.now + 5) * 1000}
        request = urllib.request.Request(f"{self.pyroscope}/querier.v1.QuerierService/{method}",
                                         json.dumps(body | span).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def prom(self, path, **parameters):
        url = f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]


def values_of(server, variable):
    """What a variable can be chosen from."""
    query = variable["query"]
    if variable["datasource"]["type"] == "prometheus":
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query["query"]).groups()
        return server.prom(f"label/{label}/values", **{"match[]": metric})
    if query["type"] == "profileType":
        return [t["ID"] for t in server.pyro("ProfileTypes").get("profileTypes", [])]
    matchers = ['{__profile_type__="%s"}' % query["profileTypeId"]]
    return server.pyro("LabelValues", name=query["labelName"], matchers=matchers).get("names", [])


def choose(server, dashboard, wanted):
    """Name -> value of each variable."""
    chosen = {}
    for variable in dashboard["templating"]["list"]:
        name = variable["name"]
        if variable["type"] == "datasource":
            continue
        values = values_of(server, variable)
        if not values:
            raise Nothing(f"variable {name}")
        if name in wanted:
            if wanted[name] not in values:
                raise Nothing(f"variable {name}: {wanted[name]} is not in {values}")
            chosen[name] = wanted[name]
        elif variable.get("allValue"):
            chosen[name] = variable["allValue"]
        else:
            default = variable.get("current", {}).get("value")
            chosen[name] = default if default in values else values[0]
        print(f"variable {name} = {chosen[name]} (of {len(values)})")
    return chosen


def interpolate(text, chosen):
    chosen = chosen | {"__rate_interval": "20s"}
    text = re.sub(r"\$\{(\w+)(?::pipe)?\}|\$(\w+)", lambda m: chosen[m[1] or m[2]], text)
    assert "$" not in text, text
    return text


def run_pyroscope(server, panel, target, chosen, functions):
    selector = interpolate(target["labelSelector"], chosen)
    assert "service_name=" in selector, f"{selector} names no service"
    query = {"profileTypeID": interpolate(target["profileTypeId"], chosen), "labelSelector": selector}
    if target["queryType"] == "metrics":
        answer = server.pyro("SelectSeries", groupBy=target["groupBy"], step=15, **query)
        series = [s for s in answer.get("series", []) if sum(p.get("value", 0) for p in s["points"]) > 0]
        names = sorted(label["value"] for s in series for label in s["labels"])
        if len(names) != len(series):
            raise Nothing(f"not every series of {selector} has {target['groupBy']}")
        return names, selector
    assert panel["type"] == "flamegraph", panel["type"]
    names = server.pyro("SelectMergeStacktraces", **query).get("flamegraph", {}).get("names", [])
    lacking = [f for f in functions if f not in names]
    if names and lacking:
        raise Nothing(f"{selector} has no {lacking}")
    return names[1:], selector


def run_prometheus(server, target, chosen):
    expression = interpolate(target["expr"], chosen)
    result = server.prom("query_range", query=expression, start=server.now - 60, end=server.now, step=5)["result"]
    return [s for s in result if any(v != "NaN" for _, v in s["values"])], expression


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def check(args):
    with open(args.dashboard, encoding="utf-8") as file:
        dashboard = json.load(file)
    server = Server(args)
    chosen = choose(server, dashboard, dict(c.split("=", 1) for c in args.choose))
    for panel in panels_of(dashboard):
        if panel.get("repeat") and chosen[panel["repeat"]] == ".*":
            continue # one for each: looked at when one is chosen
        for target in panel.get("targets", []):
            if target["datasource"]["type"] == "prometheus":
                data, query = run_prometheus(server, target, chosen)
            else:
                data, query = run_pyroscope(server, panel, target, chosen, args.function)
            if not data:
                raise Nothing(f"panel {panel['title']}: {query}")
            print(f"panel {panel['title']}: {len(data)} of {query}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dashboard")
    parser.add_argument("--pyroscope")
    parser.add_argument("--prometheus")
    parser.add_argument("--choose", action="append", default=[])
    parser.add_argument("--function", action="append", default=[])
    try:
        check(parser.parse_args())
    except Nothing as nothing:
        print(f"no data: {nothing}", file=sys.stderr)
        return 3
    return 0


sys.exit(main())
