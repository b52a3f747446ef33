#!/usr/bin/env python3
"""Compares a profile of Chains.java with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed N] [--coarse]

--missed: so many of the first chains, when it was attached to. --coarse: without -XX:+DebugNonSafepoints, the last method
may be taken for the one that it is inlined into.

The stacks of a chain have its frames from the root on; above the last one are only frames of the library, the virtual
machine, native code and the kernel. A stack may end within the chain, which happens rarely: there is little to do.
The line of each call must name the method that is called.
"""
import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]))
import stacks  # noqa: E402

SOURCE = open(os.path.dirname(os.path.abspath(__file__)) + "/Chains.java").read().splitlines()
JAVA = re.compile(r"(java|javax|jdk|sun|Chains)(\.|\$)|\[java|\[jvm|JavaMain$|JavaCalls::")
UNKNOWN = re.compile(r"\[(java|java: gone)\]$")
UNSEEN = re.compile(r"\[anonymous\]$")
FEW = 5  # samples that each chain has
RARE = re.compile(r"Chains.thrown$|.*<(cl)?init>$")  # frames of the program above a chain's, of no chain


def ours(name):
    return (name.startswith("Chains.") or name.startswith("Chains$")) and "$$Lambda." not in name


def expected(name, frames):
    """The frames of a chain; "*" between two: some of the library."""
    chain = ["Chains.main"]
    if re.match(r"c\d\d$", name):
        chain += ["Chains.run", "Chains$Direct.run", "Chains." + name]
    else:
        chain += ["*"]
    for frame in frames.split(";"):
        chain.append(frame if frame == "*" else "Chains" + frame if frame[0] == "$" else "Chains." + frame)
    return chain


def match(chain, frames):
    """Returns how many frames of the chain are there; -1: something else is among them, or above."""
    at = 0
    for i, frame in enumerate(frames):
        if at < len(chain) and chain[at] == "*":
            if not ours(frame):
                continue
            at += 1
        if at < len(chain) and frame == chain[at]:
            at += 1
        elif any(ours(f) for f in frames[i:] if not RARE.match(f)):
            return -1
        else:
            break
    return at


def is_skipped(names):
    """Whether the launcher called the virtual machine to run the program, but its frames are not there."""
    called = any(name.startswith("jni_invoke_static") for name in names)
    return called and not any(re.match(r"Chains\.|sun\.launcher\.", name) or UNKNOWN.match(name) or UNSEEN.match(name)
                              for name in names) and names[-1].startswith("[jvm: ")


def wrong_line(frames):
    """The first call whose line does not name its method."""
    for (caller, _, line), (callee, file, _) in zip(frames, frames[1:]):
        if not ours(caller) or not ours(callee):
            continue
        owner, method = callee.rsplit(".", 1)
        if method == "<init>":
            method = "(new " + owner.rsplit("$", 1)[1] + "|super)"
            if f" extends {owner.rsplit('$', 1)[1]} " in SOURCE[line - 1]:
                continue  # a constructor that is not written down
        if method == "<clinit>" or method.startswith("lambda$"):
            continue
        if file != "Chains.java" or not re.search(r"\b" + method + r"\(", SOURCE[line - 1] if line else ""):
            return f"{caller} calls {callee} in line {line} of {file}"
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("profile")
    options.add_argument("printed")
    options.add_argument("--coarse", action="store_true")
    options.add_argument("--missed", type=int, default=0)
    args = options.parse_args()
    bad, whole, below, cut, unknown, unseen, pending, cuts, skipped = [], collections.Counter(), 0, 0, 0, 0, 0, [], []
    all_of = collections.Counter()
    chains = dict(line.split(" ", 1) for line in open(args.printed, encoding="utf-8").read().splitlines())
    chains = {name: expected(name, frames) for name, frames in chains.items()}
    period = None
    for value, frames, is_cut, labels in stacks.read(args.profile):
        period = min(period or value, value)
        names = [f[0] for f in frames]
        if not any(JAVA.match(name) for name in names):
            continue
        below += value
        pending += value * ("cut:[table-pending]" in labels)
        cut += value * (is_cut and "cut:[table-pending]" not in labels)
        if is_cut:
            cuts.append(";".join(names))
            continue
        unknown += value * any(UNKNOWN.match(name) for name in names)
        unseen += value * any(UNSEEN.match(name) for name in names)
        found = [c for c in chains if "Chains." + c in names]
        if not found and "Chains.run" not in names and "Chains.warmUp" not in names:
            found = [c for c in chains if chains[c][1] == "*" and chains[c][2] in names]
        if len(found) != 1:
            if len(found) > 1:
                bad.append(f"two chains in one stack: {';'.join(names)}")
            if is_skipped(names):
                skipped.append(";".join(names))
            continue
        chain, java = chains[found[0]], frames[names.index("Chains.main"):] if "Chains.main" in names else []
        got = match(chain, [f[0] for f in java])
        all_of[found[0]] += value
        if got < 0 or any(UNKNOWN.match(f[0]) or UNSEEN.match(f[0]) for f in java):
            bad.append(f"{found[0]}: {';'.join(f[0] for f in java) or ';'.join(names)}")
        elif got == len(chain):
            whole[found[0]] += value
        wrong = wrong_line(java)
        if wrong:
            bad.append(f"{found[0]}: {wrong}")
    period = period or 1
    few = []  # others may have had the CPUs
    for name in list(chains)[args.missed:]:
        if all_of[name] < FEW * period:
            few.append(f"{name}: only {all_of[name] // period} stacks")
        elif not args.coarse and whole[name] < 0.6 * all_of[name]:  # classes are loaded, exceptions are made
            bad.append(f"{name}: only {whole[name] // period} of {all_of[name] // period} stacks have all frames")
    if len(few) > 3:
        bad += few
    if sum(whole.values()) < (0.7 if args.coarse else 0.97) * sum(all_of.values()):
        bad.append(f"only {sum(whole.values()) // period} of {sum(all_of.values()) // period} stacks have all frames")
    if not below or cut > 0.005 * below:
        bad.append(f"{cut // period} of {below // period} stacks with Java are cut")
        bad += cuts
    if len(skipped) > FEW:
        bad.append(f"{len(skipped)} kinds of stacks lack the frames of the program")
        bad += skipped
    if pending > 0.05e9:  # unwind tables of the virtual machine's own files are loaded
        bad.append(f"{pending // period} of {below // period} stacks wait for tables")
    if unseen > 0.3e9:  # the first moments of a virtual machine
        bad.append(f"{unseen // period} of {below // period} stacks are through code that nobody looked at")
    if unknown > 0.1e9:  # in the last 100 ms of a program there may be no time to read names
        bad.append(f"{unknown // period} of {below // period} stacks have frames without name")
    print(f"{below // period} samples with Java, {cut // period} cut, {unknown // period} without names, "
          f"{unseen // period} too early; "
          f"{sum(whole.values()) // period} of {sum(all_of.values()) // period} in {len(chains)} chains are whole")
    for line in list(dict.fromkeys(bad))[:12]:
        print("  " + (line if len(line) < 600 else line[:200] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
