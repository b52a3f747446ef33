/* The profile as html.c wrote it: gzip of [u32 length of the JSON][JSON][columns of varints], in base64.
 * Columns, one number a node in preorder (node 0, everything, is not written): frame; levels up from the node before;
 * then for each event the self counts, and the self values unless they are counts times the period.
 */
const KINDS = ['native', 'kernel', 'jit', 'wait', 'process', 'mark'];
const PROCESS = 4, MARK = 5, REASONS = new Set([3, MARK]);
/* Kinds of code of a runtime: bit k of a frame's `codes`. */
const CODES = ['', 'interpreted', 'compiled (C1)', 'compiled (C2)', '', 'native method', 'stub', 'gone',
  'compiled (baseline)', 'compiled (optimised)'];
const INTERPRETED = 1 << 1;

/* What a frame has its colour by. */
function kindOf(f) {
  return f.codes === INTERPRETED ? 'interpreted' : KINDS[f.kind];
}

function codesOf(f) {
  return CODES.filter((name, i) => name && f.codes >> i & 1).join(', ');
}

function bytesOfBase64(text) {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Varints {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }
  next() {
    let b = this.bytes[this.at++], v = b & 127, scale = 128;
    while (b > 127) {
      b = this.bytes[this.at++];
      v += (b & 127) * scale; /* values go beyond 32 bits */
      scale *= 128;
    }
    return v;
  }
}

/* Flat arrays, a row a node. `end` is the first node behind a node's subtree. */
class Model {
  constructor(raw) {
    const jsonLength = new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
    const about = JSON.parse(new TextDecoder().decode(raw.subarray(4, 4 + jsonLength)));
    this.about = about;
    this.n = about.nodes;
    this.readFrames(about.strings, about.frames);
    const v = new Varints(raw, 4 + jsonLength);
    this.readShape(v);
    this.events = about.events.map((e) => this.readEvent(e, v));
  }

  /* [name, module, file, first line, last line, kind (+ 8: inlined into its caller; + 16, + 32: found through synthesised,
   * inferred unwind rows; + 64 and beyond: codes), pid] a frame. `twin` is the first
   * frame of the same function: inlined here and called there, it is one. */
  readFrames(strings, flat) {
    const n = flat.length / 7, first = new Map();
    this.frames = new Array(n);
    this.twin = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const f = flat.slice(7 * i, 7 * i + 7);
      this.frames[i] = {
        name: strings[f[0]], module: strings[f[1]], file: strings[f[2]], lo: f[3], hi: f[4], kind: f[5] & 7, inlined: (f[5] & 8) > 0,
        found: f[5] >> 4 & 3, codes: f[5] >> 6, pid: f[6],
      };
      const key = `${f[0]} ${f[1]} ${f[2]} ${f[5] & 7} ${f[6]}`;
      if (!first.has(key)) first.set(key, i);
      this.twin[i] = first.get(key);
    }
  }

  readShape(v) {
    const n = this.n;
    this.frame = new Int32Array(n);
    this.parent = new Int32Array(n);
    this.depth = new Int32Array(n);
    this.end = new Int32Array(n);
    for (let i = 1; i < n; i++) this.frame[i] = v.next();
    this.frame[0] = -1;
    for (let i = 1; i < n; i++) {
      let p = i - 1;
      for (let up = v.next(); up; up--) p = this.parent[p];
      this.parent[i] = p;
      this.depth[i] = this.depth[p] + 1;
    }
    this.closeSubtrees();
  }

  closeSubtrees() {
    for (let i = this.n - 1; i >= 0; i--) {
      if (!this.end[i]) this.end[i] = i + 1;
      const p = this.parent[i];
      if (i && this.end[p] < this.end[i]) this.end[p] = this.end[i];
    }
  }

  readColumn(v) {
    const column = new Float64Array(this.n);
    for (let i = 1; i < this.n; i++) column[i] = v.next();
    return column;
  }

  /* The same without inlined calls: what they took is their callers'. Nodes keep their order. */
  withoutInlines() {
    const kept = [], place = new Int32Array(this.n);
    for (let i = 0; i < this.n; i++) {
      const hidden = i && this.frames[this.frame[i]].inlined;
      if (!hidden) kept.push(i);
      place[i] = hidden ? place[this.parent[i]] : kept.length - 1;
    }
    return this.rebuilt(kept, place, (i) => place[this.parent[i]]);
  }

  /* The same with frames of runtimes only, and what a thread waited for, in the stacks that have any. In each process the
   * others come first: they share native callers with those. */
  withScriptsOnly() {
    const n = this.n, kept = [0], place = new Int32Array(n), script = new Uint8Array(n); /* 1: it is one; 2: it is below one */
    const up = new Int32Array(n); /* the node that is above it then */
    for (let i = 1; i < n; i++) {
      const p = this.parent[i], f = this.frames[this.frame[i]], shown = f.codes || (script[p] && REASONS.has(f.kind));
      script[i] = shown ? 1 : script[p] ? 2 : 0;
      up[i] = script[p] === 2 ? up[p] : script[i] === 1 && !script[p] ? this.processOf(i) : p;
    }
    for (const p of this.processes())
      for (const wanted of [0, 1])
        for (let i = p; i < this.end[p]; i++) if (script[i] === wanted) place[i] = kept.push(i) - 1;
    for (let i = 1; i < n; i++) if (script[i] === 2) place[i] = place[this.parent[i]];
    return this.rebuilt(kept, place, (i) => (i ? place[up[i]] : 0));
  }

  processOf(i) {
    while (this.parent[i]) i = this.parent[i];
    return i;
  }

  /* Of the nodes `kept`, in an order in which subtrees stay together. `place`: where each node is counted by now. */
  rebuilt(kept, place, parentOf) {
    const to = Object.create(Model.prototype);
    Object.assign(to, { about: this.about, frames: this.frames, twin: this.twin, n: kept.length });
    to.frame = Int32Array.from(kept, (i) => this.frame[i]);
    to.parent = Int32Array.from(kept, parentOf);
    to.depth = new Int32Array(to.n);
    for (let i = 1; i < to.n; i++) to.depth[i] = to.depth[to.parent[i]] + 1;
    to.end = new Int32Array(to.n);
    to.closeSubtrees();
    to.events = this.events.map((e) => to.gatherEvent(e, place));
    return to;
  }

  gatherEvent(event, place) {
    const gather = (column) => {
      const out = new Float64Array(this.n);
      for (let i = 0; i < place.length; i++) out[place[i]] += column[i];
      return out;
    };
    const count = gather(event.count), self = gather(event.self);
    return { about: event.about, unit: event.unit, count, self, totalCount: this.sumUp(count), total: this.sumUp(self) };
  }

  sumUp(self) {
    const total = self.slice();
    for (let i = this.n - 1; i > 0; i--) total[this.parent[i]] += total[i];
    return total;
  }

  readEvent(about, v) {
    const count = this.readColumn(v);
    const value = about.scale ? count.map((c) => c * about.scale) : this.readColumn(v);
    const totalValue = this.sumUp(value);
    /* An event whose values are all 0 is still worth a look by its samples. */
    const byCount = !(totalValue[0] > 0);
    return {
      about, count, unit: byCount ? 'count' : about.unit, self: byCount ? count : value,
      totalCount: this.sumUp(count), total: byCount ? this.sumUp(count) : totalValue,
    };
  }

  processes() {
    const out = [];
    for (let i = 1; i < this.n; i = this.end[i]) out.push(i);
    return out;
  }
}

function frameLabel(f, withPid) {
  return withPid && f.pid ? `${f.name} (${f.pid})` : f.name;
}

function baseName(path) {
  const slash = path.lastIndexOf('/');
  return slash >= 0 && slash + 1 < path.length ? path.slice(slash + 1) : path;
}

/* "demo.c:12-40": the lines that were seen in the function. */
function sourceOf(f) {
  if (!f.file) return '';
  if (!f.lo) return f.file;
  return `${f.file}:${f.lo}${f.hi > f.lo ? '–' + f.hi : ''}`;
}

function quantity(v, unit) {
  if (unit !== 'nanoseconds') return Math.round(v).toLocaleString('en');
  const [scale, name] = v >= 1e9 ? [1e9, 's'] : v >= 1e6 ? [1e6, 'ms'] : v >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  const x = v / scale;
  return `${x.toFixed(x < 10 ? 2 : x < 100 ? 1 : 0)} ${name}`;
}

function percent(part, all) {
  if (!all || !part) return '0 %';
  const p = 100 * part / all;
  return `${p >= 99.995 ? '100' : p.toFixed(p < 10 ? 2 : 1)} %`;
}
