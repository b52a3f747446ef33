#!/usr/bin/env python3
"""runc for a unified hierarchy without the controllers for memory, CPU and pids, as a hybrid machine has it: limits are
taken out of what it is told to create, and changes of limits are ignored. RUNC names the real one."""
import json
import os
import sys


def bundle(arguments):
    for flag in ("--bundle", "-b"):
        if flag in arguments:
            return arguments[arguments.index(flag) + 1]
    return "."


def drop_limits(path):
    with open(path) as f:
        spec = json.load(f)
    resources = spec.get("linux", {}).get("resources")
    if resources:
        spec["linux"]["resources"] = {"devices": resources.get("devices", [])}
        with open(path, "w") as f:
            json.dump(spec, f)


arguments = sys.argv[1:]
if "update" in arguments:
    sys.exit(0)
if "create" in arguments or "run" in arguments:
    drop_limits(os.path.join(bundle(arguments), "config.json"))
runc = os.environ.get("RUNC", "/usr/sbin/runc")
os.execv(runc, [runc, *arguments])
