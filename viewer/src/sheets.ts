// sheets.ts: surfaces that deform. A node is at X + scale sum q_j S_j in the frame of its body; the program moves all nodes itself, which is
// a few hundred thousand multiplications for a picture.
import {BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, Group, Matrix4, Mesh, Points, PointsMaterial, Quaternion,
        MeshBasicMaterial, Sphere, SphereGeometry, Vector3, type Object3D, type Raycaster} from 'three';
import {Moving, type Style} from './batch';
import {bytesOf, type Deformed, type Scene} from './data';
import type {Film} from './film';
import {linkGeometry, paintMaterial, ROD} from './solids';

const HIGHLIGHT = new Color('#7ab8f5'), Z = new Vector3(0, 0, 1), ONE = new Vector3(1, 1, 1), BEAM = 0.007; // radius of a beam, of the mechanism
const SPOT = 0.012; // radius of a hot spot, of the mechanism
// from nothing to the largest
export const RAMP_COLOURS = ['#3b4cc0', '#4fa3d9', '#7fcf8f', '#f2d13c', '#d7301f'];
const RAMP = RAMP_COLOURS.map(c => new Color(c));
export type Colouring = 'none' | 'ways' | 'stress';

function ramp(part: number, out: Color): Color {
  const x = Math.min(Math.max(part, 0), 1) * (RAMP.length - 1), i = Math.min(Math.floor(x), RAMP.length - 2);
  return out.lerpColors(RAMP[i], RAMP[i + 1], x - i);
}

const words = (text: string): Uint16Array => {
  const bytes = bytesOf(text), out = new Uint16Array(bytes.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = bytes[2 * i] | bytes[2 * i + 1] << 8;
  return out;
};

// 16 bits with a sign, in parts of size
const parts = (text: string, size: number): Float32Array => Float32Array.from(words(text), x => (x > 32767 ? x - 65536 : x) / 32767 * size);

// One of them: its numbers, and where its nodes are now
export class Nodes {
  readonly rest: Float32Array;
  readonly shapes: Float32Array[];
  readonly at: Float32Array; // (nodes x 3) in the frame of the body
  readonly mises: Float32Array; // (nodes) von Mises stress [Pa]; NaN: not known there
  private readonly stress: Float32Array[]; // (shapes)(6 x places)
  private readonly sum: Float32Array;

  constructor(readonly d: Deformed) {
    const nodes = words(d.nodes);
    this.rest = Float32Array.from(nodes, (x, i) => d.low[i % 3] + x / 65535 * (d.high[i % 3] - d.low[i % 3]));
    this.shapes = d.shapes.map(s => parts(s.at, s.size));
    this.stress = d.places ? d.shapes.map(s => parts(s.stress!, s.pressure!)) : [];
    this.sum = new Float32Array(6 * (d.places?.length ?? 0));
    this.at = Float32Array.from(this.rest);
    this.mises = new Float32Array(this.rest.length / 3).fill(NaN);
  }

  get hasStress(): boolean { return this.sum.length > 0; }

  // of all nodes: the largest of the places that are drawn there; answers the largest of all
  load(q: ArrayLike<number>): number {
    const {sum, mises, d} = this;
    let most = 0;
    sum.fill(0);
    this.stress.forEach((stress, j) => {
      const f = q[d.first + j];
      if (f !== 0) for (let i = 0; i < sum.length; i++) sum[i] += f * stress[i];
    });
    mises.fill(NaN);
    d.places?.forEach((node, p) => {
      const [xx, yy, zz, xy, yz, zx] = sum.subarray(6 * p, 6 * p + 6);
      const value = Math.sqrt(((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) / 2 + 3 * (xy * xy + yz * yz + zx * zx));
      if (!(mises[node] >= value)) mises[node] = value;
      most = Math.max(most, value);
    });
    return most;
  }

  // the node nearest to a point of the part
  nearest(x: readonly number[]): number {
    let best = 0, least = Infinity;
    for (let i = 0; i < this.rest.length / 3; i++) {
      const square = (this.rest[3 * i] - x[0]) ** 2 + (this.rest[3 * i + 1] - x[1]) ** 2 + (this.rest[3 * i + 2] - x[2]) ** 2;
      if (square < least) [least, best] = [square, i];
    }
    return best;
  }

  // q: amplitudes of all surfaces
  deform(q: ArrayLike<number>, scale: number): void {
    const {at, rest, shapes, d} = this;
    at.set(rest);
    shapes.forEach((shape, j) => {
      const f = scale * q[d.first + j];
      if (f !== 0) for (let i = 0; i < at.length; i++) at[i] += f * shape[i];
    });
  }

  // how far node i is from where it is without deformation; scale: as at the last call of deform
  way(i: number, scale: number): number {
    const {at, rest} = this;
    return Math.hypot(at[3 * i] - rest[3 * i], at[3 * i + 1] - rest[3 * i + 1], at[3 * i + 2] - rest[3 * i + 2]) / scale;
  }
}

class Sheet {
  readonly nodes: Nodes;
  readonly group = new Group();
  readonly mesh: Mesh | null = null;
  private readonly beams: Moving | null = null;
  private readonly geometry = new BufferGeometry();
  private readonly material;
  private readonly points: Points | null = null;
  private readonly plain: Color;
  private readonly a = new Vector3();
  private readonly b = new Vector3();
  private readonly m = new Matrix4();
  private readonly n = new Matrix4();
  private readonly q = new Quaternion();
  private readonly size = new Vector3();
  private readonly colour = new Color();
  private readonly spots: {mark: Mesh; at: readonly number[]; node: number}[] = [];

  constructor(d: Deformed, scene: Scene, parent: Object3D, style: Style) {
    this.nodes = new Nodes(d);
    this.plain = new Color(scene.colours[d.paint]);
    const count = this.nodes.rest.length / 3, beam = BEAM * scene.size;
    this.geometry.setAttribute('position', new BufferAttribute(this.nodes.at, 3).setUsage(DynamicDrawUsage));
    this.geometry.setAttribute('color', new BufferAttribute(new Float32Array(3 * count), 3));
    this.geometry.boundingSphere = new Sphere(new Vector3(), Infinity); // it moves
    this.material = Object.assign(paintMaterial('#ffffff', true, style.slow), {flatShading: true, side: DoubleSide});
    this.setOpacity(style.opacity);
    if (d.triangles.length > 0) {
      this.geometry.setIndex(d.triangles);
      this.mesh = new Mesh(this.geometry, this.material);
      this.mesh.castShadow = this.mesh.receiveShadow = style.shadows;
      this.mesh.frustumCulled = false;
      this.group.add(this.mesh);
    }
    if (d.lines.length > 0) {
      const geometry = linkGeometry(ROD, d.lines.length / 2, style), place = new Matrix4().makeScale(beam, beam, 1);
      this.beams = new Moving(Array.from({length: d.lines.length / 2}, () => [{geometry, place, colour: this.plain}]), this.group, style);
    }
    if (!this.mesh && !this.beams) {
      this.points = new Points(this.geometry, new PointsMaterial({vertexColors: true, size: 4, sizeAttenuation: false}));
      this.points.frustumCulled = false;
      this.group.add(this.points);
    }
    for (const spot of scene.spots ?? []) {
      if (spot.body !== scene.bodies[d.body].name) continue;
      const mark = new Mesh(new SphereGeometry(SPOT * scene.size, 16, 12), new MeshBasicMaterial({color: '#d81b9a', depthTest: false, transparent: true, opacity: 0.75}));
      mark.visible = false;
      mark.renderOrder = 5;
      this.group.add(mark);
      // lines are thinner than the beams that they stand for
      const node = this.nodes.nearest(spot.at), rest = this.nodes.rest;
      this.spots.push({mark, at: this.mesh ? spot.at : [rest[3 * node], rest[3 * node + 1], rest[3 * node + 2]], node});
    }
    this.paint(this.plain, 1);
    parent.add(this.group);
  }

  mark(on: boolean): void { for (const {mark} of this.spots) mark.visible = on; }

  setOpacity(opacity: number): void {
    Object.assign(this.material, {opacity, transparent: opacity < 1, depthWrite: opacity === 1, needsUpdate: true});
    this.beams?.setOpacity(opacity);
  }

  place(film: Film, scale: number): void {
    const pose = film.poses[this.nodes.d.body], lines = this.nodes.d.lines, at = this.nodes.at;
    this.nodes.deform(film.amplitudes, scale);
    this.group.position.copy(pose.r);
    this.group.quaternion.copy(pose.q);
    this.geometry.attributes.position.needsUpdate = true;
    // hot spots go with the nearest node
    for (const {mark, at: x, node} of this.spots)
      mark.position.fromArray(x).add(this.a.fromArray(at, 3 * node)).sub(this.b.fromArray(this.nodes.rest, 3 * node));
    if (!this.beams) return;
    for (let i = 0; i < lines.length / 2; i++) {
      this.a.fromArray(at, 3 * lines[2 * i]);
      this.b.fromArray(at, 3 * lines[2 * i + 1]).sub(this.a);
      const length = Math.max(this.b.length(), 1e-9);
      this.q.setFromUnitVectors(Z, this.b.divideScalar(length));
      this.beams.move(i, this.m.compose(this.a, this.q, this.size.set(1, 1, length)), this.n.compose(this.a, this.q, ONE));
    }
    this.beams.moved();
  }

  // towards one colour
  paint(colour: Color, how: number): void {
    const out = this.geometry.attributes.color;
    this.colour.copy(this.plain).lerp(colour, how);
    for (let i = 0; i < out.count; i++) out.setXYZ(i, this.colour.r, this.colour.g, this.colour.b);
    out.needsUpdate = true;
    for (let i = 0; this.beams && i < this.nodes.d.lines.length / 2; i++) this.beams.tint(i, colour, how);
  }

  // by a number of each node; NaN: it has none, and the colour of the body
  private paintParts(part: (node: number) => number): void {
    const out = this.geometry.attributes.color, lines = this.nodes.d.lines;
    const colourOf = (x: number): Color => (Number.isNaN(x) ? this.colour.copy(this.plain) : ramp(x, this.colour));
    for (let i = 0; i < out.count; i++) {
      colourOf(part(i));
      out.setXYZ(i, this.colour.r, this.colour.g, this.colour.b);
    }
    out.needsUpdate = true;
    for (let i = 0; this.beams && i < lines.length / 2; i++) this.beams.tint(i, colourOf(0.5 * (part(lines[2 * i]) + part(lines[2 * i + 1]))), 1);
  }

  // by the way of each node
  paintWays(most: number, scale: number): void {
    this.paintParts(i => (most > 0 ? this.nodes.way(i, scale) / most : 0));
  }

  // by the stress at each node; answers the largest
  paintStress(film: Film, most: number): number {
    const largest = this.nodes.load(film.amplitudes);
    this.paintParts(i => (most > 0 ? this.nodes.mises[i] / most : 0 * this.nodes.mises[i]));
    return largest;
  }

  pick(ray: Raycaster): {body: number; point: Vector3; distance: number} | null {
    const body = this.nodes.d.body, mesh = this.mesh ? ray.intersectObject(this.mesh, false)[0] : undefined, beam = this.beams?.pick(ray) ?? null;
    if (mesh && (!beam || mesh.distance < beam.distance)) return {body, point: mesh.point, distance: mesh.distance};
    return beam && {body, point: beam.point, distance: beam.distance};
  }

  remove(): void {
    this.group.removeFromParent();
    this.geometry.dispose();
    this.material.dispose();
    this.beams?.remove();
    (this.points?.material as PointsMaterial | undefined)?.dispose();
    for (const {mark} of this.spots) {
      mark.geometry.dispose();
      (mark.material as MeshBasicMaterial).dispose();
    }
  }
}

export class Sheets {
  private readonly all: Sheet[];
  private bright: number | null = null;
  private coloured: Colouring = 'none';
  loaded = 0; // the largest stress at the last place [Pa]

  constructor(scene: Scene, parent: Object3D, style: Style) {
    this.all = (scene.deformed ?? []).map(d => new Sheet(d, scene, parent, style));
  }

  get count(): number { return this.all.length; }

  // most, stressed: the way and the stress of the last colour of the scale
  place(film: Film, scale: number, most: number, stressed: number): void {
    for (const sheet of this.all) {
      sheet.place(film, scale);
      if (this.coloured === 'ways') sheet.paintWays(most, scale);
    }
    if (this.coloured === 'stress') this.loaded = Math.max(...this.all.map(sheet => sheet.paintStress(film, stressed)));
  }

  get hasStress(): boolean { return this.all.some(s => s.nodes.hasStress); }

  private of(body: number): Sheet[] { return this.all.filter(s => s.nodes.d.body === body); }
  show(body: number, on: boolean): void { for (const sheet of this.of(body)) sheet.group.visible = on; }
  fade(body: number, opacity: number): void { for (const sheet of this.of(body)) sheet.setOpacity(opacity); }

  highlight(body: number | null): void {
    this.bright = body;
    if (this.coloured !== 'none') return;
    for (const sheet of this.all) sheet.paint(HIGHLIGHT, sheet.nodes.d.body === body ? 0.65 : 0);
  }

  // colours by the way of the nodes or by their stress, from the next place on
  colour(how: Colouring): void {
    this.coloured = how;
    for (const sheet of this.all) sheet.mark(how === 'stress');
    if (how === 'none') this.highlight(this.bright);
  }

  // the largest stress, at some frames and at the hot spots
  stressed(film: Film, scene: Scene): number {
    let most = 0;
    const step = Math.max(1, Math.floor(film.frames / 40));
    for (let f = 0; this.hasStress && f < film.frames; f += step) for (const {nodes} of this.all) most = Math.max(most, nodes.load(film.amplitudesAt(f)));
    return (scene.spots ?? []).reduce((largest, spot) => Math.max(largest, spot.mises), most);
  }

  // the longest way of a node, at some frames
  longest(film: Film): number {
    let most = 0;
    const step = Math.max(1, Math.floor(film.frames / 40));
    for (let f = 0; f < film.frames; f += step) for (const {nodes} of this.all) {
      nodes.deform(film.amplitudesAt(f), 1);
      for (let i = 0; i < nodes.at.length / 3; i++) most = Math.max(most, nodes.way(i, 1));
    }
    return most;
  }

  pick(ray: Raycaster): {body: number; point: Vector3; distance: number} | null {
    return this.all.filter(s => s.group.visible).map(s => s.pick(ray)).filter(hit => hit !== null).sort((a, b) => a.distance - b.distance)[0] ?? null;
  }

  // of the world, now: for tests
  node(sheet: number, i: number, out = new Vector3()): Vector3 {
    const {nodes, group} = this.all[sheet];
    return out.fromArray(nodes.at, 3 * i).applyQuaternion(group.quaternion).add(group.position);
  }

  remove(): void { this.all.forEach(s => s.remove()); }
}
