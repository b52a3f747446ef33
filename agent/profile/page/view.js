/* What is shown of the model: a tree whose nodes are made when they are looked at. A view node stands for one or many
 * nodes of the model (of several processes merged; of all places that a function was called from), so neither merging
 * nor inverting costs more than what is drawn.
 */
class ViewNode {
  constructor(parent, frame, label, depth) {
    this.parent = parent;
    this.frame = frame; /* -1: everything */
    this.label = label;
    this.depth = depth;
    this.total = 0;
    this.self = 0;
    this.count = 0;
    this.x = 0;         /* where it begins, in units of the value */
    this.at = [];       /* nodes of the model */
    this.origin = null; /* inverted: for each of `at`, the node whose self value is counted */
    this.kids = null;
  }
}

class View {
  /* options: event (row), merge ('pid', 'name' or 'all'), only (label of a process or ''), inverted */
  constructor(model, options) {
    this.model = model;
    this.options = options;
    this.event = model.events[options.event];
    this.labels = model.processes().map((i) => this.processLabel(i));
    this.processNodes = model.processes().filter((i, k) => !options.only || this.labels[k] === options.only);
    this.root = new ViewNode(null, -1, 'all', 0);
    if (options.inverted) this.startInverted();
    else this.root.at = [0];
    this.root.total = this.processNodes.reduce((sum, i) => sum + (this.event ? this.event.total[i] : 0), 0);
    this.root.count = this.processNodes.reduce((sum, i) => sum + (this.event ? this.event.totalCount[i] : 0), 0);
  }

  processLabel(node) {
    return frameLabel(this.model.frames[this.model.frame[node]], this.options.merge === 'pid');
  }

  labelOf(node) {
    const f = this.model.frames[this.model.frame[node]];
    return f.kind === PROCESS ? this.processLabel(node) : f.name;
  }

  /* What nodes must have in common to be one node of the view. */
  keyOf(node) {
    const frame = this.model.frame[node];
    return this.model.frames[frame].kind === PROCESS ? this.processLabel(node) : this.model.twin[frame];
  }

  startInverted() {
    const at = [], self = this.event ? this.event.self : null;
    for (const p of this.processNodes)
      for (let i = p; i < this.model.end[p]; i++) if (self && self[i] > 0) at.push(i);
    this.root.at = this.root.origin = at;
  }

  children(v) {
    if (!v.kids) v.kids = this.place(v, this.options.inverted ? this.callers(v) : this.callees(v));
    return v.kids;
  }

  group(v, groups, node) {
    const key = this.keyOf(node);
    let kid = groups.get(key);
    if (!kid) groups.set(key, kid = new ViewNode(v, this.model.frame[node], this.labelOf(node), v.depth + 1));
    kid.at.push(node);
    return kid;
  }

  addCallee(v, groups, node) {
    const kid = this.group(v, groups, node);
    kid.total += this.event.total[node];
    kid.count += this.event.totalCount[node];
    kid.self += this.event.self[node];
  }

  callees(v) {
    const { end } = this.model, groups = new Map();
    let from = v.at;
    if (v === this.root) {
      if (this.options.merge !== 'all') {
        for (const p of this.processNodes) this.addCallee(v, groups, p);
        return [...groups.values()];
      }
      from = this.processNodes; /* whose children are then the first level */
    }
    for (const node of from)
      for (let c = node + 1; c < end[node]; c = end[c]) this.addCallee(v, groups, c);
    return [...groups.values()];
  }

  callers(v) {
    const { parent, depth } = this.model, groups = new Map(), least = this.options.merge === 'all' ? 2 : 1;
    for (let i = 0; i < v.at.length; i++) {
      const node = v === this.root ? v.at[i] : parent[v.at[i]];
      if (depth[node] < least) continue; /* nobody called it */
      const kid = this.group(v, groups, node), origin = v.origin[i];
      if (!kid.origin) kid.origin = [];
      kid.origin.push(origin);
      kid.total += this.event.self[origin];
      kid.count += this.event.count[origin];
    }
    return [...groups.values()];
  }

  /* Frames come in the order of their names; processes and callers the heaviest first. */
  place(v, kids) {
    const heavyFirst = this.options.inverted || v === this.root;
    kids = kids.filter((k) => k.total > 0);
    kids.sort((a, b) => (heavyFirst && b.total - a.total) || a.frame - b.frame);
    let x = v.x;
    for (const k of kids) {
      k.x = x;
      x += k.total;
    }
    return kids;
  }

  /* The node along these labels, or as far as there is one. */
  find(labels) {
    let v = this.root;
    for (const label of labels) {
      const kid = this.children(v).find((k) => k.label === label);
      if (!kid) break;
      v = kid;
    }
    return v;
  }

  /* The value of all stacks of `v` in which a node is marked (or below a marked one). */
  sumMarked(v, marked) {
    if (!this.event) return 0;
    const { end } = this.model, self = this.event.self;
    let sum = 0;
    if (this.options.inverted) {
      for (const o of v.origin) if (marked[o]) sum += self[o];
      return sum;
    }
    for (const node of v === this.root ? this.processNodes : v.at)
      for (let i = node; i < end[node]; i++) if (marked[i]) sum += self[i];
    return sum;
  }

  /* Self and total of each function in the processes shown; one that recurs counts once a stack. */
  hottest() {
    const { parent, depth, frames, twin } = this.model, rows = new Map();
    const frame = this.model.frame.map((f) => (f < 0 ? f : twin[f]));
    if (!this.event) return [];
    const open = new Int32Array(frames.length);
    for (const p of this.processNodes) {
      let previous = p;
      for (let i = p + 1; i < this.model.end[p]; i++) {
        for (let up = previous; depth[up] >= depth[i]; up = parent[up]) open[frame[up]]--;
        const f = frame[i];
        let row = rows.get(f);
        if (!row) rows.set(f, row = { frame: f, self: 0, total: 0 });
        row.self += this.event.self[i];
        if (!open[f]++) row.total += this.event.total[i];
        previous = i;
      }
      for (let up = previous; up !== p; up = parent[up]) open[frame[up]]--;
    }
    return [...rows.values()].filter((r) => r.total > 0);
  }
}

/* A search: which frames match, which nodes have a match at or above them. Plain text when it is no regular expression;
 * letters match both cases unless there is a capital. */
class Search {
  constructor(model, text) {
    this.text = text;
    this.valid = true;
    this.frames = new Uint8Array(model.frames.length);
    this.marked = new Uint8Array(model.n);
    const test = this.compile(text);
    model.frames.forEach((f, i) => {
      this.frames[i] = test(f.name) || (f.module && test(f.module)) || (f.pid && test(frameLabel(f, true))) ? 1 : 0;
    });
    for (let i = 1; i < model.n; i++) this.marked[i] = this.frames[model.frame[i]] | this.marked[model.parent[i]];
  }

  compile(text) {
    const flags = /[A-Z]/.test(text.replace(/\\./g, '')) ? '' : 'i';
    try {
      const regex = new RegExp(text, flags);
      return (s) => regex.test(s);
    } catch {
      this.valid = false;
      return (s) => s.includes(text);
    }
  }
}

function regexOf(text) {
  return `^${text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
}
