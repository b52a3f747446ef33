/* The page: header, tool bar, keyboard, mouse. */
const MANY_PROCESSES = 20; /* more begin merged by name */
const $ = (id) => document.getElementById(id);

class Page {
  constructor(model) {
    this.model = this.whole = model;
    this.models = new Map(); /* by what they show */
    this.state = { event: 0, merge: 'pid', only: '', inverted: false, inlines: true, scripts: false, rootAtBottom: false, show: 'both', search: '' };
    this.graph = new Graph(model, $('canvas'), $('pane'), $('spacer'));
    this.table = new Table(model, $('rows'), $('more'), (f) => this.setSearch(regexOf(f.name)));
    this.past = []; /* focuses, for Backspace: paths of labels */
    this.state.show = innerWidth < 900 ? 'graph' : 'both';
    this.tools();
    this.mouse();
    document.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.graph.resize()).observe($('pane'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.graph.paint());
    this.graph.resize();
    this.refresh();
  }

  /* ---- What was recorded ---- */

  header() {
    const { about } = this.model, facts = new Map();
    for (const c of about.comments) {
      const [, key, value] = /^([\w -]+): ([^]*)$/.exec(c) || [null, c, ''];
      facts.set(key, value);
    }
    const title = facts.get('command') || about.title;
    $('title').textContent = title.slice(0, 300);
    $('title').title = title.slice(0, 2000);
    for (const shown of ['command', 'version']) facts.delete(shown); /* the latter in the footer */
    const list = [];
    for (const [key, value] of facts) list.push(value ? [key, value] : ['', key]);
    if (about.duration) list.push(['duration', quantity(about.duration, 'nanoseconds')]);
    if (about.time) list.push(['recorded', `${new Date(about.time / 1e6).toISOString().slice(0, 19).replace('T', ' ')} UTC`]);
    const causes = about.causes.map((c) => ({ ...c, count: c.counts[this.state.event], value: c.values[this.state.event] }));
    list.push(['samples', quantity(causes.reduce((sum, c) => sum + c.count, 0), 'count')]);
    $('facts').replaceChildren(...list.map(([key, value]) => {
      const div = document.createElement('div'), dt = document.createElement('dt'), dd = document.createElement('dd');
      dt.textContent = key;
      dd.textContent = value.slice(0, 200);
      div.append(dt, dd);
      return div;
    }));
    this.completeness(causes);
  }

  /* A bar and a sentence: how many stacks are whole, by their values, and why the others are not. */
  completeness(causes) {
    const sum = (some, part) => some.reduce((n, c) => n + c[part], 0);
    const part = sum(causes, 'value') > 0 ? 'value' : 'count', all = sum(causes, part);
    const classes = { c: 'complete', n: 'without user stack', x: 'cut' };
    const share = (cls) => sum(causes.filter((c) => c.class === cls), part);
    $('bar').replaceChildren(...Object.keys(classes).map((cls) => {
      const i = document.createElement('i');
      i.className = `class-${cls}`;
      i.style.width = `${all ? 100 * share(cls) / all : 0}%`;
      return i;
    }));
    const parts = [];
    for (const cls of Object.keys(classes)) {
      const some = causes.filter((c) => c.class === cls && c[part]).sort((a, b) => b[part] - a[part]);
      if (!some.length && cls !== 'c') continue;
      const span = document.createElement('span');
      span.className = `class-${cls}`;
      const why = some.filter((c) => cls === 'x' || c.slug === 'not-taken').map((c) => `${c.slug} ${percent(c[part], all)}`).join(', ');
      span.textContent = `${percent(share(cls), all)} ${classes[cls]}${why && ` (${why})`}`;
      span.title = some.map((c) => `${c.slug}: ${c.text} (${quantity(c.count, 'count')} samples)`).join('\n');
      parts.push(span);
    }
    $('completeness').replaceChildren(...(all ? parts : []));
  }

  /* ---- Tool bar ---- */

  tools() {
    this.eventButtons();
    $('merge').addEventListener('change', () => this.change({ merge: $('merge').value, only: '' }));
    $('only').addEventListener('change', () => this.change({ only: $('only').value }));
    $('invert').addEventListener('click', () => this.change({ inverted: !this.state.inverted }));
    $('flip').addEventListener('click', () => this.flip());
    $('inlines').addEventListener('click', () => this.change({ inlines: !this.state.inlines }));
    $('inlines').hidden = !this.model.frames.some((f) => f.inlined);
    $('scripts').addEventListener('click', () => this.change({ scripts: !this.state.scripts }));
    $('scripts').hidden = !this.model.frames.some((f) => f.codes);
    $('reset').addEventListener('click', () => this.reset());
    $('help-button').addEventListener('click', () => $('help').showModal());
    $('search').addEventListener('input', () => this.searchSoon());
    for (const name of ['table', 'both', 'graph'])
      $(`show-${name}`).addEventListener('click', () => this.setShow(name));
    for (const name of ['self', 'total', 'name']) $(`by-${name}`).addEventListener('click', () => this.sort(name));
    const pids = this.model.frames.some((f) => f.pid);
    if (!pids) $('merge').querySelector('[value=pid]').remove();
    if (!pids || this.model.processes().length > MANY_PROCESSES) this.state.merge = 'name';
  }

  eventButtons() {
    const { events } = this.model;
    $('events').hidden = events.length < 2;
    $('events').replaceChildren(...events.map((e, i) => {
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = e.about.name;
      b.title = e.about.help;
      b.addEventListener('click', () => this.change({ event: i }));
      return b;
    }));
  }

  /* The list of processes under the present way of merging, the heaviest first. */
  listProcesses() {
    const all = new View(this.model, { ...this.state, only: '', inverted: false, merge: this.state.merge === 'all' ? 'name' : this.state.merge });
    const kids = all.children(all.root);
    const option = (value, text) => Object.assign(document.createElement('option'), { value, textContent: text });
    $('only').replaceChildren(option('', `All processes (${kids.length})`),
      ...kids.map((k) => option(k.label, `${k.label.slice(0, 60)}  ${percent(k.total, all.root.total)}`)));
    $('only').value = this.state.only;
    $('only').hidden = this.state.merge === 'all';
  }

  change(change) {
    const path = this.path(this.graph.focus);
    const sameOrder = !('inverted' in change);
    Object.assign(this.state, change);
    this.refresh(sameOrder ? path : []);
  }

  /* Inlined calls as frames, or as parts of the functions that they were inlined into; all frames, or those of runtimes. */
  chooseModel() {
    const { inlines, scripts } = this.state, key = `${inlines} ${scripts}`;
    if (!this.models.has(key)) {
      const model = inlines ? this.whole : this.whole.withoutInlines();
      this.models.set(key, scripts ? model.withScriptsOnly() : model);
    }
    this.model = this.graph.model = this.table.model = this.models.get(key);
  }

  refresh(path = []) {
    this.chooseModel();
    this.view = new View(this.model, this.state);
    this.past = [];
    this.header();
    this.graph.setView(this.view);
    this.table.setView(this.view);
    this.listProcesses();
    $('merge').value = this.state.merge;
    const press = (id, on) => $(id).setAttribute('aria-pressed', on);
    press('invert', this.state.inverted);
    press('flip', this.state.rootAtBottom);
    press('inlines', this.state.inlines);
    press('scripts', this.state.scripts);
    [...$('events').children].forEach((b, i) => b.setAttribute('aria-pressed', i === this.state.event));
    this.setShow(this.state.show);
    const at = this.view.find(path);
    if (at !== this.view.root) this.graph.zoom(at);
    else this.graph.scrollToRoot();
    this.search();
    this.focused();
  }

  setShow(show) {
    this.state.show = show;
    document.body.dataset.show = show;
    for (const name of ['table', 'both', 'graph']) $(`show-${name}`).setAttribute('aria-pressed', name === show);
    if (show !== 'graph') this.table.show();
  }

  sort(column) {
    this.table.sortBy(column);
    for (const name of ['self', 'total', 'name'])
      $(`by-${name}`).parentElement.setAttribute('aria-sort',
        name !== column ? 'none' : this.table.ascending ? 'ascending' : 'descending');
  }

  flip() {
    this.state.rootAtBottom = this.graph.rootAtBottom = !this.state.rootAtBottom;
    $('flip').setAttribute('aria-pressed', this.state.rootAtBottom);
    this.graph.layout();
    this.graph.scrollToRoot();
  }

  /* ---- Zoom ---- */

  path(v) {
    const labels = [];
    for (; v && v.parent; v = v.parent) labels.unshift(v.label);
    return labels;
  }

  zoom(v, remember = true) {
    if (!v || v === this.graph.focus) return;
    if (remember) this.past.push(this.graph.focus);
    this.hover(null);
    this.graph.zoom(v);
    this.share();
    this.focused();
  }

  reset() {
    this.past = [];
    this.zoom(this.view.root, false);
    this.graph.scrollToRoot();
  }

  /* The breadcrumb, and what stands beside it. */
  focused() {
    const focus = this.graph.focus, nodes = [];
    for (let v = focus; v; v = v.parent) nodes.unshift(v);
    const shown = nodes.length > 7 ? [nodes[0], nodes[1], null, ...nodes.slice(-4)] : nodes;
    $('crumbs').replaceChildren(...shown.map((v) => {
      const li = document.createElement('li');
      if (!v) {
        li.textContent = '…';
        return li;
      }
      const b = document.createElement('button');
      b.type = 'button';
      b.textContent = v.label.slice(0, 80);
      b.title = v.label.slice(0, 500);
      if (v === focus) b.setAttribute('aria-current', 'true');
      b.addEventListener('click', () => (v === this.view.root ? this.reset() : this.zoom(v)));
      li.append(b);
      return li;
    }));
    $('focus').textContent = this.view.event
      ? `${quantity(focus.total, this.view.event.unit)} · ${percent(focus.total, this.view.root.total)}` : '';
    $('reset').disabled = focus === this.view.root;
  }

  /* ---- Search ---- */

  searchSoon() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.setSearch($('search').value), 120);
  }

  setSearch(text) {
    clearTimeout(this.typing);
    $('search').value = this.state.search = text;
    this.search();
  }

  search() {
    this.found = this.state.search ? new Search(this.model, this.state.search) : null;
    this.graph.search = this.found;
    this.graph.paint();
    if (this.state.show !== 'graph') this.table.show(this.found);
    else this.table.search = this.found;
    this.share();
  }

  /* The part of what is in focus whose stacks contain a match. */
  share() {
    const { focus } = this.graph;
    this.state.share = this.found && focus.total ? this.view.sumMarked(focus, this.found.marked) / focus.total : null;
    $('share').textContent = this.found ? `${percent(this.state.share || 0, 1)} matched` : '';
    $('search').classList.toggle('plain', !!this.found && !this.found.valid);
    $('search').title = this.found && !this.found.valid ? 'Not a regular expression: searched as plain text' : '';
  }

  /* ---- Mouse and details ---- */

  mouse() {
    const { canvas } = this.graph;
    const at = (e) => this.graph.hit(e.offsetX, e.offsetY);
    canvas.addEventListener('mousemove', (e) => this.hover(at(e), e));
    canvas.addEventListener('mouseleave', () => this.hover(null));
    canvas.addEventListener('click', (e) => {
      const v = at(e);
      this.graph.selected = v;
      if (v && e.detail === 1) this.zoom(v);
    });
    canvas.addEventListener('dblclick', () => this.reset());
  }

  hover(v, event) {
    if (v !== this.graph.hovered) {
      this.graph.hovered = v;
      this.graph.paint();
      this.details($('tip'), v);
      this.graph.canvas.style.cursor = v ? 'pointer' : 'default';
    }
    $('tip').hidden = !v;
    if (!v || !event) return;
    const tip = $('tip'), { offsetWidth: w, offsetHeight: h } = tip;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - w - 10))}px`;
    tip.style.top = `${event.clientY + 20 + h > innerHeight ? Math.max(8, event.clientY - h - 12) : event.clientY + 18}px`;
  }

  describe(v) {
    const f = v.frame >= 0 ? this.model.frames[v.frame] : null, { unit } = this.view.event, rows = [];
    const all = this.view.root.total, focus = this.graph.focus;
    rows.push([this.state.inverted ? 'as caller' : 'total', quantity(v.total, unit), percent(v.total, all)]);
    if (!this.state.inverted) rows.push(['self', quantity(v.self, unit), percent(v.self, all)]);
    rows.push(['samples', quantity(v.count, 'count'), '']);
    if (focus.depth && v.depth >= focus.depth) rows.push(['of focus', '', percent(v.total, focus.total)]);
    if (v.parent && v.parent.depth) rows.push([this.state.inverted ? 'of callee' : 'of caller', '', percent(v.total, v.parent.total)]);
    const kinds = { native: 'native code', kernel: 'kernel', jit: 'JIT code', interpreted: 'interpreted code', wait: 'what the thread waited for', process: 'process', mark: 'frames are missing here' };
    const found = ['', ', found through rows synthesised from its callee\'s instructions', ', found through rows inferred from how its callee ends'];
    const kind = f ? kinds[kindOf(f)] + (f.codes && codesOf(f) ? `: ${codesOf(f)}` : '') + (f.inlined ? ', inlined into its caller' : '') + found[Math.min(f.found, 2)] : '';
    return { name: v.label, kind, module: f ? f.module : '', source: f ? sourceOf(f) : '', rows };
  }

  details(element, v) {
    if (!v) return;
    const d = this.describe(v), add = (tag, text, cls) => {
      const e = document.createElement(tag);
      e.textContent = text;
      if (cls) e.className = cls;
      return e;
    };
    const table = document.createElement('table');
    for (const r of d.rows) {
      const tr = document.createElement('tr');
      tr.append(...r.map((text, i) => add(i ? 'td' : 'th', text)));
      table.append(tr);
    }
    const where = [d.kind, d.module.slice(0, 200), d.source.slice(0, 200)].filter(Boolean);
    element.replaceChildren(add('strong', d.name.length > 300 ? `${d.name.slice(0, 300)}…` : d.name),
      ...where.map((w, i) => add('span', w, i ? 'path' : 'kind')), table);
  }

  select(v) {
    if (!v) return;
    this.graph.selected = v;
    this.graph.reveal(v);
    this.graph.paint();
    const d = this.describe(v);
    $('live').textContent = [d.name.slice(0, 200), ...d.rows.map((r) => r.filter(Boolean).join(' '))].join(', ');
  }

  /* ---- Keyboard ---- */

  key(e) {
    const typing = e.target === $('search'), find = (e.ctrlKey || e.metaKey) && e.key === 'f';
    if (find || (e.key === '/' && !typing)) {
      e.preventDefault();
      $('search').focus();
      $('search').select();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
    if (typing || e.target.tagName === 'SELECT') this.typed(e, typing);
    else this.command(e);
  }

  typed(e, search) {
    if (search && e.key === 'Enter') this.setSearch($('search').value);
    if (e.key !== 'Escape') return;
    if (search) this.setSearch('');
    e.target.blur();
  }

  command(e) {
    const inTable = e.target.closest && e.target.closest('table'), up = this.state.rootAtBottom ? 'leaf' : 'root';
    const move = (to) => this.select(this.graph.neighbour(to));
    const commands = {
      Escape: () => this.reset(),
      Backspace: () => this.zoom(this.past.pop() || this.view.root, false),
      Enter: () => !inTable && e.target.tagName !== 'BUTTON' && this.zoom(this.graph.selected),
      ArrowUp: () => move(up),
      ArrowDown: () => move(up === 'root' ? 'leaf' : 'root'),
      ArrowLeft: () => move('left'),
      ArrowRight: () => move('right'),
      i: () => this.change({ inverted: !this.state.inverted }),
      f: () => this.flip(),
      n: () => this.change({ inlines: !this.state.inlines }),
      s: () => !$('scripts').hidden && this.change({ scripts: !this.state.scripts }),
      t: () => this.setShow({ table: 'both', both: 'graph', graph: 'table' }[this.state.show]),
      '?': () => $('help').showModal(),
    };
    if (!Object.hasOwn(commands, e.key)) return;
    if (e.key.startsWith('Arrow') || e.key === 'Backspace') e.preventDefault();
    commands[e.key]();
  }
}

async function start() {
  try {
    const model = new Model(await gunzip(bytesOfBase64($('data').textContent.trim())));
    $('data').textContent = '';
    const page = new Page(model);
    document.body.dataset.ready = 'yes';
    /* For tests, and for the curious at the console. */
    window.xprof = { page, model, state: page.state, graph: page.graph, openMs: performance.now() };
  } catch (error) {
    $('failed').hidden = false;
    $('failed').textContent = `This page could not be drawn: ${error.message}`;
    window.xprof = { error };
  }
}
start();
