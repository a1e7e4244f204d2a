// solids.ts: geometries of unit size: the forms of solids, and of what stretches between two points.
import {BoxGeometry, BufferGeometry, Color, CylinderGeometry, ExtrudeGeometry, Float32BufferAttribute,
        Matrix4, MeshLambertMaterial, MeshStandardMaterial, Path, Quaternion, Shape, SphereGeometry, Vector3} from 'three';
import {mergeGeometries} from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type {Scene, Solid, Surface} from './data';

export const BALL = 0, BOX = 1, CYLINDER = 2, PYRAMID = 3, TUBE = 4, SURFACE = 5;
export const COIL = 0, ROD = 1, DAMPER = 2, ROPE = 3, COUPLING = 4; // links; rods and ropes are the same but for their radius

// slow: the processor draws, and every corner costs
export interface Fineness { slow: boolean }

// ---- solids
// A sector of a disc is darker, so that one sees it turn
function marked(geometry: BufferGeometry): BufferGeometry {
  const flat = geometry.index ? geometry.toNonIndexed() : geometry, at = flat.getAttribute('position'), colour: number[] = [];
  for (let i = 0; i < at.count; i += 3) {
    const x = (at.getX(i) + at.getX(i + 1) + at.getX(i + 2)) / 3, y = (at.getY(i) + at.getY(i + 1) + at.getY(i + 2)) / 3;
    const shade = x > 0 && Math.abs(y) < 0.45 * x ? 0.55 : 1;
    for (let k = 0; k < 9; k++) colour.push(shade);
  }
  flat.setAttribute('color', new Float32BufferAttribute(colour, 3));
  return flat;
}

function tube(ratio: number, sides: number): BufferGeometry {
  const ring = new Shape().absarc(0, 0, 1, 0, 2 * Math.PI, false);
  ring.holes.push(new Path().absarc(0, 0, Math.min(Math.max(ratio, 0.05), 0.98), 0, 2 * Math.PI, true));
  const geometry = new ExtrudeGeometry(ring, {depth: 1, bevelEnabled: false, curveSegments: sides});
  return geometry.translate(0, 0, -0.5);
}

// A round body of few sides from z = -1/2 to 1/2, its ends of as few triangles as there can be; top 0: a pyramid
function prism(top: number, bottom: number, sides: number): BufferGeometry {
  const open = new CylinderGeometry(top, bottom, 1, sides, 1, true).rotateX(Math.PI / 2);
  const ends = [[top, 0.5, 1], [bottom, -0.5, -1]].filter(([radius]) => radius > 0).map(([radius, z, up]) => {
    const at: number[] = [], normal: number[] = [], around: number[] = [], index: number[] = [];
    for (let i = 0; i < sides; i++) {
      const angle = 2 * Math.PI * i / sides;
      at.push(radius * Math.sin(angle), -radius * Math.cos(angle), z); // as those of the cylinder
      normal.push(0, 0, up);
      around.push(0, 0);
      if (i > 1) index.push(0, up > 0 ? i - 1 : i, up > 0 ? i : i - 1);
    }
    const end = new BufferGeometry();
    end.setAttribute('position', new Float32BufferAttribute(at, 3));
    end.setAttribute('normal', new Float32BufferAttribute(normal, 3));
    end.setAttribute('uv', new Float32BufferAttribute(around, 2)); // nothing asks for it, but all have it
    end.setIndex(index);
    return end;
  });
  return mergeGeometries([open, ...ends]);
}

// Triangles of a file, each with its own corners, so that edges stay sharp
function surface(s: Surface): BufferGeometry {
  const at = new Float32Array(3 * s.f.length);
  for (let i = 0; i < s.f.length; i++) for (let k = 0; k < 3; k++) at[3 * i + k] = s.v[3 * s.f[i] + k];
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new Float32BufferAttribute(at, 3));
  geometry.computeVertexNormals();
  return geometry;
}

// Sides of a round solid by its radius in a picture of some 700 pixels
function sidesOf(solid: Solid, scene: Scene, fineness: Fineness): number {
  const pixels = 350 * Math.max(solid.size[0], solid.form === BALL ? 0 : solid.size[1]) / scene.radius;
  const sides = pixels < 2 ? 4 : pixels < 7 ? 6 : pixels < 12 ? 10 : pixels < 25 ? 14 : pixels < 60 ? 20 : 28;
  return fineness.slow ? sides : Math.max(20, sides);
}

// Geometries of unit size, made once: radius 1, length 1 along z; edges 1
const kept = new Map<string, BufferGeometry>();
const keptSurfaces = new WeakMap<Surface, BufferGeometry>(); // another run, or the file read again, has others

function make(form: number, ratio: number, sides: number): BufferGeometry {
  if (form === BALL) {
    const ball = new SphereGeometry(1, sides, Math.max(5, Math.round(0.65 * sides))).rotateX(Math.PI / 2);
    return sides < 14 ? ball : marked(ball);
  }
  if (form === BOX) return new BoxGeometry(1, 1, 1);
  if (form === PYRAMID) return prism(0, Math.SQRT2, 4).rotateZ(Math.PI / 4).translate(0, 0, -0.5);
  if (form === TUBE) return marked(tube(ratio, Math.max(9, sides)));
  // nobody sees a sector of a pin
  return sides < 14 ? prism(1, 1, sides) : marked(new CylinderGeometry(1, 1, 1, sides).rotateX(Math.PI / 2));
}

export function solidGeometry(solid: Solid, scene: Scene, fineness: Fineness): BufferGeometry {
  if (solid.form === SURFACE) {
    const from = scene.surfaces![solid.ratio];
    let geometry = keptSurfaces.get(from);
    if (!geometry) keptSurfaces.set(from, geometry = surface(from));
    return geometry;
  }
  const round = solid.form !== BOX && solid.form !== PYRAMID, sides = round ? sidesOf(solid, scene, fineness) : 0;
  const key = `${solid.form}:${solid.form === TUBE ? solid.ratio.toFixed(2) : ''}:${sides}`;
  let geometry = kept.get(key);
  if (!geometry) kept.set(key, geometry = make(solid.form, solid.ratio, sides));
  return geometry;
}

// in the frame of its body
export function placeOf(s: Solid): Matrix4 {
  return new Matrix4().compose(new Vector3(...s.r), new Quaternion(s.q[1], s.q[2], s.q[3], s.q[0]), new Vector3(...s.size));
}

export function paintMaterial(colour: string, sectors: boolean, slow: boolean): MeshStandardMaterial | MeshLambertMaterial {
  const common = {color: new Color(colour), vertexColors: sectors};
  return slow ? new MeshLambertMaterial(common) : new MeshStandardMaterial({...common, roughness: 0.55, metalness: 0.1});
}

// ---- links, of length 1 along z and radius 1
const bar = (radius: number, from: number, to: number, sides: number): BufferGeometry =>
  new CylinderGeometry(radius, radius, to - from, sides).rotateX(Math.PI / 2).translate(0, 0, 0.5 * (from + to));

// straight ends, windings between. The wire is round in a spring that is WIRE_LENGTH times as long as its radius: what stretches it stretches
// the wire along the axis, too
const WINDINGS = 7, WIRE = 0.13, WIRE_LENGTH = 14;
function helix(around: number, sides: number): BufferGeometry {
  const middle: Vector3[] = [new Vector3(0, 0, 0), new Vector3(0, 0, 0.08)];
  for (let i = 0; i <= around * WINDINGS; i++) {
    const f = i / (around * WINDINGS), angle = 2 * Math.PI * WINDINGS * f;
    middle.push(new Vector3(Math.cos(angle), Math.sin(angle), 0.1 + 0.8 * f));
  }
  middle.push(new Vector3(0, 0, 0.92), new Vector3(0, 0, 1));
  const at: number[] = [], normal: number[] = [], index: number[] = [], across = new Vector3(), along = new Vector3(), n = new Vector3();
  middle.forEach((p, i) => {
    // two directions across the wire, in a frame in which it is round
    const q = middle[Math.min(i + 1, middle.length - 1)], o = middle[Math.max(i - 1, 0)];
    along.set(q.x - o.x, q.y - o.y, WIRE_LENGTH * (q.z - o.z)).normalize();
    across.set(p.x, p.y, 0);
    if (across.lengthSq() < 0.1) across.set(1, 0, 0);
    across.addScaledVector(along, -across.dot(along)).normalize();
    const other = along.clone().cross(across);
    for (let k = 0; k < sides; k++) {
      const theta = 2 * Math.PI * k / sides;
      n.copy(across).multiplyScalar(Math.cos(theta)).addScaledVector(other, Math.sin(theta));
      at.push(p.x + WIRE * n.x, p.y + WIRE * n.y, p.z + WIRE * n.z / WIRE_LENGTH);
      normal.push(n.x, n.y, n.z * WIRE_LENGTH);
      if (i + 1 === middle.length) continue;
      const a = sides * i + k, b = sides * i + (k + 1) % sides;
      index.push(a, b, a + sides, b, b + sides, a + sides);
    }
  });
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new Float32BufferAttribute(at, 3));
  geometry.setAttribute('normal', new Float32BufferAttribute(normal, 3));
  geometry.setIndex(index);
  return geometry;
}

// what couples two bodies without a place of its own: a row of dashes
const dashes = (): BufferGeometry => mergeGeometries(Array.from({length: 9}, (_, i) => bar(1, (i + 0.2) / 9, (i + 0.8) / 9, 5)));

// many springs have fewer sides
export function linkGeometry(look: number, count: number, fineness: Fineness): BufferGeometry {
  const coarse = fineness.slow || count > 50, key = `link:${look}:${coarse}`;
  let geometry = kept.get(key);
  if (geometry) return geometry;
  if (look === COIL) geometry = coarse ? helix(10, 3) : helix(20, 6);
  else if (look === DAMPER) geometry = mergeGeometries([bar(1, 0.04, 0.55, coarse ? 8 : 14), bar(0.4, 0, 1, coarse ? 5 : 10)]);
  else if (look === COUPLING) geometry = dashes();
  else geometry = bar(1, 0, 1, coarse ? 6 : 12);
  kept.set(key, geometry);
  return geometry;
}
