/* The canvas: lays out what is wide enough to see, paints the rows that are in the window, finds what is under the
 * mouse. It shows the part [lo, hi] of the root's value; zooming moves that window, so ancestors of the focus become as
 * wide as the canvas by themselves.
 */
const ROW = 20, GAP = 1, NARROWEST = 0.5, LETTER = 6.9;
const FONT = '11.5px ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

/* Hue says where code runs, or that it waits; shade (by name) tells neighbours apart. [hue, hue spread, saturation, lightness] */
const PALETTES = {
  light: { native: [43, 16, 88, 68], kernel: [13, 14, 82, 72], jit: [152, 22, 46, 69], interpreted: [88, 18, 44, 72], wait: [199, 8, 68, 74], process: [217, 0, 20, 82],
    mark: [225, 0, 8, 68], match: [277, 8, 78, 80], all: '#e4e7ee', narrow: '#eceef3', text: '#1c212b', soft: '#1c212b', dim: 0.34, edge: '#1c212b' },
  dark: { native: [41, 16, 68, 58], kernel: [12, 14, 66, 63], jit: [154, 22, 36, 56], interpreted: [88, 18, 34, 58], wait: [199, 8, 52, 62], process: [217, 0, 14, 60],
    mark: [225, 0, 6, 50], match: [277, 8, 82, 76], all: '#4a5264', narrow: '#2a303b', text: '#11141a', soft: '#e6e9f0', dim: 0.3, edge: '#ffffff' },
};

function hashName(s) {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length && i < 64; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

class Graph {
  constructor(model, canvas, pane, spacer) {
    Object.assign(this, { model, canvas, pane, spacer });
    this.context = canvas.getContext('2d');
    this.rows = []; /* boxes of each row, from left to right */
    this.hashes = model.frames.map((f) => hashName(f.name));
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.still = matchMedia('(prefers-reduced-motion: reduce)');
    this.rootAtBottom = false;
    this.search = null;
    this.hovered = this.selected = null;
    pane.addEventListener('scroll', () => this.paint(), { passive: true });
  }

  setView(view) {
    this.view = view;
    this.hovered = this.selected = null;
    this.focus = view.root;
    this.lo = 0;
    this.hi = view.root.total;
    this.layout();
  }

  resize() {
    const scale = devicePixelRatio || 1;
    this.width = Math.max(this.pane.clientWidth, 50);
    this.height = Math.max(this.pane.clientHeight, 50);
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    if (this.view) this.layout();
  }

  /* Boxes of all view nodes that are in [lo, hi] and wide enough. */
  layout() {
    const perPixel = this.width / (this.hi - this.lo || 1);
    this.rows = [];
    this.narrow = [];
    const todo = this.view.root.total > 0 ? [this.view.root] : [];
    while (todo.length) {
      const v = todo.pop();
      const left = Math.max((v.x - this.lo) * perPixel, 0);
      const right = Math.min((v.x + v.total - this.lo) * perPixel, this.width);
      if (right - left < NARROWEST) continue;
      (this.rows[v.depth] ||= []).push({ v, x: left, w: right - left });
      const kids = this.view.children(v);
      this.mergeNarrow(v.depth + 1, kids, perPixel);
      for (let i = kids.length; i--;) todo.push(kids[i]); /* popped from left to right */
    }
    const height = this.rowCount() * ROW + 8;
    this.spacer.style.height = `${Math.max(height, this.height)}px`;
    this.paint();
  }

  /* Runs of siblings that are too narrow one by one become a box without a name, so that no time seems lost. */
  mergeNarrow(row, kids, perPixel) {
    let from = -1, to = -1;
    const end = () => {
      const x = Math.max((from - this.lo) * perPixel, 0), w = Math.min((to - this.lo) * perPixel, this.width) - x;
      if (from >= 0 && w >= NARROWEST) (this.narrow[row] ||= []).push({ x, w });
      from = -1;
    };
    for (const k of kids) {
      if (k.total * perPixel >= NARROWEST) {
        end();
        continue;
      }
      if (from < 0) from = k.x;
      to = k.x + k.total;
    }
    end();
  }

  rowCount() {
    return Math.max(this.rows.length, this.narrow.length);
  }

  /* y of a row in the canvas. */
  rowTop(row) {
    if (!this.rootAtBottom) return row * ROW + 4 - this.pane.scrollTop;
    const height = Math.max(this.rowCount() * ROW + 8, this.height);
    return height - (row + 1) * ROW - 4 - this.pane.scrollTop;
  }

  paint() {
    if (!this.view) return;
    const c = this.context, palette = this.dark.matches ? PALETTES.dark : PALETTES.light;
    c.clearRect(0, 0, this.width, this.height);
    c.font = FONT;
    c.textBaseline = 'middle';
    for (let row = 0; row < this.rowCount(); row++) {
      const y = this.rowTop(row);
      if (y + ROW <= 0 || y >= this.height) continue;
      c.fillStyle = palette.narrow;
      for (const b of this.narrow[row] || []) c.fillRect(b.x, y, b.w, ROW - GAP);
      for (const b of this.rows[row] || []) this.paintBox(c, palette, b, y);
    }
    for (const [v, width] of [[this.selected, 2], [this.hovered, 1.5]]) this.paintFrame(c, palette, v, width);
  }

  colour(palette, v, matches) {
    if (v.frame < 0) return palette.all;
    const kind = matches ? 'match' : kindOf(this.model.frames[v.frame]);
    const [hue, spread, saturation, light] = palette[kind], h = this.hashes[v.frame];
    return `hsl(${hue + h % (spread + 1) - spread / 2} ${saturation}% ${light + (h >>> 8) % 7 - 3}%)`;
  }

  isAncestor(v) {
    return v.depth < this.focus.depth && v.x <= this.focus.x && v.x + v.total >= this.focus.x + this.focus.total;
  }

  paintBox(c, palette, b, y) {
    const matches = this.search && b.v.frame >= 0 && this.search.frames[b.v.frame];
    const faint = (this.search && !matches) || this.isAncestor(b.v);
    c.globalAlpha = this.search && !matches ? palette.dim : faint ? 0.55 : 1;
    c.fillStyle = this.colour(palette, b.v, matches);
    const w = b.w > 2 ? b.w - GAP : b.w;
    c.fillRect(b.x, y, w, ROW - GAP);
    if (b.v.frame >= 0 && this.model.frames[b.v.frame].kind === MARK) this.paintStripes(c, b.x, y, w);
    if (b.v.frame >= 0 && this.model.frames[b.v.frame].found) this.paintEdge(c, b.x, y, w);
    c.globalAlpha = this.search && !matches ? 0.65 : 1;
    c.fillStyle = faint || b.v.frame < 0 ? palette.soft : palette.text; /* faint on dark ground is dark */
    this.paintText(c, b, y);
    c.globalAlpha = 1;
  }

  /* Frames that stand for missing ones look like no code. */
  paintStripes(c, x, y, w) {
    c.save();
    c.beginPath();
    c.rect(x, y, w, ROW - GAP);
    c.clip();
    c.strokeStyle = 'rgb(0 0 0 / 13%)';
    c.lineWidth = 3;
    c.beginPath();
    for (let i = x - ROW; i < x + w; i += 9) {
      c.moveTo(i, y + ROW);
      c.lineTo(i + ROW, y);
    }
    c.stroke();
    c.restore();
  }

  /* Frames that were found through synthesised unwind rows have a lighter edge. */
  paintEdge(c, x, y, w) {
    c.fillStyle = 'rgb(255 255 255 / 50%)';
    c.fillRect(x, y + ROW - GAP - 2, w, 2);
  }

  paintText(c, b, y) {
    const letters = Math.floor((b.w - 8) / LETTER);
    if (letters < 2) return;
    let text = b.v.label;
    if (text.length > letters) text = `${text.slice(0, letters - 1)}…`;
    c.fillText(text, b.x + 5, y + ROW / 2, b.w - 7);
  }

  paintFrame(c, palette, v, width) {
    const b = v && this.boxOf(v);
    if (!b) return;
    c.strokeStyle = palette.edge;
    c.lineWidth = width;
    c.strokeRect(b.x + width / 2, this.rowTop(v.depth) + width / 2, Math.max(b.w - GAP - width, 1), ROW - GAP - width);
  }

  boxOf(v) {
    return (this.rows[v.depth] || []).find((b) => b.v === v);
  }

  /* The view node at a point of the canvas, or null. */
  hit(x, y) {
    const row = this.rootAtBottom ? Math.floor((this.rowTop(0) + ROW - y) / ROW) : Math.floor((y - this.rowTop(0)) / ROW);
    const boxes = this.rows[row] || [];
    let lo = 0, hi = boxes.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (boxes[mid].x + boxes[mid].w <= x) lo = mid + 1;
      else hi = mid;
    }
    return lo < boxes.length && boxes[lo].x <= x ? boxes[lo].v : null;
  }

  /* Moves the window to `v`. */
  zoom(v) {
    this.focus = v;
    const from = [this.lo, this.hi], to = [v.x, v.x + v.total], start = performance.now();
    cancelAnimationFrame(this.moving);
    const step = () => {
      const t = this.still.matches ? 1 : Math.min((performance.now() - start) / 160, 1), ease = 1 - (1 - t) ** 3;
      this.lo = t < 1 ? from[0] + (to[0] - from[0]) * ease : to[0];
      this.hi = t < 1 ? from[1] + (to[1] - from[1]) * ease : to[1];
      this.layout();
      if (t < 1) this.moving = requestAnimationFrame(step);
      else this.reveal(v);
    };
    step();
  }

  /* Scrolls until the node's row is in the window. */
  reveal(v) {
    const y = this.rowTop(v.depth);
    if (y >= ROW && y + 2 * ROW <= this.height) return;
    this.pane.scrollTop += y - this.height / 3;
    this.paint();
  }

  scrollToRoot() {
    this.pane.scrollTop = this.rootAtBottom ? this.pane.scrollHeight : 0;
    this.paint();
  }

  /* The neighbour of the selected node: 'root' and 'leaf' along the stack, 'left' and 'right' in its row. */
  neighbour(direction) {
    const v = this.selected;
    if (!v) return this.focus;
    if (direction === 'root') return v.parent;
    if (direction === 'leaf')
      return this.view.children(v).filter((k) => this.boxOf(k)).sort((a, b) => b.total - a.total)[0];
    const boxes = this.rows[v.depth] || [], i = boxes.findIndex((b) => b.v === v);
    const next = boxes[i + (direction === 'left' ? -1 : 1)];
    return i >= 0 && next ? next.v : null;
  }
}
