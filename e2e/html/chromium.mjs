// A headless Chromium over --remote-debugging-pipe: no package needed but node itself.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Chromium {
  constructor(program) {
    this.home = mkdtempSync(join(tmpdir(), 'xprof-chromium-'));
    this.child = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync',
      '--disable-background-networking', '--disable-component-update', '--hide-scrollbars', `--user-data-dir=${this.home}`,
      '--remote-debugging-pipe', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.waiting = new Map();
    this.events = []; // whatever the browser says by itself
    this.number = 0;
    let text = '';
    this.child.stdio[4].setEncoding('utf8').on('data', (piece) => {
      text += piece;
      for (let end; (end = text.indexOf('\0')) >= 0; text = text.slice(end + 1)) this.receive(JSON.parse(text.slice(0, end)));
    });
    this.child.on('exit', () => this.waiting.forEach((w) => w.reject(new Error('the browser is gone'))));
  }

  receive(message) {
    const w = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!w) this.events.push(message);
    else if (message.error) w.reject(new Error(message.error.message));
    else w.resolve(message.result);
  }

  send(method, params = {}, sessionId = this.session) {
    const id = ++this.number;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  // A fresh tab with this page, its script run.
  async open(url, { width = 1440, height = 900, dark = false } = {}) {
    if (this.target) await this.send('Target.closeTarget', { targetId: this.target }, undefined);
    this.events.length = 0;
    this.session = undefined;
    this.target = (await this.send('Target.createTarget', { url: 'about:blank' })).targetId;
    this.session = (await this.send('Target.attachToTarget', { targetId: this.target, flatten: true })).sessionId;
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await this.send(`${domain}.enable`);
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send('Emulation.setEmulatedMedia', { features: [
      { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
    await this.send('Page.navigate', { url });
    for (let i = 0; i < 600; i++, await sleep(50)) if (await this.run('!!window.xprof')) return;
    throw new Error(`${url} was not ready in 30 s`);
  }

  // The value of an expression in the page.
  async run(expression) {
    const r = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
    return r.result.value;
  }

  async mouse(x, y, clicks = 1) {
    await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    for (let n = 1; n <= clicks; n++)
      for (const type of ['mousePressed', 'mouseReleased'])
        await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: n });
  }

  async key(key, { ctrl = false } = {}) {
    const text = key.length === 1 && !ctrl ? key : key === 'Enter' ? '\r' : undefined;
    const codes = { Escape: 27, Backspace: 8, Enter: 13, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39 };
    const event = { key, text, modifiers: ctrl ? 2 : 0, windowsVirtualKeyCode: codes[key] || key.toUpperCase().charCodeAt(0) };
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event, text: undefined });
  }

  async type(text) {
    await this.send('Input.insertText', { text });
  }

  async screenshot(path) {
    writeFileSync(path, Buffer.from((await this.send('Page.captureScreenshot', { format: 'png' })).data, 'base64'));
  }

  async close() {
    const gone = new Promise((resolve) => this.child.on('exit', resolve));
    this.session = undefined;
    await this.send('Browser.close').catch(() => {});
    await Promise.race([gone, sleep(3000)]);
    this.child.kill('SIGKILL');
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
