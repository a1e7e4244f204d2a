// data.ts: what a page knows of a run. The program writes it as one JSON text and some blocks of numbers, which are
// deflated and in base64; everything that comes from a model (names, words) is data and is shown as text, never as HTML.

export type Vec = [number, number, number];
export type Quat = [number, number, number, number]; // w, x, y, z

export interface Body { name: string; mass: number; paint: number; centre: Vec }
// form: as FORMS in solids.ts; ratio: inner over outer radius of a tube, number of a surface; body -1 is the ground
export interface Solid { form: number; ratio: number; body: number; paint: number; r: Vec; q: Quat; size: Vec }
export interface Surface { v: number[]; f: number[] } // corners in a box with edges 1, three of them for each triangle
export interface Coil { name: string; from: number; fromR: Vec; to: number; toR: Vec; radius: number } // radius 0: a rod
export interface Trace { body: number; r: Vec; paint: number }
export interface Channel { name: string; unit: string; bytes: 4 | 8 }
export interface Plot { title: string; unit: string; log: boolean; channels: number[]; note: string }
export interface Event { t: number; kind: string; element: string; text: string }
export interface Camera { centre: Vec; up: Vec; front: Vec; right: Vec; azimuth: number; elevation: number; distance: number }

export interface Scene {
  title: string;
  frames: number; rows: number; // of the film, of the channels
  low: Vec; high: Vec;          // the box that positions are rounded in
  bodies: Body[]; surfaces?: Surface[]; solids: Solid[]; coils: Coil[]; traces: Trace[];
  colours: string[];
  camera: Camera;
  radius: number; floor: number; grid: number; size: number;
  follows: boolean; falls: boolean;
  channels: Channel[]; plots: Plot[]; events: Event[];
}

export interface Run {
  scene: Scene;
  times: Float64Array;    // (frames) of the film
  pose: Float64Array;     // (frames x 7 bodies): position, quaternion
  rows: Float64Array;     // (rows) times of the channels
  column: Float64Array[]; // (channels)(rows)
}

// base64 and deflate (zlib's format) undone by the browser
async function inflate(text: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers of `size` bytes whose first bytes stand together, then their second bytes, and so on
function gather(planes: Uint8Array, offset: number, count: number, size: number): DataView {
  const bytes = new Uint8Array(count * size);
  for (let k = 0; k < size; k++)
    for (let i = 0; i < count; i++) bytes[i * size + k] = planes[offset + k * count + i];
  return new DataView(bytes.buffer);
}

function doubles(planes: Uint8Array, offset: number, count: number, size: number): Float64Array {
  const view = gather(planes, offset, count, size), out = new Float64Array(count);
  for (let i = 0; i < count; i++) out[i] = size === 8 ? view.getFloat64(8 * i, true) : view.getFloat32(4 * i, true);
  return out;
}

// Components of poses as 16-bit differences along time: fractions of the box, multiples of 1/32767
function unpackPoses(planes: Uint8Array, s: Scene): Float64Array {
  const n = s.bodies.length, frames = s.frames, out = new Float64Array(7 * n * frames);
  const view = gather(planes, 0, 7 * n * frames, 2);
  for (let c = 0; c < 7 * n; c++) {
    const k = c % 7;
    let value = 0;
    for (let i = 0; i < frames; i++) {
      value = (value + view.getUint16(2 * (c * frames + i), true)) & 0xffff;
      out[i * 7 * n + c] = k < 3 ? s.low[k] + value / 65535 * (s.high[k] - s.low[k])
                                 : (value > 32767 ? value - 65536 : value) / 32767;
    }
  }
  return out;
}

export const hasBlock = (root: ParentNode, name: string): boolean => root.querySelector(`script[data-kardan="${name}"]`) !== null;

// front: of the names of the blocks, 'beside-' for the other run of the page
export async function readRun(root: ParentNode, front = ''): Promise<Run> {
  const text = (name: string): string => {
    const element = root.querySelector(`script[data-kardan="${front}${name}"]`);
    if (!element) throw new Error(`the page has no data '${name}'`);
    return element.textContent ?? '';
  };
  const scene = JSON.parse(text('scene')) as Scene;
  const [times, pose, rows, channels] = await Promise.all(['times', 'pose', 'rows', 'channels'].map(k => inflate(text(k))));
  const column: Float64Array[] = [];
  let offset = 0;
  for (const c of scene.channels) {
    column.push(doubles(channels, offset, scene.rows, c.bytes));
    offset += scene.rows * c.bytes;
  }
  return {scene, times: doubles(times, 0, scene.frames, 8), pose: unpackPoses(pose, scene),
          rows: doubles(rows, 0, scene.rows, 8), column};
}
