// kardan render: pictures of the right size that show something, films with the right number of pictures, and refusals in words.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {inflateSync} from 'node:zlib';

const root = join(fileURLToPath(new URL('.', import.meta.url)), '../..');
const program = process.env.KARDAN ?? join(root, 'build/kardan');
const folder = mkdtempSync(join(tmpdir(), 'kardan-render-test-'));
after(() => rmSync(folder, {recursive: true}));

const render = (...words) => spawnSync(program, ['render', ...words], {encoding: 'utf8'});

// width, height and the number of different pixels of a PNG file: filters undone line by line
function look(path) {
  const bytes = readFileSync(path), parts = [];
  let at = 8, head;
  while (at < bytes.length) {
    const n = bytes.readUInt32BE(at), kind = bytes.toString('latin1', at + 4, at + 8), data = bytes.subarray(at + 8, at + 8 + n);
    if (kind === 'IHDR') head = data;
    if (kind === 'IDAT') parts.push(data);
    at += 12 + n;
  }
  const width = head.readUInt32BE(0), height = head.readUInt32BE(4), channels = head[9] === 6 ? 4 : 3, stride = channels * width;
  const raw = inflateSync(Buffer.concat(parts)), line = Buffer.alloc(stride), above = Buffer.alloc(stride), colours = new Set();
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let i = 0; i < stride; i++) {
      const a = i >= channels ? line[i - channels] : 0, b = above[i], c = i >= channels ? above[i - channels] : 0;
      const p = a + b - c, pa = Math.abs(p - a), pb = Math.abs(p - b), pc = Math.abs(p - c);
      const guess = [0, a, b, (a + b) >> 1, pa <= pb && pa <= pc ? a : pb <= pc ? b : c][filter];
      line[i] = raw[y * (stride + 1) + 1 + i] + guess;
    }
    for (let i = 0; i < stride; i += 8 * channels) colours.add(line.readUIntBE(i, 3));
    line.copy(above);
  }
  return {width, height, colours: colours.size};
}

test('a picture has its size and shows the mechanism; another instant shows another picture', () => {
  const files = ['0', '0.4'].map(t => {
    const out = join(folder, `crank-${t}.png`), run = render(join(root, 'models/slider-crank.yaml'), '--t-end', '0.5', '--at', t, '--size', '400x300', '--output', out);
    assert.equal(run.status, 0, run.stderr);
    return out;
  });
  const {width, height, colours} = look(files[0]);
  assert.deepEqual([width, height], [400, 300]);
  assert.ok(colours > 20, `${colours} colours`);
  assert.notDeepEqual(readFileSync(files[0]), readFileSync(files[1]));
});

test('a film has its pictures', {skip: spawnSync('ffmpeg', ['-version']).error ? 'ffmpeg is not installed' : false}, () => {
  const out = join(folder, 'crank.mp4');
  const run = render(join(root, 'models/slider-crank.yaml'), '--t-end', '0.5', '--rate', '10', '--size', '320x240', '--output', out);
  assert.equal(run.status, 0, run.stderr);
  const count = execFileSync('ffprobe', ['-v', 'error', '-count_frames', '-show_entries', 'stream=nb_read_frames', '-of', 'csv=p=0', out], {encoding: 'utf8'});
  assert.equal(Number(count), 6);
});

test('a picture as SVG needs no browser', () => {
  const out = join(folder, 'crank.svg'), bin = mkdtempSync(join(folder, 'bin-'));
  symlinkSync('/bin/rm', join(bin, 'rm')); // all that there is
  const run = spawnSync(program, ['render', join(root, 'models/slider-crank.yaml'), '--t-end', '0.5', '--output', out],
    {encoding: 'utf8', env: {...process.env, PATH: bin}});
  assert.equal(run.status, 0, run.stderr);
  assert.match(readFileSync(out, 'utf8'), /<svg[^]*<path[^]*<\/svg>\s*$/);
  const other = render(join(root, 'models/slider-crank.yaml'), '--at', '0.2', '--output', out);
  assert.equal(other.status, 2);
  assert.ok(other.stderr.includes('--at, --view and reports need .png'), other.stderr);
});

test('what cannot be rendered is told in a sentence', () => {
  const page = join(folder, 'other.html');
  writeFileSync(page, '<!DOCTYPE html><p>nothing</p>');
  for (const [words, status, part] of [
    [[page], 1, 'the page has no 3-D view'],
    [[join(folder, 'missing.html')], 1, 'No such file'],
    [[page, '--output', 'x.gif'], 2, "neither a picture (.png, .svg) nor a film"],
    [[page, '--size', 'big'], 2, "'big' is no size"],
    [[page, '--view', 'sid'], 2, "did you mean 'side'?"],
  ]) {
    const run = render('--output', join(folder, 'x.png'), ...words);
    assert.equal(run.status, status, run.stderr);
    assert.ok(run.stderr.includes(part), run.stderr);
  }
  assert.ok(!existsSync(join(folder, 'x.png')));
});
