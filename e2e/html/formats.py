#!/usr/bin/env python3
"""Reads what make.c wrote with tools that are not ours: formats.py DIR. A line a check, "N failed" at the end."""
import gzip, json, os, re, shutil, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

DIR = sys.argv[1]
NAMES = ["demo", "many", "hostile", "waits"]
GO_CACHE = os.environ.get("GOCACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "go-build")
count = {"ok": 0, "FAIL": 0, "skip": 0}


def say(result, name, why=""):
    count[result] += 1
    print(f"{result:5} {name}{': ' + why if why else ''}")


class Skip(Exception):
    pass


def check(name, test, needs=None):
    if needs and not shutil.which(needs):
        return say("skip", name, f"no {needs}")
    try:
        test()
        say("ok", name)
    except Skip as why:
        say("skip", name, str(why))
    except Exception as error:  # any error is a failed check
        say("FAIL", name, f"{type(error).__name__}: {error}"[:500])


def same(value, want, what):
    if value != want:
        raise ValueError(f"{what} is {value!r}, not {want!r}"[:400])


def path(name, suffix):
    return os.path.join(DIR, name + suffix)


def collapsed(name):
    """Lines as (frames, value)."""
    with open(path(name, ".collapsed"), encoding="utf-8") as f:
        for line in f:
            stack, _, n = line.rstrip("\n").rpartition(" ")
            yield stack.split(";"), int(n)


def run(*command):
    """Its output. Without a home: no settings, no symbols of this machine; but go builds its pprof only once."""
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, HOME=home, PPROF_BINARY_PATH=home, GOTOOLCHAIN="local", GOCACHE=GO_CACHE)
        return subprocess.run(command, env=env, capture_output=True, check=True, timeout=120).stdout


def pprof_top():
    out = run("go", "tool", "pprof", "-symbolize=none", "-unit=ms", "-top", "-nodecount=3", path("demo", ".pb.gz")).decode()
    same(re.findall(r"^Type: (.*)$", out, re.M), ["cpu"], "type")
    same(re.findall(r"^Duration: (.*)$", out, re.M), ["10s, Total samples = 11838.38ms (118.38%)"], "duration")
    rows = [line.split() for line in out.splitlines() if line.endswith(("longest_match", "blocks", "escapeHtml"))]
    same([[r[0], r[-1]] for r in rows],
         [["1939.39ms", "longest_match"], ["1252.53ms", "aesni_ctr32_encrypt_blocks"], ["1131.31ms", "*escapeHtml"]], "rows")


def pprof_samples_and_labels():
    demo = path("demo", ".pb.gz")
    out = run("go", "tool", "pprof", "-symbolize=none", "-sample_index=page_faults", "-top", "-nodecount=1", demo).decode()
    same(re.findall(r"^Type: (.*)$", out, re.M), ["page_faults"], "type")
    tags = run("go", "tool", "pprof", "-symbolize=none", "-tags", demo).decode()
    same(re.findall(r"\): ([a-z-]+)$", tags.split("pid:")[0], re.M), ["no-rule", "anonymous-end", "depth"], "cut")
    focused = run("go", "tool", "pprof", "-symbolize=none", "-top", "-tagfocus=process=node", demo).decode()
    same("ngx" in focused, False, "nginx in the samples of node")


def pprof_waits():
    waits = path("waits", ".pb.gz")
    flags = "-symbolize=none", "-sample_index=off_cpu", "-unit=ms", "-top"
    rows = run("go", "tool", "pprof", *flags, "-tagfocus=wait=disk", waits).decode().splitlines()
    same(sorted(r.split()[-1] for r in rows if "2500ms" in r and "total" not in r), ["[disk]", "folio_wait_bit", "main", "pread"],
         "what waits for a disk")
    tags = run("go", "tool", "pprof", "-symbolize=none", "-sample_index=off_cpu", "-tags", waits).decode()
    same(re.findall(r"\): ([a-z ]+)$", tags.split(" wait:")[1], re.M), ["socket", "disk", "sleep", "lock", "run queue"], "waits")
    kept = run("go", "tool", "pprof", "-symbolize=none", "-proto", "-output=/dev/stdout", waits)
    same(b"[wait]" in gzip.decompress(kept), True, "mapping")


def pprof_hostile():
    out = run("go", "tool", "pprof", "-symbolize=none", "-traces", path("hostile", ".pb.gz")).decode()
    same("</script><script>window.broken=1</script>" in out, True, "a name")


def pprof_decodes():
    for name in ("demo", "hostile"):
        with gzip.open(path(name, ".pb.gz")) as f:
            data = f.read()
        raw = subprocess.run(["protoc", "--decode_raw"], input=data, capture_output=True, check=True, timeout=120).stdout
        stacks = len(re.findall(rb"^2 \{", raw, re.M))
        same(stacks >= sum(1 for _ in collapsed(name)), True, "samples of " + name)
        same(len(re.findall(rb"^6: ", raw, re.M)) > stacks, True, "strings of " + name)


def speedscope():
    for name in NAMES:
        with open(path(name, ".speedscope.json"), encoding="utf-8") as f:
            data = json.load(f)
        same(data["$schema"], "https://www.speedscope.app/file-format-schema.json", "schema")
        frames = data["shared"]["frames"]
        for p in data["profiles"]:
            same(p["type"], "sampled", "type")
            same(len(p["samples"]), len(p["weights"]), "weights")
            same(sum(p["weights"]), p["endValue"], "sum")
            same(all(0 <= i < len(frames) for s in p["samples"] for i in s), True, "frames in the table")
    with open(path("demo", ".speedscope.json"), encoding="utf-8") as f:
        data = json.load(f)
    same([(p["name"], p["unit"]) for p in data["profiles"]], [("cpu", "nanoseconds"), ("page-faults", "none")], "units")
    names = [f["name"] for f in data["shared"]["frames"]]
    total = {}
    for s, w in zip(data["profiles"][0]["samples"], data["profiles"][0]["weights"]):
        key = tuple(re.sub(r" \(\d+\)$", "", names[i]).replace(" [kernel]", "_[k]") for i in s)
        total[key] = total.get(key, 0) + w
    same(total, {tuple(stack): n for stack, n in collapsed("demo")}, "stacks")


def firefox(*arguments):
    return run(*os.environ["FIREFOX"].split(), *arguments, "--json")


def leaves(node, above=()):
    """The stacks of a call tree as {frames: value}, without those that have no time of their own."""
    frames = (*above, node["name"]) if node["name"] != "<root>" else ()
    own = {frames: round(node["selfSamples"] * 1e6)} if node["selfSamples"] else {}
    for child in node.get("children", []):
        own.update(leaves(child, frames))
    return own


def threads_of(name):
    with open(path(name, ".gecko.json"), encoding="utf-8") as f:
        return json.load(f)["threads"]


def times_in_firefox(name):
    """What its importer makes of the time on CPUs: {(process, frames...): ns}."""
    total = {}
    firefox("load", path(name, ".gecko.json"))
    try:
        for i, t in enumerate(threads_of(name)):
            if t["name"].endswith(" cpu"):
                tree = json.loads(firefox("thread", "samples-top-down", "--thread", f"t-{i}", "--max-lines", "100000"))
                same(tree["weightType"], "tracing-ms", "unit")
                for stack, n in leaves(tree["regularCallTree"]).items():
                    key = (t["processName"], *stack)
                    total[key] = total.get(key, 0) + n
    finally:
        firefox("stop")
    return total


def gecko():
    if not os.environ.get("FIREFOX"):
        raise Skip("the Firefox Profiler is not there")
    for t in (t for name in NAMES for t in threads_of(name)):
        same({len(t["samples"][c]) for c in ("stack", "time", "weight")}, {t["samples"]["length"]}, "columns")
    with tempfile.TemporaryDirectory() as home:
        os.environ["PROFILER_CLI_SESSION_DIR"] = home  # where its daemon is found
        total = times_in_firefox("demo")
    want = {tuple(f.removesuffix("_[k]") for f in stack): n for stack, n in collapsed("demo")}
    same(set(total), set(want), "stacks")
    same([k for k in want if abs(total[k] - want[k]) > 1], [], "times")


def svg():
    for name in NAMES:
        root = xml.parse(path(name, ".svg")).getroot()
        same(root.tag, "{http://www.w3.org/2000/svg}svg", "root")
        text = xml.tostring(root, encoding="unicode")
        same([w for w in ("<script", "href", "url(", "onload") if w in text.replace("&lt;", "")], [], "references")
    root = xml.parse(path("demo", ".svg")).getroot()
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    same([t for t in titles if t.startswith("deflate ")],
         ["deflate (/usr/lib/x86_64-linux-gnu/libz.so.1)\n2.79 s, 23.55 %, 276 samples; self 0.00 ns"], "a title")


def html():
    for name in NAMES:
        with open(path(name, ".html"), encoding="utf-8") as f:
            page = f.read()
        same(len(re.findall("<script", page)), 2, "scripts of " + name)
        same(page.count("window.broken") - page.count("&#60;script&#62;window.broken"), 0, "names as text of " + name)
    same(os.path.getsize(path("many", ".html")) < 10 << 20, True, "100,000 stacks in less than 10 MiB")


check("go tool pprof reads the functions", pprof_top, "go")
check("go tool pprof reads events and labels", pprof_samples_and_labels, "go")
check("go tool pprof chooses by what threads wait for", pprof_waits, "go")
check("go tool pprof reads hostile names", pprof_hostile, "go")
check("protoc decodes it", pprof_decodes, "protoc")
check("speedscope files are what its schema wants", speedscope)
check("the Firefox Profiler loads its files, with the same stacks", gecko)
check("static graphs are well-formed and refer to nothing", svg)
check("pages hold no name as markup", html)
print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
sys.exit(1 if count["FAIL"] else 0)
