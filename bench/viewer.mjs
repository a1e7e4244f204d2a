// viewer.mjs: how fast pages are, without a graphics card: pictures in a second and time to the first picture for 10, 100 and 1000
// bodies at 1280 x 720, and sizes of reports. Run as build/bench/viewer [--quick] [--json]
// [--check].
//
// A picture is the whole work for one instant: poses between frames, drawing, and waiting until the pixels are there (readPixels).
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const [source, build, ...words] = process.argv.slice(2);
const program = join(build, 'kardan'), browserPath = process.env.CHROMIUM ?? '/usr/bin/chromium', modules = join(source, 'viewer/node_modules');
const quick = words.includes('--quick'), json = words.includes('--json'), check = words.includes('--check');
// least pictures in a second, longest time to the first one [s], largest report [MB]
const WANTED = {10: {rate: 20, first: 1, size: 1.5}, 100: {rate: 20, first: 1, size: 20}, 1000: {rate: 8, first: null, size: 20}};

if (!existsSync(browserPath) || !existsSync(modules) || !existsSync(program)) {
  console.log('bench/viewer: not run, it needs chromium, the viewer (make viewer) and kardan');
  process.exit(0);
}
const {chromium} = createRequire(join(source, 'viewer/package.json'))('playwright-core');

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
  args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist']});
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
const rows = [];
for (const n of [10, 100, 1000]) {
  const path = join(folder, `bodies-${n}.yaml`);
  writeFileSync(path, model(n));
  execFileSync(program, ['simulate', path, '--quiet', '--no-verify', '--format', 'csv', '--output', folder], {stdio: ['ignore', 'ignore', 'inherit']});
  const page = await browser.newPage({viewport: {width: 1280, height: 720}}), report = join(folder, `bodies-${n}.html`);
  await page.goto('file://' + report, {timeout: 300000});
  await page.waitForSelector('[data-ready=yes]', {timeout: 300000});
  await page.waitForFunction(() => performance.getEntriesByName('kardan: first picture').length > 0, null, {timeout: 300000});
  const measured = await page.evaluate(count => {
    const {stage, clock, run} = window.kardan, gl = stage.canvas.getContext('webgl2'), pixel = new Uint8Array(4);
    const one = k => {
      stage.show(clock.start + k / count * (clock.end - clock.start));
      stage.draw(true);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    };
    stage.alone(1280, 720);
    one(0);
    const began = performance.now();
    for (let k = 0; k < count; k++) one(k);
    return {rate: 1000 * count / (performance.now() - began), first: performance.getEntriesByName('kardan: first picture')[0].startTime / 1000,
            frames: run.times.length};
  }, quick ? 8 : 30);
  rows.push({bodies: n, frames: measured.frames, pictures_per_second: measured.rate, first_picture: measured.first, megabytes: statSync(report).size / 1e6});
  await page.close();
}
await browser.close();
rmSync(folder, {recursive: true});

// rows as all benchmarks have them
const table = [{name: 'empty page with a context', value: floor, unit: 's', goal: null, better: 'lower'}, ...rows.flatMap(r => {
  const w = WANTED[r.bodies];
  return [
    {name: `${r.bodies} bodies: pictures`, value: r.pictures_per_second, unit: '1/s', goal: w.rate, better: 'higher'},
    {name: `${r.bodies} bodies: first picture`, value: r.first_picture, unit: 's', goal: w.first, better: 'lower'},
    {name: `${r.bodies} bodies: report of ${r.frames} frames`, value: r.megabytes, unit: 'MB', goal: w.size, better: 'lower'},
  ];
})].map(row => ({...row, met: row.goal === null ? null : row.better === 'higher' ? row.value >= row.goal : row.value <= row.goal}));
if (json) console.log(JSON.stringify(table, null, 1));
else for (const row of table)
  console.log(`${row.name.padEnd(40)} ${row.value.toPrecision(3).padStart(8)} ${row.unit.padEnd(4)} ${row.goal === null ? '' : `goal ${row.goal}: ${row.met ? 'met' : 'missed'}`}`);
process.exit(check && table.some(row => row.met === false) ? 1 : 0);
