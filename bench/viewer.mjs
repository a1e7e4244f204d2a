// viewer.mjs: how fast pages are, without a graphics card: pictures in a second and time to the first picture for 10, 100 and 1000
// bodies at 1280 x 720, and sizes of reports; the first picture of models of the gallery, and what its time goes to. Run as build/bench/viewer
// [--quick] [--json] [--check].
//
// The first picture is the one that the page carries as a drawing, in the view's camera and light; it counts when the browser has painted it. The
// moving view takes its place when it has drawn the same: rows `moving view`. What an empty page needs for a context stands in the first row.
//
// A picture is the whole work for one instant: poses between frames, drawing, and waiting until the pixels are there (readPixels). It is told in
// full quality, as at rest, and in the quality that the view chooses while it plays, by the times that it has taken so far. Times by the
// clock depend on what else the machine does: the best of several tries is told, and beside it the processor time of all processes of the browser,
// of the first picture that of the two threads that follow each other until it is there (the page's and that of the graphics), from a trace.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [source, build, ...words] = process.argv.slice(2);
const program = join(build, 'kardan'), browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium', modules = join(source, 'viewer/node_modules');
const quick = words.includes('--quick'), json = words.includes('--json'), check = words.includes('--check');
// least pictures in a second, longest time to the first one [s], largest report [MB]
const WANTED = {10: {rate: 20, first: 1, size: 1.5}, 100: {rate: 20, first: 1, size: 20}, 1000: {rate: 8, first: null, size: 20}};

if (!existsSync(browserPath) || !existsSync(modules) || !existsSync(program)) {
  console.log('bench/viewer: not run, it needs chromium, the viewer (make viewer) and kardan');
  process.exit(0);
}
const {chromium} = createRequire(join(source, 'viewer/package.json'))('playwright-core'), {FLAGS} = await import(pathToFileURL(join(source, 'viewer/browser.mjs')));

// n double-coloured pendulums of different lengths in rows, so that nothing moves alike
const model = n => `kardan: 1
title: ${n} pendulums
bodies:
  bob(i): {for: i = 1..${n}, position: [0.5*mod(i, 32), 0.5*floor(i/32), -0.2 - 0.001*i], mass: 1, inertia: [0.01, 0.01, 0.01], shape: {box: [0.2, 0.3, 0.1]}}
joints:
  hinge(i): {for: i = 1..${n}, type: revolute, bodies: [ground, bob(i)], point: [0.5*mod(i, 32), 0.5*floor(i/32), 0], axis: [0, 1, 0], q: 0.5 + 0.001*i}
run: {t_end: 4, intervals: ${quick ? 200 : 2000}}
`;

const folder = mkdtempSync(join(tmpdir(), 'kardan-bench-'));
const browser = await chromium.launch({executablePath: browserPath,
  args: FLAGS});
// what the browser itself needs until an empty page has a context to draw with: part of every first picture
const empty = async () => {
  const page = await browser.newPage();
  await page.goto('data:text/html,<canvas></canvas>');
  const seconds = await page.evaluate(() => {
    const gl = document.querySelector('canvas').getContext('webgl2'), pixel = new Uint8Array(4);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    return performance.now() / 1000;
  });
  await page.close();
  return seconds;
};
await empty(); // the first page of a browser waits for it to start
const floor = await empty();
const cdp = await browser.newBrowserCDPSession();
const processorTime = async () => (await cdp.send('SystemInfo.getProcessInfo')).processInfo.reduce((sum, p) => sum + p.cpuTime, 0);

// Seconds from the start of the navigation to the marks of the program: best of some tries by the clock; processor time of one by a trace
const MARKS = [['kardan: still', 'page and program read, first picture'], ['kardan: data', 'context asked for, numbers unpacked'], ['kardan: scene', 'context and scene'], ['kardan: first picture', 'programs of the graphics, moving view']];
const goTo = async report => {
  const page = await browser.newPage({viewport: {width: 1280, height: 720}});
  await page.goto('file://' + report, {timeout: 300000});
  await page.waitForFunction(() => performance.getEntriesByName('kardan: first picture').length > 0, null, {timeout: 300000});
  return page;
};
async function firstPicture(report, tries) {
  let best = Infinity, moving = Infinity;
  for (let k = 0; k < tries; k++) {
    const page = await goTo(report), at = name => page.evaluate(name => performance.getEntriesByName(name)[0].startTime / 1000, name);
    best = Math.min(best, await at('kardan: still'));
    moving = Math.min(moving, await at('kardan: first picture'));
    await page.close();
  }
  await browser.startTracing(null, {categories: ['toplevel', 'blink.user_timing', '__metadata']});
  await (await goTo(report)).close();
  const events = JSON.parse((await browser.stopTracing()).toString()).traceEvents, end = events.find(e => e.name === 'kardan: first picture');
  const start = Math.max(...events.filter(e => e.name === 'navigationStart' && e.pid === end.pid && e.ts < end.ts).map(e => e.ts));
  const graphics = new Set(events.filter(e => e.name === 'thread_name' && e.args.name === 'CrGpuMain').map(e => `${e.pid} ${e.tid}`));
  // the outermost tasks of a thread up to an instant [us]
  const used = (mine, from, to) => {
    let sum = 0, last = 0;
    for (const e of events.filter(e => e.tdur > 0 && mine(e) && e.ts >= from && e.ts < to).sort((a, b) => a.ts - b.ts))
      if (e.ts >= last) { sum += e.tdur; last = e.ts + e.dur; }
    return sum;
  };
  const own = e => e.pid === end.pid && e.tid === end.tid, of = e => graphics.has(`${e.pid} ${e.tid}`), parts = [];
  let at = events.filter(e => own(e) && e.tts > 0 && e.ts >= start).sort((a, b) => a.ts - b.ts)[0].tts, from = start;
  for (const [name, words] of MARKS) {
    const mark = events.find(e => e.name === name && own(e));
    parts.push({words, seconds: (mark.tts - at) / 1e6, graphics: used(of, from, mark.ts) / 1e6});
    [at, from] = [mark.tts, mark.ts];
  }
  return {best, moving, parts, still: parts[0].seconds + parts[0].graphics, processor: parts.reduce((sum, p) => sum + p.seconds + p.graphics, 0)};
}

// Pictures along the motion, the best of tenths by the clock
const draw = (page, count, adapts) => page.evaluate(([count, adapts]) => {
  const {stage, clock, run} = window.kardan, gl = stage.canvas.getContext('webgl2'), pixel = new Uint8Array(4);
  stage.setAdaptive(adapts);
  const one = k => {
    stage.show(clock.start + k / count * (clock.end - clock.start));
    if (adapts) stage.paint(performance.now()); else stage.draw(true);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  };
  let best = Infinity;
  for (let k = 0; k < count;) {
    const began = performance.now(), from = k;
    for (; k < count && k - from < Math.ceil(count / 10); k++) one(k);
    best = Math.min(best, (performance.now() - began) / (k - from));
  }
  return {rate: 1000 / best, frames: run.times.length, pixels: stage.canvas.width / 1280};
}, [count, adapts]);

const rows = [];
for (const n of [10, 100, 1000]) {
  const path = join(folder, `bodies-${n}.yaml`);
  writeFileSync(path, model(n));
  execFileSync(program, ['simulate', path, '--quiet', '--no-verify', '--format', 'csv', '--output', folder], {stdio: ['ignore', 'ignore', 'inherit']});
  const report = join(folder, `bodies-${n}.html`), first = await firstPicture(report, quick ? 1 : 5), page = await goTo(report);
  await page.waitForSelector('[data-ready=yes]', {timeout: 300000});
  await page.waitForTimeout(1000); // plots are drawn
  await page.evaluate(() => { window.kardan.stage.alone(1280, 720); window.kardan.stage.draw(true); window.kardan.stage.finish(); });
  const count = quick ? 10 : 30;
  // adapts: the quality follows the times, from what it has come to after some pictures on
  const measure = async adapts => {
    if (adapts) await draw(page, 40, true);
    const before = await processorTime(), told = await draw(page, count, adapts);
    return {...told, processor: (await processorTime() - before) / count};
  };
  const full = await measure(false), playing = await measure(true);
  rows.push({bodies: n, frames: full.frames, full, playing, first, megabytes: statSync(report).size / 1e6});
  await page.close();
}
const gallery = [];
for (const name of ['slider-crank', 'stewart', 'closed-loop-car']) {
  execFileSync(program, ['simulate', join(source, 'models', `${name}.yaml`), '--quiet', '--output', folder], {stdio: ['ignore', 'ignore', 'inherit']});
  gallery.push({name, ...await firstPicture(join(folder, `${name}.html`), quick ? 2 : 8), megabytes: statSync(join(folder, `${name}.html`)).size / 1e6});
}
await browser.close();
rmSync(folder, {recursive: true});

// rows as all benchmarks have them
const table = [{name: 'empty page with a context', value: floor, unit: 's', goal: null, better: 'lower'}, ...rows.flatMap(r => {
  const w = WANTED[r.bodies];
  return [
    {name: `${r.bodies} bodies: pictures while it plays (${r.playing.pixels.toFixed(1)} of the pixels along an edge)`, value: r.playing.rate, unit: '1/s', goal: w.rate, better: 'higher'},
    {name: `${r.bodies} bodies: processor time of one`, value: 1000 * r.playing.processor, unit: 'ms', goal: 1000 / w.rate, better: 'lower'},
    {name: `${r.bodies} bodies: pictures in full quality`, value: r.full.rate, unit: '1/s', goal: w.rate, better: 'higher'},
    {name: `${r.bodies} bodies: processor time of one in full quality`, value: 1000 * r.full.processor, unit: 'ms', goal: 1000 / w.rate, better: 'lower'},
    {name: `${r.bodies} bodies: first picture`, value: r.first.best, unit: 's', goal: w.first, better: 'lower'},
    {name: `${r.bodies} bodies: processor time to it`, value: r.first.still, unit: 's', goal: null, better: 'lower'},
    {name: `${r.bodies} bodies: moving view`, value: r.first.moving, unit: 's', goal: null, better: 'lower'},
    {name: `${r.bodies} bodies: report of ${r.frames} frames`, value: r.megabytes, unit: 'MB', goal: w.size, better: 'lower'},
  ];
}), ...gallery.flatMap(g => [
  {name: `${g.name}: first picture`, value: g.best, unit: 's', goal: 1, better: 'lower'},
  {name: `${g.name}: processor time to it`, value: g.still, unit: 's', goal: 1, better: 'lower'},
  {name: `${g.name}: moving view`, value: g.moving, unit: 's', goal: null, better: 'lower'},
  {name: `${g.name}: processor time to it`, value: g.processor, unit: 's', goal: 1, better: 'lower'},
  ...g.parts.flatMap(p => [{name: `${g.name}: ${p.words}`, value: p.seconds, unit: 's', goal: null, better: 'lower'},
                           {name: `${g.name}: ${p.words} (graphics)`, value: p.graphics, unit: 's', goal: null, better: 'lower'}]),
  {name: `${g.name}: report`, value: g.megabytes, unit: 'MB', goal: 1.5, better: 'lower'},
])].map(row => ({...row, met: row.goal === null ? null : row.better === 'higher' ? row.value >= row.goal : row.value <= row.goal}));
if (json) console.log(JSON.stringify(table, null, 1));
else for (const row of table)
  console.log(`${row.name.padEnd(62)} ${row.value.toPrecision(3).padStart(8)} ${row.unit.padEnd(4)} ${row.goal === null ? '' : `goal ${row.goal}: ${row.met ? 'met' : 'missed'}`}`);
process.exit(check && table.some(row => row.met === false) ? 1 : 0);
