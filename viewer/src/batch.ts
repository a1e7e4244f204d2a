// batch.ts: everything that moves in one mesh, whose corners the program moves itself: one call of the graphics for each picture. Calls, and
// instances likewise, cost more than corners where the processor draws, and for a card there are not many.
import {BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, Group, Matrix4, Mesh, Quaternion, Raycaster, Sphere, Vector3, type Material, type Object3D} from 'three';
import type {Scene} from './data';
import type {Film, Pose} from './film';
import {plainMaterial} from './light';
import {linkGeometry, paintMaterial, placeOf, solidGeometry, type Fineness} from './solids';

export const GROUND = -1;

export interface Style extends Fineness { opacity: number; shadows: boolean }

const NOWHERE = new Matrix4().makeScale(0, 0, 0), ONE = new Vector3(1, 1, 1), Z = new Vector3(0, 0, 1), HIGHLIGHT = new Color('#7ab8f5');
const LARGE = 4000; // corners from which on a part is a mesh of its own: surfaces from files

export interface Piece { geometry: BufferGeometry; place: Matrix4; colour: Color }
interface Part { first: number; count: number; own: Mesh | null } // its corners

// Corners, normals, colours and triangles of pieces one behind the other
class Gathered {
  position: number[] = [];
  normal: number[] = [];
  colour: number[] = [];
  index: number[] = [];

  add({geometry, place, colour}: Piece): void {
    const first = this.position.length / 3, at = geometry.getAttribute('position'), normal = geometry.getAttribute('normal');
    const shade = geometry.hasAttribute('color') ? geometry.getAttribute('color') : null, v = new Vector3(), turned = place.clone().invert().transpose();
    for (let i = 0; i < at.count; i++) {
      v.fromBufferAttribute(at, i).applyMatrix4(place).toArray(this.position, this.position.length);
      v.fromBufferAttribute(normal, i).transformDirection(turned).toArray(this.normal, this.normal.length);
      const f = shade ? shade.getX(i) : 1;
      this.colour.push(f * colour.r, f * colour.g, f * colour.b);
    }
    const corners = geometry.index ? geometry.index.count : at.count;
    for (let i = 0; i < corners; i++) this.index.push(first + (geometry.index ? geometry.index.getX(i) : i));
  }

  make(): BufferGeometry {
    const geometry = new BufferGeometry(), floats = (list: number[]): BufferAttribute => new BufferAttribute(new Float32Array(list), 3);
    geometry.setAttribute('position', floats(this.position));
    geometry.setAttribute('normal', floats(this.normal));
    geometry.setAttribute('color', floats(this.colour));
    geometry.setIndex(new BufferAttribute(new Uint32Array(this.index), 1));
    geometry.boundingSphere = new Sphere(new Vector3(), Infinity); // it moves
    return geometry;
  }
}

// Parts that move independently of each other
export class Moving {
  readonly group = new Group();
  private readonly parts: Part[];
  private readonly mesh: Mesh;
  private readonly rest: Float32Array;    // corners and normals in the frames of the parts
  private readonly restNormal: Float32Array;
  private readonly paint: Float32Array[]; // colours as they were made: of the mesh, then of those of their own
  private material: Material;
  private opacity: number;
  private shaded = false; // shadows are wanted although the processor draws

  constructor(parts: Piece[][], parent: Object3D, private readonly style: Style) {
    const all = new Gathered();
    this.opacity = style.opacity;
    this.material = this.makeMaterial();
    this.parts = parts.map((pieces, number) => {
      const corners = pieces.reduce((sum, piece) => sum + piece.geometry.getAttribute('position').count, 0), first = all.position.length / 3;
      const own = corners > LARGE ? new Gathered() : null;
      for (const piece of pieces) (own ?? all).add(piece);
      return {first, count: own ? 0 : corners, own: own ? this.show(own.make(), number, style) : null};
    });
    this.mesh = this.show(all.make(), -1, style);
    const {position, normal} = this.mesh.geometry.attributes;
    this.rest = Float32Array.from(position.array);
    this.restNormal = Float32Array.from(normal.array);
    for (const attribute of [position, normal]) (attribute as BufferAttribute).setUsage(DynamicDrawUsage);
    this.paint = [this.mesh, ...this.parts.flatMap(p => p.own ?? [])].map(mesh => Float32Array.from(mesh.geometry.getAttribute('color').array));
    parent.add(this.group);
  }

  // what looks solid and takes no shadow needs little
  private makeMaterial(): Material {
    const {opacity} = this;
    if (this.style.slow && opacity === 1 && !this.shaded) return plainMaterial();
    return Object.assign(paintMaterial('#ffffff', true, this.style.slow), {opacity, transparent: opacity < 1, depthWrite: opacity === 1});
  }

  private paintAgain(): void {
    this.material.dispose();
    this.material = this.makeMaterial();
    for (const mesh of this.group.children) (mesh as Mesh).material = this.material;
  }

  setOpacity(opacity: number): void {
    if (opacity === this.opacity) return;
    this.opacity = opacity;
    this.paintAgain();
  }

  takeShadows(on: boolean): void {
    this.shaded = on;
    if (this.style.slow) this.paintAgain();
  }

  private show(geometry: BufferGeometry, part: number, style: Style): Mesh {
    const mesh = new Mesh(geometry, this.material);
    mesh.matrixAutoUpdate = mesh.frustumCulled = false;
    mesh.castShadow = mesh.receiveShadow = style.shadows;
    mesh.userData.part = part;
    this.group.add(mesh);
    return mesh;
  }

  // n: of the normals, the same where nothing is stretched
  move(number: number, m: Matrix4, n: Matrix4): void {
    const part = this.parts[number];
    if (part.own) {
      part.own.matrix.copy(m);
      part.own.matrixWorldNeedsUpdate = true;
    }
    const a = m.elements, b = n.elements, p = this.rest, q = this.restNormal, {position, normal} = this.mesh.geometry.attributes;
    const at = position.array, normals = normal.array;
    for (let i = 3 * part.first, end = 3 * (part.first + part.count); i < end; i += 3) {
      const x = p[i], y = p[i + 1], z = p[i + 2], u = q[i], v = q[i + 1], w = q[i + 2];
      at[i] = a[0] * x + a[4] * y + a[8] * z + a[12];
      at[i + 1] = a[1] * x + a[5] * y + a[9] * z + a[13];
      at[i + 2] = a[2] * x + a[6] * y + a[10] * z + a[14];
      normals[i] = b[0] * u + b[4] * v + b[8] * w;
      normals[i + 1] = b[1] * u + b[5] * v + b[9] * w;
      normals[i + 2] = b[2] * u + b[6] * v + b[10] * w;
    }
  }

  // after all moves
  moved(): void { this.mesh.geometry.attributes.position.needsUpdate = this.mesh.geometry.attributes.normal.needsUpdate = true; }

  // towards a colour: 0 as it was made, 1 all of it
  tint(number: number, colour: Color, how: number): void {
    const part = this.parts[number], owns = this.parts.filter(p => p.own);
    const mesh = part.own ?? this.mesh, paint = this.paint[part.own ? 1 + owns.indexOf(part) : 0], attribute = mesh.geometry.attributes.color, out = attribute.array;
    const first = part.own ? 0 : 3 * part.first, end = part.own ? out.length : first + 3 * part.count, rgb = [colour.r, colour.g, colour.b];
    for (let i = first; i < end; i++) out[i] = paint[i] + how * (rgb[(i - first) % 3] - paint[i]);
    attribute.needsUpdate = true;
  }

  pick(ray: Raycaster): {part: number; point: Vector3; distance: number} | null {
    const hit = ray.intersectObjects(this.group.children, false)[0];
    if (!hit) return null;
    const corner = hit.face!.a, own = hit.object.userData.part as number;
    const part = own >= 0 ? own : this.parts.findIndex(p => corner >= p.first && corner < p.first + p.count);
    return {part, point: hit.point, distance: hit.distance};
  }

  remove(): void {
    this.group.removeFromParent();
    this.group.children.forEach(mesh => (mesh as Mesh).geometry.dispose());
    this.material.dispose();
  }
}

const piecesOf = (scene: Scene, body: number, style: Style): Piece[] => scene.solids.filter(s => s.body === body)
  .map(s => ({geometry: solidGeometry(s, scene, style), place: placeOf(s), colour: new Color(scene.colours[s.paint])}));

// The bodies; the ground is the last part
export class Bodies {
  private readonly moving: Moving;
  private readonly hidden = new Set<number>();
  private readonly ground: number;
  private readonly matrix = new Matrix4();

  constructor(scene: Scene, parent: Object3D, style: Style) {
    const parts: Piece[][] = Array.from({length: scene.bodies.length + 1}, () => []);
    this.ground = scene.bodies.length;
    for (const s of scene.solids)
      parts[s.body < 0 ? this.ground : s.body].push({geometry: solidGeometry(s, scene, style), place: placeOf(s), colour: new Color(scene.colours[s.paint])});
    this.moving = new Moving(parts, parent, style);
  }

  place(poses: Pose[]): void {
    const matrix = this.matrix;
    for (let b = 0; b <= this.ground; b++) {
      const body = b === this.ground ? GROUND : b;
      if (this.hidden.has(body)) this.moving.move(b, NOWHERE, NOWHERE);
      else this.moving.move(b, body < 0 ? matrix.identity() : matrix.compose(poses[b].r, poses[b].q, ONE), matrix);
    }
    this.moving.moved();
  }

  takeShadows(on: boolean): void { this.moving.takeShadows(on); }

  // seen from the next place on
  show(body: number, on: boolean): void { if (on) this.hidden.delete(body); else this.hidden.add(body); }

  tint(body: number, colour: Color, how: number): void { this.moving.tint(body < 0 ? this.ground : body, colour, how); }

  private bright: number | null = null;
  highlight(body: number | null): void {
    if (this.bright !== null) this.tint(this.bright, HIGHLIGHT, 0);
    if (body !== null) this.tint(body, HIGHLIGHT, 0.65);
    this.bright = body;
  }

  // the first body along a ray
  pick(ray: Raycaster): {body: number; point: Vector3; distance: number} | null {
    const hit = this.moving.pick(ray);
    return hit && {...hit, body: hit.part === this.ground ? GROUND : hit.part};
  }

  remove(): void { this.moving.remove(); }
}

// What stretches between two points, its z axis from one to the other: springs, dampers, rods, ropes
export class Links {
  private readonly moving: Moving;
  private readonly a = new Vector3();
  private readonly b = new Vector3();
  private readonly q = new Quaternion();
  private readonly size = new Vector3();
  private readonly m = new Matrix4();
  private readonly n = new Matrix4();

  constructor(private readonly scene: Scene, parent: Object3D, style: Style) {
    const {coils, colours} = scene, plain = new Matrix4();
    this.moving = new Moving(coils.map(c => [{geometry: linkGeometry(c.look, coils.length, style), place: plain, colour: new Color(colours[c.paint])}]), parent, style);
  }

  place(film: Film): void {
    this.scene.coils.forEach((coil, i) => {
      film.point(coil.from, coil.fromR, this.a);
      film.point(coil.to, coil.toR, this.b).sub(this.a);
      const length = Math.max(this.b.length(), 1e-9), r = coil.radius;
      this.q.setFromUnitVectors(Z, this.b.divideScalar(length));
      this.m.compose(this.a, this.q, this.size.set(r, r, length));
      this.n.compose(this.a, this.q, this.size.set(1 / r, 1 / r, 1 / length));
      this.moving.move(i, this.m, this.n);
    });
    this.moving.moved();
  }

  show(on: boolean): void { this.moving.group.visible = on; }

  takeShadows(on: boolean): void { this.moving.takeShadows(on); }

  remove(): void { this.moving.remove(); }
}

// One body with its own materials, for those that one looks through
export function ownMeshes(scene: Scene, body: number, style: Style): Group {
  const group = new Group();
  for (const piece of piecesOf(scene, body, style)) {
    const material = paintMaterial(`#${piece.colour.getHexString()}`, piece.geometry.hasAttribute('color'), style.slow);
    Object.assign(material, {transparent: true, opacity: style.opacity, depthWrite: false});
    const mesh = new Mesh(piece.geometry, material);
    mesh.applyMatrix4(piece.place);
    mesh.userData.body = body;
    group.add(mesh);
  }
  return group;
}
