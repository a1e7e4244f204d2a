// Reports in a real browser: node --test viewer/test. KARDAN: the program, CHROMIUM: the browser.
//
// What is in front at a pixel is checked against a ray test of its own on the data of the page: boxes, balls, cylinders and tubes in
// closed form, without three.js.
import assert from 'node:assert/strict';
import {execFile, execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {deflateSync} from 'node:zlib';
import {promisify} from 'node:util';
import {chromium} from 'playwright-core';
import {FLAGS} from '../browser.mjs';

const here = fileURLToPath(new URL('.', import.meta.url)), root = join(here, '../..');
const program = process.env.KARDAN ?? join(root, 'build/kardan');
const browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const MOST_BYTES = 1.5e6, PATIENCE = 180000; // [ms] on a machine that has much else to do
let browser, folder;

before(async () => {
  assert.ok(existsSync(program), `${program} is missing: make all`);
  assert.ok(existsSync(browserPath), `${browserPath} is missing: package chromium`);
  folder = mkdtempSync(join(tmpdir(), 'kardan-pages-'));
  browser = await chromium.launch({executablePath: browserPath,
    args: FLAGS});
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, {recursive: true});
});

// the page of a model; further arguments of the program behind it
function report(model, ...more) {
  const out = mkdtempSync(join(folder, 'run-'));
  execFileSync(program, ['simulate', model, '--output', out, '--quiet', ...more], {stdio: ['ignore', 'ignore', 'pipe']});
  return join(out, readdirSync(out).find(name => name.endsWith('.html')));
}

// a tab, and what goes wrong in it
async function newTab(size) {
  const page = await browser.newPage({viewport: size}), errors = [];
  page.setDefaultTimeout(PATIENCE);
  page.on('console', m => { if (m.type() === 'error') errors.push(m.text()); });
  page.on('pageerror', e => errors.push(e.message));
  page.on('request', r => { if (!r.url().startsWith('file:') && !r.url().startsWith('blob:') && !r.url().startsWith('data:')) errors.push(`loads ${r.url()}`); });
  return {page, errors};
}
async function visit({page, errors}, path) {
  errors.length = 0;
  await page.goto('file://' + path);
  await page.waitForSelector('[data-ready]');
  assert.equal(await page.getAttribute('[data-kardan-viewer]', 'data-ready'), 'yes');
}
async function open(path, size = {width: 1000, height: 900}) {
  const tab = await newTab(size);
  await visit(tab, path);
  return tab;
}

// ---- an own ray test: the body in front along p + s d
const rotate = ([w, x, y, z], [a, b, c]) => { // q v q*
  const tx = 2 * (y * c - z * b), ty = 2 * (z * a - x * c), tz = 2 * (x * b - y * a);
  return [a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx];
};
const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];
const minus = (a, b) => a.map((x, i) => x - b[i]);
const into = (r, q, p, d) => [rotate(conjugate(q), minus(p, r)), rotate(conjugate(q), d)];

// first entry into a solid of the given form, sizes taken out
function entry(form, ratio, p, d) {
  if (form === 0) return quadric(p, d, 3, 1);
  if (form === 1) return slab(p, d, 0.5);
  const hits = [];
  const rims = form === 4 ? [1, Math.min(Math.max(ratio, 0.05), 0.98)] : [1];
  for (const radius of rims) for (const s of roots(p, d, 2, radius)) if (Math.abs(p[2] + s * d[2]) <= 0.5) hits.push(s);
  for (const z of [-0.5, 0.5]) {
    const s = (z - p[2]) / d[2], rho = Math.hypot(p[0] + s * d[0], p[1] + s * d[1]);
    if (rho <= 1 && (form !== 4 || rho >= rims[1])) hits.push(s);
  }
  return Math.min(...hits.filter(s => s > 0), Infinity);
}
function roots(p, d, n, radius) {
  let a = 0, b = 0, c = -radius * radius;
  for (let i = 0; i < n; i++) { a += d[i] * d[i]; b += p[i] * d[i]; c += p[i] * p[i]; }
  const D = b * b - a * c;
  return D < 0 ? [] : [(-b - Math.sqrt(D)) / a, (-b + Math.sqrt(D)) / a];
}
const quadric = (p, d, n, radius) => Math.min(...roots(p, d, n, radius).filter(s => s > 0), Infinity);
function slab(p, d, h) {
  let low = 0, high = Infinity;
  for (let i = 0; i < 3; i++) {
    const a = (-h - p[i]) / d[i], b = (h - p[i]) / d[i];
    low = Math.max(low, Math.min(a, b));
    high = Math.min(high, Math.max(a, b));
  }
  return low <= high ? low : Infinity;
}
function bodyInFront(scene, poses, eye, direction) {
  let best = {s: Infinity, body: null};
  for (const solid of scene.solids) {
    if (solid.form === 3) continue; // feet on the ground
    let [p, d] = solid.body < 0 ? [eye, direction] : into(poses[solid.body].r, poses[solid.body].q, eye, direction);
    [p, d] = into(solid.r, solid.q, p, d);
    p = p.map((x, i) => x / solid.size[i]);
    d = d.map((x, i) => x / solid.size[i]);
    const s = entry(solid.form, solid.ratio, p, d);
    if (s < best.s) best = {s, body: solid.body};
  }
  return best.body;
}

// Every body in a colour of its own, without light; then what the pixels say against the rays, away from edges
async function compareDepth(page) {
  const seen = await page.evaluate(() => {
    const {stage, run} = window.kardan;
    stage.showSprings(false); stage.showGrid(false); stage.showShadows(false);
    const own = [...run.scene.bodies.keys(), -1], colours = own.map((_, i) => [40 + 17 * i % 200, 60 + 61 * i % 190, 90 + 113 * i % 160]);
    own.forEach((b, i) => stage.bodies.tint(b, stage.light.color.clone().setRGB(...colours[i].map(x => x / 255), 'srgb'), 1));
    stage.light.intensity = stage.sky.intensity = 0;
    stage.world.children.find(o => o.isAmbientLight).intensity = Math.PI;
    stage.draw(true);
    const canvas = document.createElement('canvas'), w = stage.canvas.width, h = stage.canvas.height;
    canvas.width = w; canvas.height = h;
    const context = canvas.getContext('2d');
    context.drawImage(stage.canvas, 0, 0);
    const data = context.getImageData(0, 0, w, h).data, same = (a, b) => Math.abs(a - b) <= 3;
    const isAt = (c, x, y) => c.every((v, k) => same(v, data[4 * (y * w + x) + k]));
    const bodyAt = (x, y) => { // of many bodies some look alike: those say nothing
      const found = colours.findIndex(c => isAt(c, x, y));
      return found >= 0 && colours.findLastIndex(c => isAt(c, x, y)) === found ? found : -1;
    };
    const pixels = [], step = Math.max(Math.floor(w / 120), 3), camera = stage.camera;
    for (let y = step; y < h - step; y += step) for (let x = step; x < w - step; x += step) {
      const b = bodyAt(x, y);
      if (b < 0 || [[-2, 0], [2, 0], [0, -2], [0, 2]].some(([i, k]) => bodyAt(x + i, y + k) !== b)) continue;
      const far = camera.position.clone().set(2 * (x + 0.5) / w - 1, 1 - 2 * (y + 0.5) / h, 0.5).unproject(camera).sub(camera.position).normalize();
      pixels.push({body: b < run.scene.bodies.length ? b : -1, direction: far.toArray()});
    }
    return {pixels, eye: camera.position.toArray(), scene: run.scene,
            poses: stage.film.poses.map(p => ({r: p.r.toArray(), q: [p.q.w, p.q.x, p.q.y, p.q.z]}))};
  });
  let wrong = 0;
  const bodies = new Set();
  const feet = seen.scene.solids.some(s => s.form === 3); // rays do not know them: pixels of the ground say nothing then
  for (const pixel of seen.pixels) {
    if (feet && pixel.body < 0) continue;
    bodies.add(pixel.body);
    if (bodyInFront(seen.scene, seen.poses, seen.eye, pixel.direction) !== pixel.body) wrong++;
  }
  return {wrong, count: seen.pixels.length, bodies};
}

// pendulums in rows
const CROWD = `kardan: 1
bodies:
  bob(i): {for: i = 1..160, position: [0.5*mod(i, 16), 0.5*floor(i/16), -0.2 - 0.001*i], mass: 1, inertia: [0.01, 0.01, 0.01], shape: [{box: [0.2, 0.3, 0.1]}, {sphere: 0.12}]}
joints:
  hinge(i): {for: i = 1..160, type: revolute, bodies: [ground, bob(i)], point: [0.5*mod(i, 16), 0.5*floor(i/16), 0], axis: [0, 1, 0], q: 0.5 + 0.01*i}
`;
test('depth of many bodies, all of them one mesh', async () => {
  const path = join(folder, 'crowd.yaml');
  writeFileSync(path, CROWD);
  const {page, errors} = await open(report(path, '--t-end', '0.5'));
  assert.ok(await page.evaluate(() => { window.kardan.stage.draw(true); return window.kardan.stage.renderer.info.render.calls; }) < 10);
  for (const view of ['default', 'top']) {
    await page.evaluate(v => window.kardan.stage.preset(v), view);
    const {wrong, count, bodies} = await compareDepth(page);
    assert.ok(count > 40 && bodies.size > 5, `${count} pixels, ${bodies.size} bodies`);
    assert.ok(wrong <= 0.02 * count, `${wrong} of ${count} pixels show a body that is behind (${view})`);
  }
  assert.deepEqual(errors, []);
  await page.close();
});

for (const [name, least] of [['models/closed-loop-car.yaml', 2], ['viewer/test/washing-machine.yaml', 1], ['viewer/test/rings.yaml', 2]])
  test(`depth: what is in front at a pixel is what a ray meets first (${name})`, async () => {
    const {page, errors} = await open(report(join(root, name), '--t-end', '0.5')), seen = new Set();
    for (const t of [0, 0.25, 0.5]) {
      await page.evaluate(time => window.kardan.clock.set(time), t);
      for (const view of ['default', 'side', 'front']) {
        await page.evaluate(v => window.kardan.stage.preset(v), view);
        const {wrong, count, bodies} = await compareDepth(page);
        assert.ok(count > 40, `${count} pixels`);
        for (const body of bodies) seen.add(body);
        assert.ok(wrong <= 0.01 * count, `${wrong} of ${count} pixels show a body that is behind (${view}, t = ${t})`);
      }
    }
    assert.ok(seen.size >= least, `${seen.size} bodies`);
    assert.deepEqual(errors, []);
    await page.close();
  });

// Parts of the pixels of two pictures of the same size that differ clearly, and that are not the background of the first
const differing = (page, one, two) => page.evaluate(async pictures => {
  const [a, b] = await Promise.all(pictures.map(async text => {
    const image = new Image(), canvas = document.createElement('canvas'), context = canvas.getContext('2d');
    image.src = 'data:image/png;base64,' + text;
    await image.decode();
    Object.assign(canvas, {width: image.width, height: image.height});
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }));
  let different = 0, something = 0;
  for (let i = 0; i < a.data.length; i += 4) {
    const far = (x, y, k) => Math.max(...[0, 1, 2].map(c => Math.abs(x[i + c] - y[k + c])));
    if (far(a.data, b.data, i) > 24) different++;
    if (far(a.data, a.data, 0) > 60) something++;
  }
  const all = a.data.length / 4;
  return {same: a.width === b.width && a.height === b.height, different: different / all, something: something / all};
}, [one, two].map(buffer => buffer.toString('base64')));

// The drawing is made in C, the view by three.js: camera, light, colours and order of the one must be those of the other
for (const [name, scheme, size] of [['models/closed-loop-car.yaml', 'light', [1000, 900]], ['models/stewart.yaml', 'dark', [1000, 700]], ['viewer/test/rings.yaml', 'light', [400, 800]]])
  test(`the first picture is a drawing, and the view takes its place without being seen (${name}, ${scheme})`, async () => {
    const path = report(join(root, name), '--t-end', '0.2'), look = {colorScheme: scheme, viewport: {width: size[0], height: size[1]}};
    const dumb = await browser.newContext({javaScriptEnabled: false, ...look}), still = await dumb.newPage();
    still.setDefaultTimeout(PATIENCE);
    await still.goto('file://' + path);
    const before = await still.locator('.stage3d').screenshot();
    await dumb.close();
    const full = await browser.newContext(look), page = await full.newPage(), errors = [];
    page.setDefaultTimeout(PATIENCE);
    page.on('pageerror', e => errors.push(e.message));
    await page.goto('file://' + path);
    await page.waitForSelector('[data-ready=yes]');
    assert.equal(await page.locator('.stage3d').count(), 1);
    assert.equal(await page.locator('.still').count(), 0);
    assert.equal(await page.locator('.stage3d [role=img]').count(), 1);
    const after = await page.locator('.stage3d').screenshot();
    // pages have no right to load pictures but from themselves: a blank one compares
    const blank = await full.newPage(), told = await differing(blank, before, after);
    assert.ok(told.same && told.something > 0.02, JSON.stringify(told));
    assert.ok(told.different < 0.25 * told.something, JSON.stringify(told)); // edges of faces, thin lines
    assert.deepEqual(errors, []);
    await full.close();
  });

test('pictures that take long are coarser while something moves, fine at rest, and only where that is wanted', async () => {
  const {page, errors} = await open(report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.3'));
  const told = await page.evaluate(() => {
    const {stage, clock} = window.kardan, width = () => stage.canvas.width / stage.canvas.clientWidth;
    let now = performance.now() + 1e6;
    const play = (pictures, each) => {
      for (let k = 0; k < pictures; k++) { stage.show(clock.end * k / pictures); stage.paint(now += each); }
      return [stage.isCoarse, width()];
    };
    const rest = () => { for (let k = 0; k < 20; k++) stage.paint(now += 50); return [stage.isCoarse, width()]; };
    const out = {first: [stage.isCoarse, width()], quick: play(40, 17), slow: play(40, 200), rest: rest(), again: play(3, 20)};
    rest();
    // single steps by hand have long ways between them, and are not slow for that
    for (let k = 0; k < 20; k++) { stage.show(0.01 * k); stage.paint(now += 5); for (let i = 0; i < 9; i++) stage.paint(now += 20); }
    stage.setAdaptive(false);
    out.off = play(40, 200);
    stage.setAdaptive(true);
    out.recovered = play(400, 17);
    return out;
  });
  assert.deepEqual(told.quick, told.first);
  assert.ok(told.slow[0] && told.slow[1] < 0.6 * told.first[1], JSON.stringify(told));
  assert.deepEqual(told.rest, told.first);
  assert.ok(told.again[0]);
  assert.deepEqual(told.off, told.first);
  assert.deepEqual(told.recovered, told.first);
  await page.getByLabel('coarser where slow').uncheck();
  assert.deepEqual(errors, []);
  await page.close();
});

test('the light of plain surfaces is that of three.js', async () => {
  const {page, errors} = await open(report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.3'));
  const far = await page.evaluate(() => {
    const {stage} = window.kardan, canvas = document.createElement('canvas'), {width, height} = stage.canvas, context = canvas.getContext('2d');
    Object.assign(canvas, {width, height});
    const look = () => { stage.draw(true); context.drawImage(stage.canvas, 0, 0); return context.getImageData(0, 0, width, height).data; };
    const plain = look();
    stage.bodies.takeShadows(true); // by three.js, but without any shadow
    const other = look();
    let most = 0, wrong = 0, all = 0; // round bodies are flatter in between their corners
    for (let i = 0; i < plain.length; i++) {
      const d = Math.abs(plain[i] - other[i]);
      most = Math.max(most, d);
      if (d > 2) wrong++;
      if (Math.abs(plain[i] - plain[i % 4]) > 40) all++;
    }
    return {most, wrong, all};
  });
  assert.ok(far.all > 1000 && far.most <= 16 && far.wrong < 0.1 * far.all, JSON.stringify(far));
  assert.deepEqual(errors, []);
  await page.close();
});

test('numbers on axes are short: nothing of them is cut off', async () => {
  const {page, errors} = await open(report(join(root, 'models/stewart.yaml'), '--t-end', '0.3'));
  await page.locator('figure.plot').last().scrollIntoViewIfNeeded();
  await page.waitForFunction(() => window.kardan.panels.some(p => p.plotOf.log && p.plot));
  const told = await page.evaluate(() => window.kardan.panels.filter(p => p.plot).map(p => {
    const {plot} = p, context = document.createElement('canvas').getContext('2d'), axis = plot.axes[1];
    context.font = '12px system-ui, sans-serif';
    return {log: p.plotOf.log, words: axis._values, wide: Math.max(...axis._values.map(v => context.measureText(v).width)), room: axis.size() - 12};
  }));
  assert.ok(told.some(p => p.log && p.words.some(w => /^1e-1\d$/.test(w))), JSON.stringify(told));
  for (const p of told) assert.ok(p.wide < p.room, JSON.stringify(p));
  assert.deepEqual(errors, []);
  await page.close();
});

test('scrubbing changes the picture, the clock and the cursors of all plots', async () => {
  const {page, errors} = await open(report(join(root, 'models/slider-crank.yaml')));
  const look = () => page.evaluate(() => {
    window.kardan.stage.draw(true);
    return {picture: window.kardan.stage.canvas.toDataURL(), clock: document.querySelector('.clock').textContent,
            legend: [...document.querySelectorAll('.u-legend')].map(l => l.textContent), t: window.kardan.clock.t};
  });
  await page.waitForFunction(() => document.querySelectorAll('.u-legend').length > 1); // plots come into being when they are near
  const first = await look();
  await page.locator('.bar input[type=range]').first().fill('5000');
  const second = await look();
  assert.notEqual(first.picture, second.picture);
  assert.notEqual(first.clock, second.clock);
  assert.ok(first.legend.length > 1 && first.legend.every((text, i) => text !== second.legend[i]));
  // a click into a plot goes to that time
  await page.locator('.u-over').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.u-over').first().boundingBox();
  await page.mouse.click(box.x + 0.25 * box.width, box.y + 0.5 * box.height);
  assert.ok((await look()).t < second.t);
  // arrow keys step by frames, space plays
  await page.locator('canvas').first().focus();
  const before = (await look()).t;
  await page.keyboard.press('ArrowRight');
  assert.ok((await look()).t > before);
  await page.keyboard.press(' ');
  await page.waitForTimeout(500);
  assert.equal(await page.evaluate(() => window.kardan.clock.playing), true);
  await page.keyboard.press(' ');
  assert.deepEqual(errors, []);
  await page.close();
});

test('plots: zoom by dragging, phase plot, spectrum with its peak where the oscillation is', async () => {
  const {page, errors} = await open(report(join(root, 'models/pendulum.yaml')));
  await page.locator('.u-over').first().scrollIntoViewIfNeeded();
  const box = await page.locator('.u-over').first().boundingBox();
  const range = () => page.evaluate(() => { const s = window.kardan.panels[0].plot.scales.x; return s.max - s.min; });
  const all = await range();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 25, {steps: 5});
  await page.mouse.up();
  assert.ok(await range() < 0.5 * all);
  const list = page.locator('figure.plot select').first();
  await list.selectOption({index: 1});
  const peak = await page.evaluate(() => {
    const [f, a] = window.kardan.panels[0].plot.data;
    const column = window.kardan.run.column[window.kardan.panels[0].plotOf.channels[0]], rows = window.kardan.run.rows;
    let crossings = 0;
    const mean = column.reduce((s, x) => s + x, 0) / column.length;
    for (let i = 1; i < column.length; i++) if ((column[i] - mean) * (column[i - 1] - mean) < 0) crossings++;
    return {f: f[a.indexOf(Math.max(...a))], expected: crossings / 2 / (rows[rows.length - 1] - rows[0])};
  });
  assert.ok(Math.abs(peak.f - peak.expected) < 0.35 * peak.expected + 0.1, JSON.stringify(peak));
  await list.focus(); // the channels come when they are wanted
  await list.selectOption({index: 2});
  assert.deepEqual(errors, []);
  await page.close();
});

test('a click on a body tells its name; hiding it uncovers what is behind', async () => {
  const {page, errors} = await open(report(join(root, 'viewer/test/washing-machine.yaml')));
  await page.evaluate(() => window.kardan.stage.preset('side'));
  const at = await page.evaluate(() => {
    const {stage} = window.kardan;
    stage.draw(true);
    const box = stage.canvas.getBoundingClientRect();
    return {x: box.left + box.width / 2, y: box.top + box.height / 2};
  });
  await page.mouse.click(at.x, at.y);
  assert.match(await page.locator('.facts').textContent(), /^tub/);
  await page.getByLabel('show tub').uncheck();
  await page.mouse.click(at.x, at.y);
  assert.match(await page.locator('.facts').textContent(), /^(drum|linen)/);
  assert.deepEqual(errors, []);
  await page.close();
});

test('channels of the page are the numbers of the table, energies with all their digits', async () => {
  const path = report(join(root, 'models/slider-crank.yaml'), '--format', 'csv'), lines = readFileSync(path.replace(/html$/, 'csv'), 'utf8').trim().split('\n').filter(l => !l.startsWith('#'));
  const cells = line => [...line.matchAll(/"((?:[^"]|"")*)"|([^,]+)/g)].map(m => (m[1] ?? m[2]).replace(/""/g, '"')), names = cells(lines[0]);
  const {page, errors} = await open(path), run = await page.evaluate(() => ({
    rows: [...window.kardan.run.rows], channels: window.kardan.run.scene.channels, column: window.kardan.run.column.map(c => [...c])}));
  assert.equal(run.rows.length, lines.length - 1);
  const rows = lines.slice(1).map(line => cells(line).map(Number));
  let compared = 0;
  run.channels.forEach((channel, k) => {
    const at = names.findIndex(n => n === channel.name || n === `${channel.name} [${channel.unit}]`);
    if (at < 0) return;
    compared++;
    rows.forEach((row, i) => assert.ok(Math.abs(run.column[k][i] - row[at]) <= (channel.bytes === 8 ? 1e-15 : 6e-8) * Math.abs(row[at]) + 1e-300,
      `${channel.name}, row ${i}: ${run.column[k][i]} for ${row[at]}`));
  });
  assert.ok(compared > 5, `${compared} of ${run.channels.length} channels, table: ${names.slice(0, 4)}`);
  assert.deepEqual(errors, []);
  await page.close();
});

test('arrows of forces and reactions are those that are known by hand; contacts, links and names are shown', async () => {
  const {page, errors} = await open(report(join(root, 'viewer/test/loads.yaml')));
  await page.evaluate(() => window.kardan.clock.set(window.kardan.clock.end));
  // by hand: the weight of each body, upwards
  const force = name => page.evaluate(n => {
    const {run, stage, clock} = window.kardan;
    return stage.film.force(clock.t, run.scene.loads.findIndex(l => l.name === n), stage.film.poses[0].r.clone()).toArray();
  }, name);
  for (const [name, weight] of [['spring', 20], ['hinge', 30], ['touch', 10], ['rope', 40]]) {
    const [x, y, z] = await force(name);
    assert.ok(Math.abs(z - weight) < 2e-3 * weight && Math.hypot(x, y) < 2e-3 * weight, `${name}: ${[x, y, z]}`);
  }
  const look = () => page.evaluate(() => { window.kardan.stage.draw(true); return window.kardan.stage.canvas.toDataURL(); });
  const seen = new Set([await look()]);
  for (const words of ['forces', 'reactions', 'contact points']) {
    await page.getByLabel(words, {exact: true}).check();
    seen.add(await look());
  }
  // the longest arrow is the rope's, a third of the mechanism; the slider scales all of them
  const longest = () => page.evaluate(() => ({most: Math.max(...window.kardan.stage.loads.filter(l => !l.contact).flatMap(l => l.arrows.lengths)), size: window.kardan.run.scene.size}));
  const before = await longest();
  assert.ok(Math.abs(before.most / before.size - 0.35) < 0.02, JSON.stringify(before));
  await page.getByLabel('length of arrows').fill('0.3');
  assert.ok(Math.abs((await longest()).most / before.most - 10 ** 0.3) < 1e-3);
  seen.add(await look());
  assert.equal(seen.size, 5);
  assert.match(await page.locator('.switches .muted').first().textContent(), /of an arrow: .* N/);
  // a ball where the ball touches
  const touching = await page.evaluate(() => window.kardan.stage.loads.filter(l => l.contact).flatMap(l => l.arrows.lengths).filter(x => x > 0).length);
  assert.equal(touching, 1);
  // dampers inside springs, ropes, dashes for what an expression couples, with their names
  const looks = await page.evaluate(() => window.kardan.run.scene.coils.map(c => [c.name, c.look]));
  assert.deepEqual(looks, [['spring', 2], ['spring', 0], ['rope', 1], ['gear', 4]]);
  await page.getByLabel('names of links').check();
  await page.waitForFunction(() => document.querySelectorAll('.stage3d .label').length === 3 && document.querySelector('.stage3d .label').style.left !== '');
  assert.deepEqual(await page.locator('.stage3d .label').allTextContents(), ['spring', 'rope', 'gear']);
  assert.deepEqual(errors, []);
  await page.close();
});

test('what is faded is seen through, and is there again afterwards; ghosts, frames and centres of mass change the picture', async () => {
  const {page, errors} = await open(report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.5')), pictures = new Set();
  const look = () => page.evaluate(() => { window.kardan.stage.draw(true); return window.kardan.stage.canvas.toDataURL(); });
  const plain = await look();
  pictures.add(plain);
  const fade = page.locator('button.fade').first();
  await fade.click();
  pictures.add(await look());
  await fade.click();
  assert.equal(await look(), plain);
  for (const words of ['velocities', 'ghosts', 'frames', 'centres of mass']) {
    await page.getByLabel(words, {exact: true}).check();
    pictures.add(await look());
  }
  assert.equal(pictures.size, 6);
  for (const words of ['velocities', 'ghosts', 'frames', 'centres of mass']) await page.getByLabel(words, {exact: true}).uncheck();
  assert.equal(await look(), plain);
  assert.deepEqual(errors, []);
  await page.close();
});

test('two runs: over each other, side by side or alone, in the view and in the plots', async () => {
  const slow = report(join(root, 'models/pendulum.yaml'), '--t-end', '2'), both = report(join(root, 'models/pendulum.yaml'), '--t-end', '3', '--set', 'l=0.5', '--beside', slow);
  const {page, errors} = await open(both), list = page.getByLabel('where the other run is shown');
  // picture and places of the bob of both runs
  const look = () => page.evaluate(() => {
    const {stage} = window.kardan;
    stage.draw(true);
    const place = (film, group) => film.poses[0].r.clone().add(group.position).toArray();
    return {picture: stage.canvas.toDataURL(), own: place(stage.film, stage.bodies.moving.group), other: place(stage.otherFilm, stage.shadowRun)};
  });
  await page.evaluate(() => window.kardan.clock.set(0.4));
  const length = r => Math.hypot(...r), over = await look();
  assert.ok(Math.abs(length(over.own) - 0.5) < 1e-3 && Math.abs(length(over.other) - 1) < 1e-3, JSON.stringify([over.own, over.other]));
  // the longer one falls more slowly: angles by the exact motion are different
  assert.ok(Math.abs(Math.atan2(over.own[1], over.own[0]) - Math.atan2(over.other[1], over.other[0])) > 0.1);
  await list.selectOption('side by side');
  const beside = await look();
  assert.ok(length(beside.other.map((x, i) => x - over.other[i])) > 0.5 && length(beside.own.map((x, i) => x - over.own[i])) < 1e-12);
  await list.selectOption('hidden');
  const alone = await look();
  assert.equal(new Set([over.picture, beside.picture, alone.picture]).size, 3);
  await page.waitForFunction(() => window.kardan.panels[0].plot);
  // plots have the channel twice, each on its own times; the time goes to the end of the longer run
  const plotted = await page.evaluate(() => {
    const {plot} = window.kardan.panels[0], at = plot.data[0].findIndex(t => t >= 2.5);
    return {labels: plot.series.map(s => s.label), end: window.kardan.clock.end, own: plot.data[1][at], other: plot.data[plot.data.length / 2 + 0.5 | 0][at]};
  });
  assert.ok(plotted.labels.some(l => l.endsWith('(other run)')), plotted.labels.join());
  assert.equal(plotted.end, 3);
  assert.ok(Number.isFinite(plotted.own) && plotted.other == null, JSON.stringify(plotted));
  assert.deepEqual(errors, []);
  await page.close();
});

// A page as docs/methods/page.md says, written here: a plate of 9 x 4 nodes on the first body, bent and twisted by two shapes, and a beam along it.
function deformedPage(path) {
  const text = readFileSync(path, 'utf8'), mark = '<script type="application/json" data-kardan="scene">', from = text.indexOf(mark) + mark.length;
  const end = text.indexOf('</script>', from), scene = JSON.parse(text.slice(from, end)), frames = scene.frames;
  const nodes = [], triangles = [], lines = [], bend = [], twist = [];
  for (let i = 0; i < 9; i++) for (let k = 0; k < 4; k++) {
    const x = 0.1 * i, y = 0.1 * k - 0.15;
    nodes.push([x, y, 0]);
    bend.push([0, 0, x * x]);
    twist.push([0, 0, x * y]);
    const a = 4 * i + k;
    if (i < 8 && k < 3) triangles.push(a, a + 4, a + 1, a + 1, a + 4, a + 5);
    if (i < 8 && k === 0) lines.push(a, a + 4);
  }
  const low = [0, -0.15, 0], high = [0.8, 0.15, 0], largest = [0.02, 0.05];
  const base64 = numbers => Buffer.from(Uint16Array.from(numbers).buffer).toString('base64');
  const shape = (list, most) => {
    const size = Math.max(...list.flat().map(Math.abs));
    return {size, largest: most, at: base64(list.flat().map(x => Math.round(32767 * x / size) & 0xffff))};
  };
  scene.deformed = [{body: 0, paint: scene.bodies[0].paint, first: 0, low, high, triangles, lines,
    nodes: base64(nodes.flatMap(p => p.map((x, i) => (high[i] > low[i] ? Math.round(65535 * (x - low[i]) / (high[i] - low[i])) : 0)))),
    shapes: [shape(bend, largest[0]), shape(twist, largest[1])]}];
  scene.solids = scene.solids.filter(s => s.body !== 0);
  const q = [0, 1].map(j => Array.from({length: frames}, (_, i) => largest[j] * Math.sin(2 * Math.PI * (j + 1) * i / (frames - 1))));
  // differences of 16 bits in two planes, amplitude by amplitude
  const planes = new Uint8Array(2 * 2 * frames);
  q.forEach((column, j) => column.reduce((last, x, i) => {
    const value = Math.round(32767 * x / largest[j]) & 0xffff, step = (value - last) & 0xffff;
    planes[j * frames + i] = step & 255;
    planes[2 * frames + j * frames + i] = step >> 8;
    return value;
  }, 0));
  const block = `</script>\n<script type="text/plain" data-kardan="amplitudes">${deflateSync(planes).toString('base64')}</script>\n`;
  const out = path.replace(/\.html$/, '-deformed.html');
  writeFileSync(out, text.slice(0, from) + JSON.stringify(scene) + block + text.slice(end + 9));
  return {path: out, nodes, bend, twist, q, frames};
}
test('a surface deforms by its shapes, enlarged by the slider, and is hidden, seen through, coloured and clicked like a body', async () => {
  const made = deformedPage(report(join(root, 'models/pendulum.yaml'))), {page, errors} = await open(made.path);
  const frame = Math.round(0.3 * (made.frames - 1));
  const seen = () => page.evaluate(i => {
    const {stage, clock, run} = window.kardan;
    clock.set(run.times[i]);
    stage.draw(true);
    return {nodes: run.scene.deformed[0] && Array.from({length: 36}, (_, k) => stage.sheets.node(0, k).toArray()), pose: stage.film.poses.map(p => [p.r.toArray(), [p.q.w, p.q.x, p.q.y, p.q.z]])[0],
            picture: stage.canvas.toDataURL()};
  }, frame);
  // node by node: r + A (X + scale sum q_j S_j)
  const check = (now, scale) => made.nodes.forEach((x, k) => {
    const local = x.map((v, i) => v + scale * (made.q[0][frame] * made.bend[k][i] + made.q[1][frame] * made.twist[k][i]));
    const world = rotate(now.pose[1], local).map((v, i) => v + now.pose[0][i]);
    assert.ok(Math.hypot(...world.map((v, i) => v - now.nodes[k][i])) < 1e-4 * scale, `node ${k}: ${world} is at ${now.nodes[k]}`);
  });
  const plain = await seen();
  check(plain, 1);
  await page.getByLabel('how many times the deformation is shown').evaluate(e => { e.value = '1'; e.dispatchEvent(new Event('input')); });
  const large = await seen();
  check(large, 10);
  assert.notEqual(large.picture, plain.picture);
  // the middle of the plate is in front where a click meets it
  const at = await page.evaluate(() => {
    const {stage} = window.kardan;
    stage.canvas.scrollIntoView();
    return stage.project(stage.sheets.node(0, 17).add(stage.sheets.node(0, 22)).multiplyScalar(0.5));
  });
  await page.mouse.click(at.x, at.y);
  assert.equal(await page.locator('.facts strong').textContent(), await page.evaluate(() => window.kardan.run.scene.bodies[0].name));
  const pictures = new Set([plain.picture, large.picture]), next = async () => pictures.add((await seen()).picture);
  await page.getByLabel('colours by deformation').check();
  await next();
  await page.getByRole('button', {name: /^make .* transparent$/}).first().click();
  await next();
  await page.locator('ul.bodies input.show').first().uncheck();
  await next();
  assert.equal(pictures.size, 5);
  assert.deepEqual(errors, []);
  await page.close();
});

test('stress is drawn as colour with its scale in MPa, as bending of a round bar has it, and hot spots are marked and lead to their time', async () => {
  const {page, errors} = await open(report(join(root, 'models/rotating-bending.yaml')));
  assert.equal(await page.locator('.stresses').isVisible(), false);
  await page.getByLabel('colours by deformation').check();
  await page.getByLabel('colours by stress').check();
  assert.equal(await page.getByLabel('colours by deformation').isChecked(), false);
  const seen = await page.evaluate(() => {
    const {run, stage, clock} = window.kardan, sheet = stage.sheets.all[0], film = stage.film, nodes = sheet.nodes;
    film.at(film.end);
    nodes.load(film.amplitudes);
    return {rest: Array.from(nodes.rest), mises: Array.from(nodes.mises), spots: run.scene.spots, most: stage.largestStress, t: clock.t,
            marks: sheet.spots.map(s => [s.mark.visible, s.mark.position.x]), text: document.querySelector('.stresses').textContent,
            values: [...document.querySelectorAll('.stresses .values span')].map(s => Number(s.textContent))};
  });
  // F (L - x) r/I and 4 F/(3 A) by statics; the fibres of 16 that lie nearest to the upper and the lower edge are at most 11.25 degrees
  // beside them; a little is left of the vibration at the start
  const root0 = 100 * 0.2 * 0.005 / (Math.PI / 4 * 0.005 ** 4), shear = 4 * 100 / (3 * Math.PI * 0.005 ** 2);
  seen.mises.forEach((m, i) => {
    const wanted = Math.hypot(root0 * (1 - seen.rest[3 * i] / 0.2), Math.sqrt(3) * shear);
    assert.ok(m < wanted + 0.02 * root0 && m > 0.98 * wanted - 0.02 * root0, `${m} at x = ${seen.rest[3 * i]}, ${wanted}`);
  });
  assert.ok(seen.spots.length > 0 && Math.abs(seen.spots[0].mises / root0 - 1) < 0.02, JSON.stringify(seen.spots));
  assert.ok(seen.most >= seen.spots[0].mises);
  assert.ok(seen.text.includes('von Mises stress [MPa]') && seen.text.includes('specimen: 20'), seen.text);
  const ramp = await page.locator('.stresses .ramp').boundingBox();
  assert.ok(ramp.width > 100 && ramp.height > 5, JSON.stringify(ramp));
  assert.equal(seen.values[0], 0);
  assert.ok(Math.abs(seen.values[4] * 1e6 / seen.most - 1) < 5e-3);
  assert.equal(seen.marks.length, seen.spots.length);
  seen.marks.forEach(([on, x], i) => assert.ok(on && Math.abs(x - seen.spots[i].at[0]) < 1e-3));
  // red at the root, blue at the tip: colours of the lines next to them
  const tints = await page.evaluate(() => {
    window.kardan.clock.set(window.kardan.clock.end);
    const sheet = window.kardan.stage.sheets.all[0], colours = sheet.geometry.attributes.color;
    const far = i => sheet.nodes.rest[3 * i], order = [...Array(colours.count).keys()].sort((a, b) => far(a) - far(b));
    return [order[0], order[order.length - 1]].map(i => [colours.getX(i), colours.getY(i), colours.getZ(i)]);
  });
  assert.ok(tints[0][0] > 2 * tints[0][2] && tints[1][2] > 2 * tints[1][0], JSON.stringify(tints));
  await page.getByRole('button', {name: /^hot spot/}).first().click();
  assert.ok(Math.abs(await page.evaluate(() => window.kardan.clock.t) - seen.spots[0].t) < 1e-9);
  if (process.env.PICTURES) await page.screenshot({path: join(process.env.PICTURES, 'stress.png')});
  await page.getByLabel('colours by stress').uncheck();
  assert.equal(await page.locator('.stresses').isVisible(), false);
  assert.deepEqual(await page.evaluate(() => window.kardan.stage.sheets.all[0].spots.map(s => s.mark.visible)), seen.marks.map(() => false));
  assert.deepEqual(errors, []);
  await page.close();
});

test('modes move: the chosen one swings through a period, from the table or from the plane of eigenvalues', async () => {
  const out = mkdtempSync(join(folder, 'modes-'));
  const told = JSON.parse(execFileSync(program, ['modes', join(root, 'models/bushing-mount.yaml'), '--json', '--output', out]).toString());
  const {page, errors} = await open(join(out, 'bushing-mount-modes.html'));
  assert.equal(await page.evaluate(() => window.kardan.clock.playing), true);
  await page.evaluate(() => window.kardan.clock.pause());
  // largest way of a point of the first body, opposite at the two halves of the period
  const swing = () => page.evaluate(() => {
    const {clock, stage} = window.kardan, at = f => { clock.set(f * clock.end); return stage.film.point(0, [0.3, 0.2, 0.1]).toArray(); };
    const far = [at(0), at(0.5), at(1)];
    at(0.125);
    stage.draw(true);
    return {far, picture: stage.canvas.toDataURL()};
  });
  const pictures = new Set(), count = await page.locator('.modes tbody tr').count();
  assert.equal(count, told.imaginary.filter(x => x > 0).length);
  for (let i = 0; i < count; i++) {
    await page.getByLabel(`show mode ${i + 1}`, {exact: true}).click();
    const {far, picture} = await swing(), way = Math.hypot(...far[0].map((x, k) => x - far[1][k]));
    assert.ok(way > 1e-3, `mode ${i + 1} moves by ${way}`);
    assert.ok(Math.hypot(...far[0].map((x, k) => x - far[2][k])) < 1e-3 * way + 1e-4, 'a period ends where it began');
    pictures.add(picture);
  }
  assert.equal(pictures.size, count);
  await page.getByLabel('show mode 1', {exact: true}).click();
  await page.locator('.plane g').last().locator('circle').first().click();
  assert.equal(await page.evaluate(() => window.kardan.modes.chosen), count - 1);
  const hertz = await page.locator('.modes tbody tr').first().locator('td').nth(3).textContent();
  assert.ok(told.frequency.some(f => Math.abs(f - Number(hertz)) < 1e-3 * f), hertz);
  assert.deepEqual(errors, []);
  await page.close();
});

test('root locus: a click on a point shows its mode, which is that of the model with this value', async () => {
  const out = mkdtempSync(join(folder, 'locus-')), model = join(root, 'models/quarter-car.yaml');
  execFileSync(program, ['modes', model, '--vary', 'cs=0:5000:11', '--output', out], {stdio: ['ignore', 'ignore', 'pipe']});
  const {page, errors} = await open(join(out, 'quarter-car-locus.html'));
  const modes = await page.evaluate(() => window.kardan.modes.modes), films = modes.map((_, i) => i).filter(i => modes[i].film);
  assert.ok(films.length >= 11 && new Set(modes.map(m => m.value)).size >= 8, `${films.length} films of ${modes.length} points`);
  await page.evaluate(() => window.kardan.clock.pause());
  const pictures = new Set();
  for (const i of [films[0], films[films.length - 1]]) {
    await page.locator('.plane g').nth(i).locator('circle').first().dispatchEvent('click');
    assert.equal(await page.evaluate(() => window.kardan.modes.chosen), i);
    assert.equal(await page.locator('.modes tr[aria-selected=true]').count(), 1);
    const moved = await page.evaluate(() => {
      const {clock, stage} = window.kardan, at = f => { clock.set(f * clock.end); return stage.film.poses.map(p => p.r.toArray()).flat(); };
      const a = at(0), b = at(0.5);
      at(0.1);
      stage.draw(true);
      return {way: Math.hypot(...a.map((x, k) => x - b[k])), picture: stage.canvas.toDataURL()};
    });
    assert.ok(moved.way > 1e-3);
    pictures.add(moved.picture);
    // the same eigenvalue by the command without --vary
    const told = JSON.parse(execFileSync(program, ['modes', model, '--set', `cs=${modes[i].value}`, '--json'], {stdio: ['ignore', 'pipe', 'ignore']}).toString());
    assert.ok(told.imaginary.some((x, k) => Math.abs(x - modes[i].imaginary) < 1e-5 * Math.abs(x) && Math.abs(told.real[k] - modes[i].real) < 1e-5 * Math.abs(x)), JSON.stringify(modes[i]));
  }
  assert.equal(pictures.size, 2);
  assert.deepEqual(errors, []);
  await page.close();
});

test('Bode plot: a click at a frequency lets the mechanism swing in its response, bodies as far and as late as gain and phase say', async () => {
  const out = mkdtempSync(join(folder, 'bode-'));
  execFileSync(program, ['frequency', join(root, 'models/quarter-car.yaml'), '--sensor', 'cab,wheel', '--range', '0.2:30', '--output', out], {stdio: ['ignore', 'ignore', 'pipe']});
  const {page, errors} = await open(join(out, 'quarter-car-frequency.html'));
  await page.evaluate(() => window.kardan.clock.pause());
  const frequencies = new Set(), pictures = new Set();
  for (const part of [0.3, 0.6, 0.9]) {
    const over = page.locator('.u-over').first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.click(box.x + part * box.width, box.y + 0.5 * box.height);
    const seen = await page.evaluate(() => {
      const {bode, run, clock, stage} = window.kardan, n = 32, found = {}, at = bode.frequency, wanted = bode.plots[0].posToVal(bode.plots[0].valToPos(at, 'x'), 'x');
      // first harmonic of the height of each body over the period
      run.scene.bodies.forEach((body, b) => {
        let re = 0, im = 0;
        for (let k = 0; k < n; k++) {
          clock.set(clock.start + k / n * (clock.end - clock.start));
          const z = stage.film.poses[b].r.z, phi = 2 * Math.PI * k / n;
          re += 2 / n * z * Math.cos(phi);
          im -= 2 / n * z * Math.sin(phi);
        }
        found[body.name] = [re, im];
      });
      const row = bode.row(at), of = name => bode.data.lines.find(l => l.name.startsWith(name + ' by'));
      stage.draw(true);
      return {found, at, wanted, picture: stage.canvas.toDataURL(), lines: ['cab', 'wheel'].map(name => [of(name).level[row], of(name).phase[row]])};
    });
    frequencies.add(seen.at);
    pictures.add(seen.picture);
    const [cab, wheel] = ['cab', 'wheel'].map(name => seen.found[name]), arg = z => Math.atan2(z[1], z[0]) * 180 / Math.PI;
    const ratio = 20 * Math.log10(Math.hypot(...cab) / Math.hypot(...wheel)), lag = arg(cab) - arg(wheel);
    const [[cabLevel, cabPhase], [wheelLevel, wheelPhase]] = seen.lines;
    assert.ok(Math.abs(ratio - (cabLevel - wheelLevel)) < 0.3, `${seen.at} Hz: ${ratio} dB is not ${cabLevel - wheelLevel}`);
    assert.ok(Math.abs((lag - (cabPhase - wheelPhase) + 540) % 360 - 180) < 3, `${seen.at} Hz: ${lag} is not ${cabPhase - wheelPhase}`);
  }
  assert.equal(frequencies.size, 3);
  assert.ok(pictures.size >= 2);
  // the slider, for the keyboard
  await page.getByLabel('frequency', {exact: true}).focus();
  await page.keyboard.press('Home');
  assert.ok(Math.abs(await page.evaluate(() => window.kardan.bode.frequency) - 0.2) < 1e-6);
  assert.deepEqual(errors, []);
  await page.close();
});

test('plots have an axis for each unit, are panned and zoomed by mouse and keys, and are saved as CSV and PNG', async () => {
  const {page, errors} = await open(report(join(root, 'models/quarter-car.yaml'), '--t-end', '2'));
  const name = await page.evaluate(() => {
    const {run} = window.kardan, parts = run.scene.bodies.map(b => b.name);
    return parts.find(p => run.scene.channels.some(c => c.name.split(/[.\s']/).includes(p)));
  });
  await page.evaluate(() => { // channels of three units in one plot
    const {run, panels} = window.kardan, units = [...new Set(run.scene.channels.map(c => c.unit))].slice(0, 3);
    window.kardan.addPlot({title: 'mixed', unit: '', log: false, channels: units.map(u => run.scene.channels.findIndex(c => c.unit === u)), note: ''});
    return panels.length;
  });
  const figure = page.locator('figure.plot').last();
  await figure.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => window.kardan.panels.at(-1).plot);
  const scales = await page.evaluate(() => window.kardan.panels.at(-1).plot.series.slice(1).map(s => s.scale));
  assert.equal(new Set(scales).size, 3, scales.join());
  const range = () => page.evaluate(() => [window.kardan.panels.at(-1).plot.scales.x.min, window.kardan.panels.at(-1).plot.scales.x.max]);
  const all = await range();
  await figure.locator('.axes').focus();
  await page.keyboard.press('+');
  const close = await range();
  assert.ok(close[1] - close[0] < 0.85 * (all[1] - all[0]));
  await page.keyboard.press('ArrowRight');
  const right = await range();
  assert.ok(right[0] > close[0] && Math.abs((right[1] - right[0]) - (close[1] - close[0])) < 1e-9);
  // shift and drag: as far as the mouse goes
  const box = await figure.locator('.u-over').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.75 * box.width, box.y + 50, {steps: 4});
  await page.mouse.up();
  await page.keyboard.up('Shift');
  const panned = await range();
  assert.ok(Math.abs(right[0] - panned[0] - 0.25 * (right[1] - right[0])) < 0.02 * (right[1] - right[0]), `${right} ${panned}`);
  await figure.locator('.axes').focus();
  await page.keyboard.press('0');
  assert.deepEqual(await range(), all);
  // CSV has the numbers of the channels, PNG a picture
  const save = async label => { const [file] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', {name: label}).click()]); return readFileSync(await file.path()); };
  const lines = (await save('save the numbers of this plot')).toString().trim().split('\n'), own = await page.evaluate(() => {
    const {run, panels} = window.kardan, p = panels.at(-1).plotOf;
    return {names: p.channels.map(c => run.scene.channels[c].name), rows: run.rows.length, last: p.channels.map(c => run.column[c].at(-1))};
  });
  assert.equal(lines.length, own.rows + 1);
  assert.equal(lines[0], ['t', ...own.names].map(n => `"${n}"`).join(','));
  assert.deepEqual(lines.at(-1).split(',').slice(1).map(Number), own.last);
  assert.equal((await save('save this plot as a picture')).subarray(1, 4).toString(), 'PNG');
  assert.ok(name);
  assert.deepEqual(errors, []);
  await page.close();
});

test('events are jumped to, distances told, fingers orbit and zoom', async () => {
  const path = report(join(root, 'models/cam-lift-off.yaml')), context = await browser.newContext({hasTouch: true, viewport: {width: 900, height: 800}});
  const page = await context.newPage(), errors = [];
  page.on('pageerror', e => errors.push(e.message));
  await page.goto('file://' + path);
  await page.waitForSelector('[data-ready=yes]', {timeout: 60000});
  const list = page.getByLabel('go to an event'), events = await page.evaluate(() => window.kardan.run.scene.events);
  assert.ok(events.length > 0);
  await list.selectOption({index: 1});
  assert.equal(await page.evaluate(() => window.kardan.clock.t), events[0].t);
  // a finger turns the camera, two fingers come closer
  const eye = () => page.evaluate(() => ({at: window.kardan.stage.camera.position.toArray(), far: window.kardan.stage.camera.position.distanceTo(window.kardan.stage.controls.target)}));
  const cdp = await context.newCDPSession(page), box = await page.locator('.stage3d canvas').boundingBox(), [x, y] = [box.x + 0.5 * box.width, box.y + 0.5 * box.height];
  const touch = (type, ...points) => cdp.send('Input.dispatchTouchEvent', {type, touchPoints: points.map(([px, py], id) => ({x: px, y: py, id}))});
  const before = await eye();
  await touch('touchStart', [x, y]);
  for (let k = 1; k <= 5; k++) await touch('touchMove', [x + 15 * k, y]);
  await touch('touchEnd');
  const turned = await eye();
  assert.ok(Math.hypot(...turned.at.map((v, i) => v - before.at[i])) > 0.05 * before.far && Math.abs(turned.far - before.far) < 1e-6 * before.far);
  await touch('touchStart', [x - 40, y], [x + 40, y]);
  for (let k = 1; k <= 5; k++) await touch('touchMove', [x - 40 - 12 * k, y], [x + 40 + 12 * k, y]);
  await touch('touchEnd');
  assert.ok((await eye()).far < 0.8 * before.far);
  assert.deepEqual(errors, []);
  await context.close();
  // two bodies: the distance of their centres by the data of the page
  const crank = await open(report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.3'));
  await crank.page.locator('ul.bodies button.body').nth(0).click();
  const told = await crank.page.evaluate(() => {
    const {stage, run, choose} = window.kardan;
    choose(1, true);
    return {words: document.querySelector('.facts').textContent, name: run.scene.bodies[1].name,
            far: stage.film.point(0, run.scene.bodies[0].centre).distanceTo(stage.film.point(1, run.scene.bodies[1].centre))};
  });
  const number = Number(/to (.*): ([-0-9.e+]+) m between/.exec(told.words)?.[2]);
  assert.ok(Math.abs(number - told.far) < 1e-4 * told.far, told.words);
  assert.deepEqual(crank.errors, []);
  await crank.page.close();
});

test('equilibrium: the page goes from the position before to that after, over the one before', async () => {
  const out = mkdtempSync(join(folder, 'rest-'));
  const told = JSON.parse(execFileSync(program, ['equilibrium', join(root, 'models/four-bar-spring.yaml'), '--json', '--output', out], {stdio: ['ignore', 'pipe', 'pipe']}).toString());
  const {page, errors} = await open(join(out, 'four-bar-spring-equilibrium.html'));
  const at = f => page.evaluate(t => {
    const {clock, stage} = window.kardan;
    clock.set(t * clock.end);
    return {own: stage.film.poses.map(p => p.r.toArray()).flat(), other: stage.otherFilm.poses.map(p => p.r.toArray()).flat()};
  }, f);
  const before = await at(0), after = await at(1), far = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
  assert.ok(far(before.own, before.other) < 1e-3 && far(before.other, after.other) < 1e-6);
  assert.ok(told.moved < 1e-6 || far(before.own, after.own) > 1e-3, JSON.stringify([told.moved, far(before.own, after.own)]));
  assert.deepEqual(errors, []);
  await page.close();
});

test('without scripts, and without 3-D graphics, there is a still picture; plots stay', async () => {
  const path = report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.3');
  const dumb = await browser.newContext({javaScriptEnabled: false}), quiet = await dumb.newPage();
  await quiet.goto('file://' + path);
  assert.ok(await quiet.locator('.still svg path').count() > 20);
  await dumb.close();
  const flat = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox', '--disable-3d-apis']});
  const page = await flat.newPage({viewport: {width: 1000, height: 900}});
  await page.goto('file://' + path);
  await page.waitForSelector('[data-ready=yes]', {timeout: 60000});
  assert.ok(await page.locator('.still svg').isVisible());
  assert.match(await page.locator('[data-kardan-viewer]').textContent(), /shows no 3-D graphics/);
  assert.ok(await page.locator('figure.plot').count() > 0);
  await flat.close();
});

for (const scheme of ['light', 'dark'])
  test(`texts can be read on their ground (${scheme})`, async () => {
    const path = report(join(root, 'models/slider-crank.yaml'), '--t-end', '0.3'), context = await browser.newContext({colorScheme: scheme}), page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto('file://' + path);
    await page.waitForSelector('[data-ready=yes]');
    // contrast as the accessibility guidelines of the web count it: 4.5 is their limit for texts
    const told = await page.evaluate(() => {
      const numbers = text => text.match(/[\d.]+/g).map(Number), linear = x => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
      const ground = e => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c[3] !== 0) return c; } return [255, 255, 255]; };
      return [...document.querySelectorAll('h1, h2, p, td, th, label, button.body, .clock, figcaption .name')].filter(e => e.textContent.trim() && e.checkVisibility()).map(e => {
        const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
        return {contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), words: e.textContent.slice(0, 40)};
      });
    });
    assert.ok(told.length > 30, `${told.length} texts`);
    assert.deepEqual(told.filter(t => t.contrast < 4.5), []);
    await context.close();
  });

test('narrow window: nothing is wider than the page', async () => {
  const {page, errors} = await open(report(join(root, 'models/stewart.yaml')), {width: 360, height: 740});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const widest = await page.evaluate(() => [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`).slice(-4));
  assert.ok(wide <= 1, `${wide} pixels too wide: ${widest.join('; ')}`);
  assert.deepEqual(errors, []);
  await page.close();
});

test('names of a model are data: markup in them is shown, not run', async () => {
  const text = readFileSync(join(root, 'models/pendulum.yaml'), 'utf8');
  const title = '</script><script>window.broken = 1</script><b>"\'&';
  const model = join(folder, 'hostile.yaml');
  writeFileSync(model, text.replace(/^title: .*$/m, `title: '${title.replace(/'/g, "''")}'`));
  const {page, errors} = await open(report(model));
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('h1').textContent(), title);
  assert.deepEqual(errors, []);
  await page.close();
});

test('a title of ten thousand characters and names with quotes stay data, in a page whose policy allows no other script', async () => {
  const text = readFileSync(join(root, 'models/pendulum.yaml'), 'utf8'), model = join(folder, 'long.yaml');
  const title = `<img src=x onerror="window.broken=1">${'"\'&<!--'.repeat(1250)}`.slice(0, 10000);
  writeFileSync(model, text.replace(/^title: .*$/m, `title: '${title.replace(/'/g, "''")}'`));
  const path = report(model), {page, errors} = await open(path);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.ok((await page.locator('h1').textContent()).startsWith('<img src=x onerror='));
  assert.match(readFileSync(path, 'utf8'), /Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/);
  // a script that somebody puts into the page is not run
  await page.evaluate(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 2'; document.body.appendChild(s); });
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.ok(errors.every(e => e.includes('Content Security Policy')), errors.join());
  await page.close();
});

// Several at once, each in one tab that goes from page to page: a new tab for each would be a new process for each
test('the pages of all gallery models open without an error, draw something, and are small', {timeout: 900000}, async () => {
  const gallery = readdirSync(join(root, 'models')).filter(name => name.endsWith('.yaml')), run = promisify(execFile), wrong = [];
  const colours = page => page.evaluate(() => {
    const {stage} = window.kardan, canvas = document.createElement('canvas');
    stage.draw(true);
    canvas.width = 160; canvas.height = 120;
    const context = canvas.getContext('2d');
    context.drawImage(stage.canvas, 0, 0, 160, 120);
    const data = context.getImageData(0, 0, 160, 120).data, found = new Set();
    for (let i = 0; i < data.length; i += 4) found.add(data[i] >> 4 << 8 | data[i + 1] >> 4 << 4 | data[i + 2] >> 4);
    return found.size;
  });
  const look = async (tab, name) => {
    const out = mkdtempSync(join(folder, 'run-'));
    await run(program, ['simulate', join(root, 'models', name), '--output', out, '--quiet', '--t-end', '0.3'], {maxBuffer: 1e8});
    const path = join(out, name.replace(/yaml$/, 'html')), size = statSync(path).size;
    assert.ok(size < MOST_BYTES, `${size} bytes`);
    await visit(tab, path);
    assert.ok(await tab.page.evaluate(() => window.kardan.run.scene.bodies.length) > 0, 'no bodies');
    assert.ok(await colours(tab.page) > 4, 'the picture is empty');
    assert.deepEqual(tab.errors, []);
    rmSync(out, {recursive: true});
  };
  let next = 0, looked = 0;
  await Promise.all([0, 1].map(async () => {
    const tab = await newTab({width: 640, height: 480});
    while (next < gallery.length) {
      const name = gallery[next++];
      await look(tab, name).then(() => looked++, e => wrong.push(`${name}: ${e.message}`));
    }
    await tab.page.close();
  }));
  assert.deepEqual(wrong, []);
  assert.ok(looked === gallery.length && looked > 90, `${looked} pages`);
});
