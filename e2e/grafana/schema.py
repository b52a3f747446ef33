#!/usr/bin/env python3
"""Finds keys of a dashboard that Grafana's own models do not know: misspelt ones.   schema.py DASHBOARD.json...

Each file is read into the models and written again; what got lost on the way is a complaint. Keys that are newer than the
models, and known to be right, are listed below.
"""
import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.models.grafanapyroscope import Dataquery

NEWER = {"maxPerRow"}


def lost(before, after, path=""):
    if isinstance(before, dict):
        for key, value in before.items():
            if not isinstance(after, dict) or key not in after:
                yield f"{path}.{key}"
            else:
                yield from lost(value, after[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}[{len(after)}]"
        for i, (x, y) in enumerate(zip(before, after)):
            yield from lost(x, y, f"{path}[{i}]")


def again(value):
    return json.loads(JSONEncoder().encode(value))


def targets(panels):
    for panel in panels:
        yield from panel.get("targets", [])
        yield from targets(panel.get("panels", []))


def check(path):
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    missing = list(lost(dashboard, again(Dashboard.from_json(json.loads(json.dumps(dashboard))))))
    for target in targets(dashboard["panels"]):
        if target["datasource"]["type"] == "grafana-pyroscope-datasource":
            missing += lost(target, again(Dataquery.from_json(json.loads(json.dumps(target)))), ".target")
    missing = [m for m in missing if m.rsplit(".", 1)[-1] not in NEWER]
    for key in missing:
        print(f"{path}: Grafana does not know {key}")
    return bool(missing)


register_default_plugins()
sys.exit(any([check(path) for path in sys.argv[1:]]))
