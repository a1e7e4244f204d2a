// kardan view in a real browser: sliders, pulling, reloading, who is let in, what is left behind.
import assert from 'node:assert/strict';
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {request} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';
import {FLAGS} from '../browser.mjs';

const here = fileURLToPath(new URL('.', import.meta.url)), root = join(here, '../..');
const program = process.env.KARDAN ?? join(root, 'build/kardan');
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const RELOADS = 200;
let browser, folder;
const children = [];
const without = spawnSync(program, ['view', join(here, 'live.yaml'), '--no-browser'], {timeout: 2000}).stderr.toString().includes('without libwebsockets');

before(async () => {
  assert.ok(existsSync(program), `${program} is missing: make all`);
  assert.ok(existsSync(browserPath), `${browserPath} is missing: package chromium`);
  folder = mkdtempSync(join(tmpdir(), 'kardan-live-'));
  browser = await chromium.launch({executablePath: browserPath,
    args: [...FLAGS, '--js-flags=--expose-gc']});
});
after(async () => {
  await browser?.close();
  children.forEach(child => child.kill());
  if (folder) rmSync(folder, {recursive: true});
});

// the program on a copy of the model, or on another one, and its address
async function view(...more) {
  const out = mkdtempSync(join(folder, 'view-')), model = more[0]?.endsWith('.yaml') ? more.shift() : join(out, 'live.yaml');
  if (!existsSync(model)) copyFileSync(join(here, 'live.yaml'), model);
  const child = spawn(program, ['view', model, '--no-browser', '--output', out, ...more]);
  children.push(child);
  const ended = new Promise(done => child.on('exit', done));
  let text = '', errors = '';
  child.stderr.on('data', data => { errors += data; });
  const address = await new Promise((done, fail) => {
    child.stdout.on('data', data => { text += data; if (text.includes('\n')) done(text.trim()); });
    child.on('exit', code => fail(new Error(`kardan view ended with ${code}: ${errors}`)));
  });
  return {child, model, out, address, ended};
}

async function open(address, size = {width: 1000, height: 900}) {
  const page = await browser.newPage({viewport: size}), errors = [];
  page.setDefaultTimeout(180000);
  page.on('console', m => { if (m.type() === 'error') errors.push(m.text()); });
  page.on('pageerror', e => errors.push(e.message));
  await page.goto(address);
  await page.waitForSelector('[data-ready=yes]', {timeout: 180000});
  return {page, errors};
}

const bodies = page => page.evaluate(() => window.kardan.stage.film.poses.map(p => p.r.toArray()));
const time = page => page.evaluate(() => window.kardan.clock.end);
const until = (page, what, arg) => page.waitForFunction(what, arg, {timeout: 120000});

// an upgrade to a WebSocket as another program would ask for it; answers the status
const upgrade = (port, path, headers) => new Promise((done, fail) => {
  const asked = request({port, host: '127.0.0.1', path, headers: {Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Protocol': 'kardan', ...headers}});
  asked.on('upgrade', (answer, socket) => { socket.destroy(); done(answer.statusCode); });
  asked.on('response', answer => { answer.resume(); done(answer.statusCode); });
  asked.on('error', () => done('refused'));
  asked.setTimeout(5000, () => { asked.destroy(); fail(new Error('no answer')); });
  asked.end();
});
const status = (port, path, headers = {}) => new Promise((done, fail) => {
  const asked = request({port, host: '127.0.0.1', path, headers}, answer => { answer.resume(); done(answer.statusCode); });
  asked.on('error', fail);
  asked.end();
});

test('flexible bodies bend live, with the colours of their stress on a scale that grows with it', {skip: without}, async () => {
  const {child, address, ended} = await view(join(root, 'models/rotating-bending.yaml')), {page, errors} = await open(address);
  await page.getByLabel('colours by stress').check();
  // the weight comes within 0.1 s of the model
  await page.waitForFunction(() => window.kardan.stage.film.amplitudes.some(q => Math.abs(q) > 1e-9) && window.kardan.stage.largestStress > 1e7, null, {timeout: 120000});
  const seen = await page.evaluate(() => {
    const {stage} = window.kardan, {nodes} = stage.sheets.all[0];
    return {largest: stage.largestStress, now: nodes.load(stage.film.amplitudes), values: [...document.querySelectorAll('.stresses .values span')].map(s => Number(s.textContent)),
            title: document.querySelector('.stresses').textContent};
  });
  assert.ok(seen.now > 0 && seen.now <= 1.3 * 2.1e8 && seen.largest <= 1.3 * 2.1e8, JSON.stringify(seen));
  await page.waitForFunction(() => { // values are told with the next picture
    const values = [...document.querySelectorAll('.stresses .values span')].map(s => Number(s.textContent));
    return Math.abs(values[4] * 1e6 / window.kardan.stage.largestStress - 1) < 0.05;
  }, null, {timeout: 60000});
  assert.ok(seen.title.includes('von Mises stress'));
  assert.deepEqual(errors, []);
  await page.close();
  child.kill('SIGINT');
  await ended;
});

test('it runs, pauses, steps and resets; the certificate runs along', {skip: without}, async () => {
  const {child, address} = await view(), {page, errors} = await open(address);
  assert.equal(await page.locator('h1').textContent(), 'Cart and <b>pendulum</b>');
  const first = await time(page);
  await until(page, t => window.kardan.clock.end > t + 0.3, first);
  await page.getByLabel('run or pause (space)').click();
  await page.waitForTimeout(300);
  const paused = await time(page);
  await page.waitForTimeout(300);
  assert.equal(await time(page), paused);
  await page.getByLabel('one picture on (right)').click();
  await until(page, t => window.kardan.clock.end > t, paused);
  assert.ok(Math.abs(await time(page) - paused - 1 / 60) < 1e-9);
  await page.getByLabel('back to the start').click();
  await until(page, () => window.kardan.clock.end === 0);
  assert.match(await page.locator('.certificate summary').textContent(), /certificate, .* s: clean/);
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('an input slider pushes the cart, a parameter slider changes the mechanism and its motion', {skip: without}, async () => {
  const {child, address} = await view(), {page, errors} = await open(address);
  const rest = await bodies(page);
  await page.waitForTimeout(300);
  assert.ok(Math.abs((await bodies(page))[0][0] - rest[0][0]) < 1e-9, 'nothing moves the cart');
  await page.getByLabel('value of input push').fill('20');
  await page.getByLabel('value of input push').press('Enter');
  await until(page, () => window.kardan.stage.film.poses[0].r.x > 0.2);
  // the pendulum becomes longer where it is
  const before = await page.evaluate(() => window.kardan.stage.film.poses[1].r.distanceTo(window.kardan.stage.film.poses[0].r));
  await page.getByLabel('parameter l', {exact: true}).fill('1.1');
  await until(page, () => Math.abs(window.kardan.stage.film.poses[1].r.distanceTo(window.kardan.stage.film.poses[0].r) - 1.1) < 1e-6);
  assert.ok(Math.abs(before - 0.6) < 1e-6);
  assert.equal(await page.locator('.fault').textContent(), '');
  // one that the model cannot have is refused with its reason, and the old one stays
  await page.getByLabel('value of parameter m', {exact: true}).fill('-1');
  await page.getByLabel('value of parameter m', {exact: true}).press('Enter');
  await until(page, () => document.querySelector('.fault').textContent.includes('mass'));
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('by the real-time stepper: the centre of mass goes as the push says, parameters change, a pull lifts; there is no certificate', {skip: without}, async () => {
  const {child, address} = await view('--realtime', '--paused', '--set', 'c=0'), {page, errors} = await open(address);
  await until(page, () => document.querySelector('.certificate summary')?.textContent.includes('none: steps of 0.001 s'));
  await page.getByLabel('value of input push').fill('20');
  await page.getByLabel('value of input push').press('Enter');
  for (let k = 0; k < 45; k++) await page.getByLabel('one picture on (right)').click();
  await until(page, () => window.kardan.clock.end > 44 / 60);
  const {t, x} = await page.evaluate(() => ({t: window.kardan.clock.end, x: window.kardan.stage.film.poses.map(p => p.r.x)}));
  assert.ok(Math.abs(t / 1e-3 - Math.round(t / 1e-3)) < 1e-6, `${t} is not a number of steps`);
  // 3 kg and 1 kg under 20 N without friction
  const centre = (3 * x[0] + x[1]) / 4, wanted = 0.5 * 20 / 4 * t * t;
  assert.ok(Math.abs(centre - wanted) < 0.01 * wanted, `${centre} is not ${wanted}`);
  await page.getByLabel('parameter l', {exact: true}).fill('1.1');
  await until(page, () => Math.abs(window.kardan.stage.film.poses[1].r.distanceTo(window.kardan.stage.film.poses[0].r) - 1.1) < 1e-5);
  // the bob is pulled up
  const low = await page.evaluate(() => window.kardan.stage.film.poses[1].r.z);
  await page.evaluate(() => { const bob = window.kardan.stage.film.poses[1].r.clone(); window.kardanLive.pull(1, bob); window.kardanLive.movePull(bob.clone().setZ(bob.z + 3)); });
  await page.getByLabel('run or pause (space)').click();
  await until(page, z => window.kardan.stage.film.poses[1].r.z > z + 0.1, low);
  await page.evaluate(() => window.kardanLive.release());
  assert.equal(await page.locator('.fault').textContent(), '');
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('a mechanism that drives away stays in sight', {skip: without}, async () => {
  const {child, address} = await view(join(root, 'models/quarter-car.yaml')), {page, errors} = await open(address);
  await page.getByLabel('speed', {exact: true}).selectOption('5 \u00d7');
  await until(page, () => window.kardan.stage.film.middle().sub(window.kardan.stage.film.home).length() > 3 * window.kardan.run.scene.radius);
  await page.waitForTimeout(300);
  const far = await page.evaluate(() => { // from the middle of the picture, in halves of it
    const {stage} = window.kardan;
    stage.draw(true);
    const p = stage.film.middle().project(stage.camera);
    return Math.max(Math.abs(p.x), Math.abs(p.y));
  });
  assert.ok(far < 0.8, `${far}`);
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('a pull moves the body, by a spring that is there only while it is held', {skip: without}, async () => {
  const {child, address} = await view(), {page, errors} = await open(address);
  await page.evaluate(() => window.kardan.stage.preset('front'));
  const place = await page.evaluate(() => { window.kardan.stage.draw(true); return window.kardan.stage.project(window.kardan.stage.film.poses[1].r); });
  const before = await bodies(page), size = await page.evaluate(() => window.kardan.run.scene.size);
  await page.keyboard.down('Alt');
  await page.mouse.move(place.x, place.y);
  await page.mouse.down();
  await page.mouse.move(place.x + 120, place.y - 40, {steps: 8});
  await until(page, ([r, d]) => Math.hypot(...window.kardan.stage.film.poses[1].r.toArray().map((x, i) => x - r[i])) > d, [before[1], 0.1 * size]);
  assert.match(await page.locator('.certificate summary').textContent(), /certificate/);
  await page.mouse.up();
  await page.keyboard.up('Alt');
  // it swings on, and the certificate of what follows is clean again
  const released = await time(page);
  await until(page, t => window.kardan.clock.end > t + 1, released);
  await until(page, () => / clean$/.test(document.querySelector('.certificate summary').textContent));
  assert.equal(await page.locator('.fault').textContent(), '');
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('the state that is saved starts a simulation', {skip: without}, async () => {
  const {child, address, out, model} = await view(), {page, errors} = await open(address);
  await page.getByLabel('value of input push').fill('20');
  await page.getByLabel('value of input push').press('Enter');
  // a second of pushing, whenever the word of it arrives
  const pushed = await page.evaluate(() => window.kardan.clock.end);
  await page.waitForFunction(from => window.kardan.clock.end > from + 1, pushed);
  await page.getByLabel('write the state to a file').click();
  await until(page, () => [...document.querySelectorAll('p.muted')].some(p => p.textContent.includes('--start-state')));
  const file = join(out, 'live.state.csv');
  assert.ok(existsSync(file));
  const told = JSON.parse(execFileSync(program, ['simulate', model, '--start-state', file, '--t-end', '60', '--json', '--output', out],
    {stdio: ['ignore', 'pipe', 'ignore']}).toString());
  assert.equal(told.t, 60);
  assert.ok(told.certificate.dissipated > 1, 'it started with the energy that the push gave');
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('a wrong edit shows its message at its line, a right one runs', {skip: without}, async () => {
  const {child, address, model} = await view(), {page, errors} = await open(address), text = readFileSync(model, 'utf8');
  writeFileSync(model, text.replace('bodies: [cart, bob]', 'bodies: [cart, bbo]'));
  await until(page, () => /live\.yaml:\d+:\d+: .*bbo/.test(document.querySelector('.fault').textContent));
  const line = text.split('\n').findIndex(l => l.includes('hinge:')) + 1;
  assert.ok((await page.locator('.fault').textContent()).includes(`live.yaml:${line}:`));
  const t = await time(page);
  await until(page, at => window.kardan.clock.end > at, t); // the old one goes on
  writeFileSync(model, text.replace('title: Cart', 'title: Wagon').replace(/bob/g, 'ball'));
  await until(page, () => document.querySelector('h1').textContent.startsWith('Wagon'));
  await until(page, () => document.querySelector('.fault').textContent === '' && document.querySelector('ul.bodies').textContent.includes('ball'));
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('files of subsystems are watched, too: the message is at their line, and a right edit runs', {skip: without}, async () => {
  const part = 'kardan: 1\nparameters: {l: 0.6}\nbodies:\n  bob: {position: [0, 0, -l], mass: 1, inertia: [0.01, 0.01, 0.01], shape: {sphere: 0.09}}\n' +
    'joints:\n  hinge: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 1, 0], q: 0.4}\n';
  const place = mkdtempSync(join(folder, 'parts-')), file = join(place, 'part.yaml');
  writeFileSync(file, part);
  writeFileSync(join(place, 'whole.yaml'), 'kardan: 1\ntitle: Whole\nsubsystems:\n  arm: {file: part.yaml}\n');
  const {child, address} = await view(join(place, 'whole.yaml')), {page, errors} = await open(address);
  const length = () => page.evaluate(() => window.kardan.stage.film.poses[0].r.length());
  assert.ok(Math.abs(await length() - 0.6) < 1e-6);
  writeFileSync(file, part.replace('[ground, bob]', '[ground, bbo]'));
  await until(page, () => /part\.yaml:6:\d+: .*bbo/.test(document.querySelector('.fault').textContent));
  writeFileSync(file, part.replace('l: 0.6', 'l: 0.9'));
  await until(page, () => document.querySelector('.fault').textContent === '' && Math.abs(window.kardan.stage.film.poses[0].r.length() - 0.9) < 1e-6);
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});

test('without the token, from another origin or by another name nobody is let in; there are no other files', {skip: without}, async () => {
  const {child, address} = await view('--stay', '100'), url = new URL(address), port = Number(url.port), token = url.pathname.split('/')[1];
  const ours = {Host: `127.0.0.1:${port}`, Origin: `http://127.0.0.1:${port}`};
  assert.equal(url.hostname, '127.0.0.1');
  assert.match(token, /^[0-9a-f]{32}$/);
  assert.equal(await upgrade(port, `/${token}/live`, ours), 101);
  assert.notEqual(await upgrade(port, `/${token}/live`, {...ours, Origin: 'http://example.org'}), 101);
  assert.notEqual(await upgrade(port, `/${token}/live`, {...ours, Origin: `http://127.0.0.1:${port + 1}`}), 101);
  assert.notEqual(await upgrade(port, `/${token}/live`, {Host: ours.Host}), 101);
  assert.notEqual(await upgrade(port, `/${token}/live`, {...ours, Host: 'example.org'}), 101);
  assert.notEqual(await upgrade(port, '/live', ours), 101);
  assert.notEqual(await upgrade(port, `/${token.slice(0, -1)}0x/live`, ours), 101);
  assert.notEqual(await upgrade(port, `/${token}/live`, {...ours, 'Sec-WebSocket-Protocol': 'http'}), 101);
  assert.equal(await status(port, `/${token}/`), 200);
  for (const path of ['/', '/index.html', `/${token}`, `/${token}/x`, `/${token}/../${token}/live.yaml`, '/etc/passwd', `/${'0'.repeat(32)}/`])
    assert.equal(await status(port, path), 403, path);
  assert.equal(await status(port, `/${token}/`, {Host: 'example.org'}), 403);
  // a page of another origin in the same browser
  const page = await browser.newPage();
  await page.setContent('<p>elsewhere</p>');
  const refused = await page.evaluate(at => new Promise(done => {
    const socket = new WebSocket(at, 'kardan');
    socket.onopen = () => done(false);
    socket.onerror = () => done(true);
  }), `ws://127.0.0.1:${port}/${token}/live`);
  assert.ok(refused);
  await page.close();
  // words that are none, too long or binary end nothing but their own line
  const {page: own, errors} = await open(address);
  await own.evaluate(() => { for (const text of ['', 'pull', 'pull 0 nan 0 0 0 0 0', 'parameter 99999 1', 'input -1 3', 'speed 1e999']) window.kardanLive.send(text); });
  const t = await time(own);
  await until(own, at => window.kardan.clock.end > at, t);
  await own.evaluate(() => window.kardanLive.send('x'.repeat(100000)));
  await until(own, () => document.querySelector('[data-closed]'));
  await own.close();
  const {page: next} = await open(address);
  assert.ok(await time(next) > t);
  await next.close();
  child.kill();
  assert.deepEqual(errors.filter(e => !e.includes('WebSocket')), []);
});

test('it ends some time after the last page was closed, and by Ctrl-C', {skip: without}, async () => {
  const {address, ended} = await view('--stay', '0.5'), {page} = await open(address);
  await page.close();
  assert.equal(await ended, 0);
  const other = await view();
  other.child.kill('SIGINT');
  assert.equal(await other.ended, 0);
});

// memory [kB] and open files of a process
const memory = pid => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const files = pid => readdirSync(`/proc/${pid}/fd`).length;

test('two hundred reloads leak nothing: neither edits of the model nor pages that come and go', {skip: without, timeout: 600000}, async () => {
  const {child, address, model} = await view(), {page, errors} = await open(address, {width: 320, height: 240}), text = readFileSync(model, 'utf8');
  const heap = () => page.evaluate(() => { window.gc(); return performance.memory.usedJSHeapSize; });
  const edit = async i => {
    writeFileSync(model, text.replace('title: Cart', `title: Cart ${i}`).replace('bob:', i % 2 ? 'bob:' : 'bob: ')
      .replace(/hinge/g, i % 2 ? 'hinge' : 'pivot'));
    await until(page, k => document.querySelector('h1').textContent.startsWith(`Cart ${k} `), i);
  };
  const connect = async n => {
    for (let i = 0; i < n; i++) await page.evaluate(() => new Promise((done, fail) => {
      const socket = new WebSocket(`ws://${location.host}${location.pathname}live`, 'kardan');
      socket.onmessage = () => { socket.onclose = done; socket.close(); };
      socket.onerror = fail;
    }));
  };
  for (let i = 0; i < 20; i++) await edit(i);
  await connect(20);
  const before = {memory: memory(child.pid), files: files(child.pid), heap: await heap()};
  for (let i = 20; i < 20 + RELOADS; i++) await edit(i);
  await connect(RELOADS);
  await page.waitForTimeout(500);
  const behind = {memory: memory(child.pid), files: files(child.pid), heap: await heap()};
  assert.ok(behind.files <= before.files, JSON.stringify({before, behind}));
  assert.ok(behind.memory < before.memory + 3000, JSON.stringify({before, behind}));
  assert.ok(behind.heap < 1.3 * before.heap + 3e6, JSON.stringify({before, behind}));
  assert.equal(await page.evaluate(() => document.querySelectorAll('.stage3d canvas').length), 1);
  assert.deepEqual(errors, []);
  await page.close();
  child.kill();
});
