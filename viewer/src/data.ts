// data.ts: what a page knows of a run. The program writes it as one JSON text and some blocks of numbers, which are
// deflated and in base64; everything that comes from a model (names, words) is data and is shown as text, never as HTML.

export type Vec = [number, number, number];
export type Quat = [number, number, number, number]; // w, x, y, z

export interface Body { name: string; mass: number; paint: number; centre: Vec }
// form: as FORMS in solids.ts; ratio: inner over outer radius of a tube, number of a surface; body -1 is the ground
export interface Solid { form: number; ratio: number; body: number; paint: number; r: Vec; q: Quat; size: Vec }
export interface Surface { v: number[]; f: number[] } // corners in a box with edges 1, three of them for each triangle
// what stretches between two points; look: as COIL .. in solids.ts
export interface Coil { name: string; from: number; fromR: Vec; to: number; toR: Vec; radius: number; look: number; paint: number }
export interface Course { name: string; body: number; points: number[] } // a track, a road, a curve to run along
// a force on a body (0), a reaction (1), a force of what touches (2), whose point of contact is `drop` below along `normal` of `under`
export interface Load { name: string; kind: number; body: number; r: Vec; under: number; normal: Vec; drop: number; largest: number }
// a surface that deforms: nodes in 16 bits of the box low .. high, shapes in 16 bits of their size; first: number of its first amplitude
// places: the nodes at which stress is drawn, where it is known: six components xx yy zz xy yz zx in 16 bits of `pressure` [Pa]
export interface Shape { size: number; largest: number; at: string; pressure?: number; stress?: string }
export interface Deformed { body: number; paint: number; first: number; low: Vec; high: Vec; nodes: string; triangles: number[]; lines: number[]; places?: number[]; shapes: Shape[] }
export interface Spot { body: string; where: string; at: Vec; mises: number; t: number } // where stress is large, at its worst time
export interface Trace { body: number; r: Vec; paint: number }
export interface Channel { name: string; unit: string; bytes: 4 | 8 }
export interface Plot { title: string; unit: string; log: boolean; channels: number[]; note: string }
export interface Event { t: number; kind: string; element: string; text: string }
export interface Camera { centre: Vec; up: Vec; front: Vec; right: Vec; azimuth: number; elevation: number; distance: number }

export interface Scene {
  title: string;
  steps?: boolean; // floats of channels are differences; a report of before has them as they are
  frames: number; rows: number; // of the film, of the channels
  low: Vec; high: Vec;          // the box that positions are rounded in
  bodies: Body[]; surfaces?: Surface[]; solids: Solid[]; coils: Coil[]; traces: Trace[]; lines?: Course[]; deformed?: Deformed[];
  loads?: Load[]; loadFrames?: number;
  colours: string[];
  camera: Camera;
  radius: number; floor: number; grid: number; size: number;
  follows: boolean; falls: boolean;
  home?: Vec; // middle of all bodies when the scene was made, of a run that goes on; without: that of the first frame
  channels: Channel[]; plots: Plot[]; events: Event[];
  spots?: Spot[];
}

export interface Run {
  scene: Scene;
  times: Float64Array;    // (frames) of the film
  pose: Float32Array | Float64Array; // (frames x 7 bodies): position, quaternion
  amplitude?: Float32Array | Float64Array; // (frames x amplitudes) of the shapes of all surfaces that deform
  rows: Float64Array;     // (rows) times of the channels
  column: Float64Array[]; // (channels)(rows)
  loadTimes?: Float64Array;
  force?: Float32Array;   // (loads x 3 x times) axes of the world [N]
}

// base64 and deflate (zlib's format) undone by the browser
async function inflate(text: string): Promise<Uint8Array> {
  const stream = new Blob([bytesOf(text.trim())]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const direct = (Uint8Array as unknown as {fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}).fromBase64;
  if (direct) return direct(text);
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Numbers of `size` bytes whose first bytes stand together, then their second bytes, and so on
function doubles(planes: Uint8Array, offset: number, count: number, size: number): Float64Array {
  const bytes = new Uint8Array(count * size), view = new DataView(bytes.buffer), out = new Float64Array(count);
  for (let k = 0; k < size; k++)
    for (let i = 0; i < count; i++) bytes[i * size + k] = planes[offset + k * count + i];
  for (let i = 0; i < count; i++) out[i] = size === 8 ? view.getFloat64(8 * i, true) : view.getFloat32(4 * i, true);
  return out;
}

// Floats as differences of their bits from row to row, in planes
function stepped(planes: Uint8Array, offset: number, count: number): Float64Array {
  const bits = new Uint32Array(count);
  for (let i = 0, at = offset, sum = 0; i < count; i++, at++)
    bits[i] = sum = (sum + (planes[at] | planes[at + count] << 8 | planes[at + 2 * count] << 16 | planes[at + 3 * count] << 24)) | 0;
  return Float64Array.from(new Float32Array(bits.buffer));
}

// Components of poses as 16-bit differences along time: fractions of the box, multiples of 1/32767
function unpackPoses(planes: Uint8Array, s: Scene): Float32Array {
  const n = s.bodies.length, frames = s.frames, count = 7 * n * frames, out = new Float32Array(count);
  for (let c = 0; c < 7 * n; c++) {
    const k = c % 7, low = k < 3 ? s.low[k] : 0, unit = k < 3 ? (s.high[k] - s.low[k]) / 65535 : 1 / 32767;
    let value = 0;
    for (let i = 0, at = c * frames; i < frames; i++, at++) {
      value = (value + (planes[at] | planes[count + at] << 8)) & 0xffff;
      out[i * 7 * n + c] = low + unit * (k < 3 || value < 32768 ? value : value - 65536);
    }
  }
  return out;
}

// Numbers as 16-bit differences along time, each column by its largest
function unpackSteps(planes: Uint8Array, frames: number, largest: number[]): Float32Array {
  const count = frames * largest.length, out = new Float32Array(count);
  largest.forEach((most, c) => {
    for (let i = 0, at = c * frames, value = 0; i < frames; i++, at++) {
      value = (value + (planes[at] | planes[count + at] << 8)) & 0xffff;
      out[at] = (value > 32767 ? value - 65536 : value) / 32767 * most;
    }
  });
  return out;
}

// amplitudes of all surfaces; none where nothing deforms
async function readAmplitudes(root: ParentNode, front: string, s: Scene): Promise<Float32Array | undefined> {
  const largest = (s.deformed ?? []).flatMap(d => d.shapes.map(shape => shape.largest)), n = largest.length;
  if (n === 0) return undefined;
  const columns = unpackSteps(await inflate(textOf(root, front + 'amplitudes')), s.frames, largest), out = new Float32Array(columns.length);
  for (let j = 0; j < n; j++) for (let i = 0; i < s.frames; i++) out[i * n + j] = columns[j * s.frames + i];
  return out;
}

export const hasBlock = (root: ParentNode, name: string): boolean => root.querySelector(`script[data-kardan="${name}"]`) !== null;

// front: of the names of the blocks, 'beside-' for the other run of the page
function textOf(root: ParentNode, name: string): string {
  const element = root.querySelector(`script[data-kardan="${name}"]`);
  if (!element) throw new Error(`the page has no data '${name}'`);
  return element.textContent ?? '';
}

// What the 3-D view needs; the channels, which are many, come by readChannels
export async function readMotion(root: ParentNode, front = ''): Promise<Run> {
  const scene = JSON.parse(textOf(root, front + 'scene')) as Scene;
  const [times, pose] = await Promise.all(['times', 'pose'].map(k => inflate(textOf(root, front + k))));
  return {scene, times: doubles(times, 0, scene.frames, 8), pose: unpackPoses(pose, scene), amplitude: await readAmplitudes(root, front, scene), rows: new Float64Array(), column: []};
}

export async function readChannels(run: Run, root: ParentNode, front = ''): Promise<void> {
  const {scene, column} = run, [rows, channels] = await Promise.all(['rows', 'channels'].map(k => inflate(textOf(root, front + k))));
  run.rows = doubles(rows, 0, scene.rows, 8);
  let offset = 0;
  for (const c of scene.channels) {
    column.push(scene.steps && c.bytes === 4 ? stepped(channels, offset, scene.rows) : doubles(channels, offset, scene.rows, c.bytes));
    offset += scene.rows * c.bytes;
  }
  if (!scene.loads?.length || !hasBlock(root, front + 'loads')) return;
  const [times, loads] = await Promise.all(['load-times', 'loads'].map(k => inflate(textOf(root, front + k))));
  run.loadTimes = doubles(times, 0, scene.loadFrames!, 8);
  run.force = unpackSteps(loads, scene.loadFrames!, scene.loads.flatMap(l => [l.largest, l.largest, l.largest]));
}

export async function readRun(root: ParentNode, front = ''): Promise<Run> {
  const run = await readMotion(root, front);
  await readChannels(run, root, front);
  return run;
}
