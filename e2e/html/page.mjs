// The page in a real browser: node page.mjs CHROMIUM DIR, DIR being what make.c wrote. A line a check, "N failed" at the end.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Chromium, sleep } from './chromium.mjs';

const [program, dir] = [process.argv[2], resolve(process.argv[3])];
const b = new Chromium(program);
let passed = 0, failed = 0;

async function check(name, test) {
  try {
    await test();
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.message}`);
  }
}

function same(is, want, what = '') {
  if (JSON.stringify(is) !== JSON.stringify(want))
    throw new Error(`${what} is ${JSON.stringify(is)}, not ${JSON.stringify(want)}`);
}

const open = (name, options) => b.open(`file://${join(dir, name)}.html`, options);
const text = (id) => b.run(`document.getElementById('${id}').textContent`);
const focus = () => b.run('xprof.graph.focus.label');
const settle = () => sleep(200);

// The middle of the widest box of this name, in the window.
async function box(label) {
  const r = await b.run(`(() => {
    const g = xprof.graph, c = g.canvas.getBoundingClientRect();
    const all = g.rows.flat().filter((x) => x.v.label === ${JSON.stringify(label)}).sort((x, y) => y.w - x.w);
    return all.length ? { x: c.x + all[0].x + all[0].w / 2, y: c.y + g.rowTop(all[0].v.depth) + 9, w: all[0].w } : null;
  })()`);
  if (!r) throw new Error(`no box ${label}`);
  return r;
}

// "process;root;...;leaf" -> count, or value (self), of everything that the page shows.
const collapsed = (column = 'count') => b.run(`(() => {
  const out = {}, { page, model } = xprof, { view } = page;
  const walk = (v, path) => {
    const self = v.at.reduce((sum, i) => sum + view.event.${column}[i], 0);
    if (v.parent && self) out[path] = self;
    for (const k of view.children(v)) {
      const name = k.label.replaceAll(';', ':') + (model.frames[k.frame].kind === 1 ? '_[k]' : '');
      walk(k, path ? path + ';' + name : name);
    }
  };
  walk(view.root, '');
  return out;
})()`);

const colourAt = ({ x, y }) => b.run(`(() => {
  const c = xprof.graph.canvas, r = c.getBoundingClientRect();
  return [...c.getContext('2d').getImageData(${x} - r.x, ${y} - r.y - 6, 1, 1).data];
})()`);

async function opening() {
  await open('demo');
  await check('opens without a complaint', async () => {
    same(await b.run('String(xprof.error)'), 'undefined', 'error');
    same(b.events.filter((e) => /exceptionThrown|entryAdded|consoleAPICalled/.test(e.method)), [], 'console');
  });
  await check('loads nothing but itself', async () => {
    const urls = b.events.filter((e) => e.method === 'Network.requestWillBeSent').map((e) => e.params.request.url);
    same(urls.filter((u) => !u.startsWith('data:') && !u.endsWith('/demo.html')), [], 'requests');
  });
  await check('header says what was recorded', async () => {
    same(await text('title'), 'xprof record -a -d 10s -o demo.html', 'title');
    same(await text('facts'), 'hostnode-3.example, Linux 6.12, 16 CPUsduration10.0 srecorded2026-01-01 00:00:00 UTCsamples1,172', 'facts');
  });
  await check('completeness with the causes of cut stacks', async () => {
    same(await text('completeness'), '96.7 % complete0.94 % without user stack2.39 % cut (no-rule 1.37 %, anonymous-end 0.60 %, depth 0.43 %)');
  });
  await check('shows the stacks of the collapsed file', async () => {
    await b.run("xprof.page.change({ merge: 'name' })");
    const want = {};
    for (const line of readFileSync(join(dir, 'demo.collapsed'), 'utf8').trim().split('\n'))
      want[line.slice(0, line.lastIndexOf(' '))] = Number(line.slice(line.lastIndexOf(' ') + 1));
    const is = await collapsed('self');
    same(Object.fromEntries(Object.entries(is).sort()), Object.fromEntries(Object.entries(want).sort()), 'stacks');
    await b.run("xprof.page.change({ merge: 'pid' })");
  });
}

async function inlining() {
  await open('inlines');
  const root = 'server (77);main;serve';
  await check('an inlined call is a frame, and one with the same function called', async () => {
    same(await collapsed(), { [root]: 35, [`${root};helper`]: 65 }, 'stacks');
    same(await b.run("[...document.querySelectorAll('#rows tr')].length"), 3, 'functions');
  });
  await check('without inlines, what they took is their callers\'', async () => {
    await b.run("document.getElementById('inlines').click()");
    same(await collapsed(), { [root]: 75, [`${root};helper`]: 25 }, 'stacks');
    await b.run("xprof.page.change({ inverted: true })");
    const kids = await b.run("xprof.page.view.children(xprof.page.view.root).map((k) => [k.label, k.count])");
    same(kids, [['serve', 75], ['helper', 25]], 'leaves');
    await b.run("xprof.page.change({ inverted: false })");
    await b.run("document.getElementById('inlines').click()");
    same(await collapsed(), { [root]: 35, [`${root};helper`]: 65 }, 'stacks again');
  });
  await check('who has no inlined calls has no such button', async () => {
    same(await b.run("document.getElementById('inlines').hidden"), false, 'hidden');
    await open('demo');
    same(await b.run("document.getElementById('inlines').hidden"), true, 'hidden');
  });
}

async function scripts() {
  await open('scripts');
  const node = 'node (78)', loop = `${node};main;loop;serve`;
  const all = {
    [`${node};main`]: 1, [`${node};main;gc`]: 2, [loop]: 4, [`${loop};builtin;render;gc`]: 8, [`${loop};builtin;[sleep]`]: 16,
    [`${node};main;render`]: 32,
  };
  const sorted = (o) => Object.fromEntries(Object.entries(o).sort());
  await check('frames of runtimes among others', async () => same(sorted(await collapsed()), sorted(all), 'stacks'));
  await check('scripts only: others are left out where a stack has any', async () => {
    await b.run("document.getElementById('scripts').click()");
    same(sorted(await collapsed()), sorted({
      [`${node};main`]: 1, [`${node};main;gc`]: 2, [`${node};serve`]: 4, [`${node};serve;render`]: 8, [`${node};serve;[sleep]`]: 16,
      [`${node};render`]: 32,
    }), 'stacks');
    same(await b.run("document.getElementById('scripts').getAttribute('aria-pressed')"), 'true', 'pressed');
    await b.run("document.getElementById('scripts').click()");
    same(sorted(await collapsed()), sorted(all), 'stacks again');
  });
  await check('who has none has no such button', async () => {
    same(await b.run("document.getElementById('scripts').hidden"), false, 'hidden');
    await open('inlines');
    same(await b.run("document.getElementById('scripts').hidden"), true, 'hidden');
    await open('demo');
  });
}

async function zooming() {
  await check('a click zooms', async () => {
    const before = await box('writev');
    await b.mouse(before.x, before.y);
    await settle();
    same(await focus(), 'writev', 'focus');
    const after = await box('writev'), width = await b.run('xprof.graph.width');
    if (Math.abs(after.w - width) > 1 || after.w <= before.w) throw new Error(`${after.w} of ${width} pixels`);
    same(await b.run("[...document.querySelectorAll('#crumbs button')].at(-1).textContent"), 'writev', 'breadcrumb');
    same(await text('focus'), `1.48 s · 12.5 %`, 'focus');
  });
  await check('the breadcrumb leads back', async () => {
    await b.run("[...document.querySelectorAll('#crumbs button')].find((x) => x.textContent === 'nginx (811)').click()");
    await settle();
    same(await focus(), 'nginx (811)', 'focus');
  });
  await check('Backspace goes back, Esc shows everything', async () => {
    await b.key('Backspace');
    await settle();
    same(await focus(), 'writev', 'after Backspace');
    await b.key('Escape');
    await settle();
    same(await focus(), 'all', 'after Esc');
  });
  await check('a double click shows everything', async () => {
    const { x, y } = await box('writev');
    await b.mouse(x, y);
    await settle();
    await b.mouse(x, y, 2);
    await settle();
    same(await focus(), 'all', 'focus');
  });
  await check('details of what is under the mouse', async () => {
    const { x, y } = await box('ngx_http_core_run_phases');
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    const tip = await text('tip');
    for (const part of ['ngx_http_core_run_phases', 'native code', '/usr/sbin/nginx', 'src/ngx_http_core_run_phases.c:', '5.58 s47.1 %', 'samples552'])
      if (!tip.includes(part)) throw new Error(`no "${part}" in "${tip}"`);
    same(await b.run("document.getElementById('tip').hidden"), false, 'hidden');
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 5, y: 5 });
    same(await b.run("document.getElementById('tip').hidden"), true, 'hidden afterwards');
  });
  await check('interpreted code has a colour and says what it is', async () => {
    const { x, y } = await box('~onRequest'), [r, g, blue] = await colourAt({ x, y });
    if (!(g > r + 10 && r > blue + 10)) throw new Error(`its colour is ${[r, g, blue]}`);
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    same((await text('tip')).includes('interpreted code: interpreted'), true, 'details');
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 5, y: 5 });
  });
}

async function searching() {
  await check('search highlights and counts', async () => {
    await b.key('/');
    await b.type('deflate|escapeHtml');
    await settle();
    same(await text('share'), '36.1 % matched', 'share');
    const [r, g, blue] = await colourAt(await box('deflate'));
    if (!(r > g + 20 && blue > g + 20)) throw new Error(`colour of a match is ${[r, g, blue]}`);
    same(await b.run("document.getElementById('rows').rows.length"), 3, 'rows of the table');
  });
  await check('the share is of what is in focus', async () => {
    await b.run("xprof.page.zoom(xprof.page.view.find(['node (1044)']))");
    await settle();
    same(await text('share'), '65.0 % matched', 'share');
    await b.run('xprof.page.reset()');
  });
  await check('an anchored expression is one', async () => {
    await b.run("xprof.page.setSearch('^deflate$')");
    same(await text('share'), '23.5 % matched', 'share');
    same(await b.run("document.getElementById('rows').rows.length"), 1, 'rows');
  });
  await check('letters match both cases, capitals do not', async () => {
    await b.run("xprof.page.setSearch('ssl_WRITE')");
    same(await text('share'), '0 % matched', 'share');
    await b.run("xprof.page.setSearch('ssl_write')");
    same(await b.run('xprof.state.share > 0.1'), true);
  });
  await check('what is no expression is plain text', async () => {
    await b.run("xprof.page.setSearch('*escapeHtml')");
    same(await text('share'), '12.5 % matched', 'share');
    same(await b.run("document.getElementById('search').className"), 'plain');
  });
  await check('Esc clears the search', async () => {
    await b.key('Escape');
    same(await b.run('xprof.state.search'), '');
    same(await b.run('document.activeElement.tagName'), 'BODY');
  });
  await check('Ctrl-F searches here', async () => {
    await b.key('f', { ctrl: true });
    same(await b.run('document.activeElement.id'), 'search');
    await b.key('Escape');
    same(await b.run('xprof.state.rootAtBottom'), false, 'flipped');
  });
}

async function keyboard() {
  await check('i inverts: functions first, callers below', async () => {
    await b.key('i');
    await settle();
    same(await b.run('xprof.page.view.children(xprof.page.view.root).slice(0, 2).map((k) => k.label)'),
      ['longest_match', 'aesni_ctr32_encrypt_blocks']);
    same(await b.run("xprof.page.view.find(['longest_match', 'deflate', 'ngx_http_gzip_body_filter']).count"), 192, 'samples');
    same(await b.run("document.getElementById('invert').getAttribute('aria-pressed')"), 'true');
    await b.run("xprof.page.setSearch('^deflate$')");
    same(await text('share'), '23.5 % matched', 'share');
    await b.run("xprof.page.setSearch('')");
    await b.run("xprof.page.change({ merge: 'all' })"); /* no process is anybody's caller then */
    same(await b.run(`(() => { const { view } = xprof.page; let v = view.root;
      for (let kids; (kids = view.children(v)).length;) v = kids[0];
      return v.label; })()`), '__libc_start_main', 'outermost');
    await b.run("xprof.page.change({ merge: 'pid' })");
    await b.key('i');
    same(await b.run('xprof.state.inverted'), false);
  });
  await check('f puts the root at the bottom', async () => {
    same(await b.run('xprof.graph.rowTop(0) < xprof.graph.rowTop(1)'), true, 'root on top');
    await b.key('f');
    same(await b.run('xprof.graph.rowTop(0) > xprof.graph.rowTop(1)'), true, 'root at the bottom');
    const { x, y } = await box('deflate');
    await b.mouse(x, y);
    await settle();
    same(await focus(), 'deflate', 'focus');
    await b.key('Escape');
    await b.key('f');
  });
  await check('arrows move, Enter zooms', async () => {
    await b.run('document.activeElement.blur(), xprof.graph.selected = null');
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowUp', 'ArrowLeft']) await b.key(key);
    same(await b.run('xprof.graph.selected.label'), 'nginx (811)', 'selected');
    same((await text('live')).startsWith('nginx (811), total 5.88 s 49.7 %'), true, 'said aloud');
    await b.key('Enter');
    await settle();
    same(await focus(), 'nginx (811)', 'focus');
    await b.key('Escape');
  });
  await check('? helps, Esc closes it', async () => {
    await b.key('?');
    same(await b.run("document.getElementById('help').open"), true, 'open');
    await b.key('Escape');
    await settle();
    same(await b.run("document.getElementById('help').open"), false, 'open');
  });
  await check('everything to press has a name', async () => {
    same(await b.run(`[...document.querySelectorAll('button, select, input, canvas')]
      .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML)`), []);
  });
}

async function choosing() {
  await check('another event', async () => {
    await b.run("[...document.querySelectorAll('#events button')][1].click()");
    same(await b.run('xprof.page.view.event.about.name'), 'page-faults');
    const [shown, sum] = await b.run('[xprof.page.view.root.count, xprof.model.events[1].count.reduce((a, c) => a + c, 0)]');
    same(shown, sum, 'samples');
    same(await text('facts').then((t) => t.endsWith(`samples${sum}`)), true, 'header');
    await b.run("[...document.querySelectorAll('#events button')][0].click()");
  });
  await check('processes apart, by name, all in one', async () => {
    const first = () => b.run('xprof.page.view.children(xprof.page.view.root).map((k) => [k.label, k.count])');
    same((await first()).filter((k) => k[0].startsWith('nginx')), [['nginx (811)', 582], ['nginx (812)', 194]]);
    await b.run("xprof.page.change({ merge: 'name' })");
    same((await first())[0], ['nginx', 776]);
    await b.run("xprof.page.change({ merge: 'all' })");
    same((await first()).find((k) => k[0] === '__libc_start_main'), ['__libc_start_main', 760]);
    await b.run("xprof.page.change({ merge: 'pid' })");
  });
  await check('one process only', async () => {
    await b.run("Object.assign(document.getElementById('only'), { value: 'node (1044)' }).dispatchEvent(new Event('change'))");
    same(await b.run('xprof.page.view.root.count'), 226, 'samples');
    same(await b.run("document.querySelector('#rows .function span').textContent"), '*escapeHtml', 'hottest');
    await b.run("xprof.page.change({ only: '' })");
  });
  await check('the table ranks functions', async () => {
    const first = () => b.run("[...document.getElementById('rows').rows[0].cells].map((c) => c.textContent)");
    same(await first(), ['16.4 %', '16.4 %', 'longest_matchlibz.so.1']);
    await b.run("document.getElementById('by-total').click()");
    same((await first()).slice(0, 2), ['0 %', '64.8 %']);
    await b.run("document.getElementById('by-self').click()");
    await b.run("document.getElementById('rows').rows[2].click()");
    same(await b.run('xprof.state.search'), '^\\*escapeHtml$', 'search');
    await b.run("xprof.page.setSearch('')");
  });
  await check('recursion counts once', async () => {
    same(await b.run(`(() => { const p = xprof.page, f = (r) => xprof.model.frames[r.frame].name;
      return p.view.hottest().filter((r) => f(r) === 'fold_binary_loc').map((r) => Math.round(r.total / 10101010)); })()`), [5]);
  });
}

async function waiting() {
  await open('waits');
  const total = () => b.run("[xprof.page.view.root.total, xprof.page.view.event.unit].join(' ')");
  const there = (label) => b.run(`xprof.graph.rows.flat().some((x) => x.v.label === ${JSON.stringify(label)})`);
  await check('time on a CPU and off it are two events', async () => {
    same(await total(), '1010101000 nanoseconds', 'on a CPU');
    same(await there('[disk]'), false, 'a wait');
    await b.run("[...document.querySelectorAll('#events button')].find((e) => e.textContent === 'offcpu').click()");
    same(await total(), '10000000000 nanoseconds', 'off it');
    same(await there('[disk]'), true, 'a wait');
    same(await text('focus'), '10.0 s · 100 %', 'focus');
  });
  await check('what threads waited for has a colour and says what it is', async () => {
    const [r, g, blue] = await colourAt(await box('[socket]'));
    if (!(blue > g + 10 && g > r + 20)) throw new Error(`colour of a wait is ${[r, g, blue]}`);
    const { x, y } = await box('[disk]');
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    const tip = await text('tip');
    for (const part of ['[disk]', 'what the thread waited for', 'self2.50 s25.0 %', 'samples900'])
      if (!tip.includes(part)) throw new Error(`no "${part}" in "${tip}"`);
    same(await b.run("document.querySelector('#rows .dot').className"), 'dot wait', 'dot in the table');
  });
  await check('a wait that goes on has time but no end', async () => {
    const { x, y } = await box('[sleep]');
    await b.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    same((await text('tip')).includes('self2.00 s20.0 %'), true, 'time');
  });
  await check('stacks that were not taken are weighed by time', async () => {
    same(await text('completeness'), '97.5 % complete2.50 % without user stack (not-taken 2.50 %)');
    same(await there('[stack not taken]'), true, 'mark');
  });
  await check('causes first', async () => {
    await b.run('xprof.page.change({ inverted: true })');
    same(await b.run('xprof.page.view.children(xprof.page.view.root).map((k) => k.label)'),
      ['[socket]', '[disk]', '[sleep]', '[lock]', '[run queue]']);
  });
}

async function looks() {
  await check('dark and light', async () => {
    const ground = () => b.run('getComputedStyle(document.body).backgroundColor');
    await open('demo', { dark: true });
    same(await ground(), 'rgb(20, 23, 29)', 'dark');
    await b.screenshot(join(dir, 'dark.png'));
    await open('demo');
    same(await ground(), 'rgb(246, 247, 249)', 'light');
    await b.screenshot(join(dir, 'light.png'));
  });
  await check('a small window', async () => {
    await open('demo', { width: 420, height: 700 });
    same(await b.run('document.documentElement.scrollWidth <= innerWidth'), true, 'fits');
    same(await b.run('xprof.graph.rows.length > 10'), true, 'rows');
  });
}

async function hostile() {
  await open('hostile');
  await check('names are only names', async () => {
    same(await b.run('[typeof window.broken, String(xprof.error), document.scripts.length]'), ['undefined', 'undefined', 2]);
    same(await b.run('xprof.graph.rows.length'), 13, 'rows');
    same(await text('title'), '</title><script>window.broken=1</script> "x" & \'y\' @DATA@', 'title');
    same(await b.run("xprof.page.view.find(['<b>evil</b>;\" (1)', '</script><script>window.broken=1</script>']).depth"), 2);
  });
  await check('and can be searched for', async () => {
    await b.run("document.getElementById('rows').rows[1].click()");
    same(await b.run('[xprof.state.search, xprof.page.found.valid]'), ['^a\\|b\\.\\*\\(\\[$', true]);
    same(await text('share'), '31.8 % matched', 'share');
  });
}

async function many() {
  await open('many');
  await check('many processes begin merged by name', async () => {
    same(await b.run('[xprof.state.merge, xprof.model.processes().length, xprof.page.view.children(xprof.page.view.root).length]'), ['name', 24, 12]);
  });
  await check('what is too narrow to draw still takes its place', async () => {
    await b.run('xprof.page.change({ inverted: true })'); // 20,000 functions side by side
    const at = await b.run(`(() => {
      const g = xprof.graph, c = g.canvas.getBoundingClientRect();
      const all = g.narrow.flatMap((boxes, row) => boxes.map((x) => ({ ...x, row }))).sort((p, q) => q.w - p.w);
      return all.length ? { x: c.x + all[0].x + all[0].w / 2, y: c.y + g.rowTop(all[0].row) + 10, w: all[0].w } : null; })()`);
    if (!at || at.w < 500) throw new Error(`widest: ${at && at.w}`);
    same((await colourAt(at)).slice(0, 3), [0xec, 0xee, 0xf3], 'colour');
    await b.run('xprof.page.change({ inverted: false })');
  });
  await check('opens 100,000 stacks', async () => {
    const times = [];
    for (let i = 0; i < 3; i++) {
      await open('many');
      times.push(Math.round(await b.run('xprof.openMs')));
    }
    const leaves = await b.run('xprof.model.events[0].count.filter((c) => c).length');
    console.log(`      opened in ${times.join(', ')} ms: ${await b.run('xprof.model.n')} nodes, ${leaves} stacks`);
    same(leaves, 100000, 'stacks');
    if (Math.min(...times) >= 20000) throw new Error(`${times} ms`); // bench/page.sh holds it to 2 s: a busy machine is no failure
  });
  await check('and can be searched and inverted', async () => {
    const took = (what) => b.run(`(() => { const t = performance.now(); ${what}; return Math.round(performance.now() - t); })()`);
    const times = [await took("xprof.page.setSearch('method_12')"), await took("xprof.page.change({ inverted: true })")];
    console.log(`      search ${times[0]} ms, invert ${times[1]} ms`);
    if (Math.max(...times) >= 10000) throw new Error(`${times} ms`);
  });
}

try {
  for (const part of [opening, inlining, scripts, zooming, searching, keyboard, choosing, waiting, looks, hostile, many]) await part();
} catch (error) {
  failed++;
  console.log(`FAIL  ${error.stack}`);
}
await b.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
