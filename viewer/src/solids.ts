// solids.ts: the solids of a scene as meshes of three.js. Those of one body hang on one group, which moves.
import {BoxGeometry, BufferGeometry, CatmullRomCurve3, Color, ConeGeometry, CylinderGeometry, ExtrudeGeometry, Float32BufferAttribute,
        Group, Mesh, MeshStandardMaterial, Path, Shape, SphereGeometry, TubeGeometry, Vector3} from 'three';
import {mergeGeometries} from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type {Solid, Surface} from './data';

export const BALL = 0, BOX = 1, CYLINDER = 2, PYRAMID = 3, TUBE = 4, SURFACE = 5;

// A sector of a disc is darker, so that one sees it turn
function marked(geometry: BufferGeometry): BufferGeometry {
  const flat = geometry.toNonIndexed(), at = flat.getAttribute('position'), colour: number[] = [];
  for (let i = 0; i < at.count; i += 3) {
    const x = (at.getX(i) + at.getX(i + 1) + at.getX(i + 2)) / 3, y = (at.getY(i) + at.getY(i + 1) + at.getY(i + 2)) / 3;
    const shade = x > 0 && Math.abs(y) < 0.45 * x ? 0.55 : 1;
    for (let k = 0; k < 9; k++) colour.push(shade);
  }
  flat.setAttribute('color', new Float32BufferAttribute(colour, 3));
  return flat;
}

function plain(geometry: BufferGeometry): BufferGeometry {
  const count = geometry.getAttribute('position').count;
  geometry.setAttribute('color', new Float32BufferAttribute(new Float32Array(3 * count).fill(1), 3));
  return geometry;
}

function tube(ratio: number): BufferGeometry {
  const ring = new Shape().absarc(0, 0, 1, 0, 2 * Math.PI, false);
  ring.holes.push(new Path().absarc(0, 0, Math.min(Math.max(ratio, 0.05), 0.98), 0, 2 * Math.PI, true));
  const geometry = new ExtrudeGeometry(ring, {depth: 1, bevelEnabled: false, curveSegments: 24});
  return geometry.translate(0, 0, -0.5);
}

// Triangles of a file, each with its own corners, so that edges stay sharp
function surface(s: Surface): BufferGeometry {
  const at = new Float32Array(3 * s.f.length);
  s.f.forEach((k, i) => at.set(s.v.slice(3 * k, 3 * k + 3), 3 * i));
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new Float32BufferAttribute(at, 3));
  geometry.computeVertexNormals();
  return plain(geometry);
}

// Geometries of unit size, made once: radius 1, length 1 along z; edges 1
const kept = new Map<string, BufferGeometry>();
const keptSurfaces = new WeakMap<Surface, BufferGeometry>(); // another run, or the file read again, has others
function geometryOf(form: number, ratio: number, surfaces: Surface[]): BufferGeometry {
  const key = `${form}:${form === TUBE ? ratio.toFixed(2) : ''}`;
  let geometry = form === SURFACE ? keptSurfaces.get(surfaces[ratio]) : kept.get(key);
  if (geometry) return geometry;
  if (form === BALL) geometry = plain(new SphereGeometry(1, 24, 16));
  else if (form === BOX) geometry = plain(new BoxGeometry(1, 1, 1));
  else if (form === PYRAMID) geometry = plain(new ConeGeometry(Math.SQRT2, 1, 4).rotateY(Math.PI / 4).rotateX(Math.PI / 2).translate(0, 0, -0.5));
  else if (form === TUBE) geometry = marked(tube(ratio));
  else if (form === SURFACE) {
    geometry = surface(surfaces[ratio]);
    keptSurfaces.set(surfaces[ratio], geometry);
    return geometry;
  } else geometry = marked(new CylinderGeometry(1, 1, 1, 28).rotateX(Math.PI / 2));
  kept.set(key, geometry);
  return geometry;
}

export function paintMaterial(colour: string): MeshStandardMaterial {
  return new MeshStandardMaterial({color: new Color(colour), vertexColors: true, roughness: 0.55, metalness: 0.1});
}

export function solidMesh(s: Solid, material: MeshStandardMaterial, surfaces: Surface[]): Mesh {
  const mesh = new Mesh(geometryOf(s.form, s.ratio, surfaces), material);
  mesh.position.fromArray(s.r);
  mesh.quaternion.set(s.q[1], s.q[2], s.q[3], s.q[0]);
  mesh.scale.fromArray(s.size);
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

// All solids of a body as one mesh, its paints in the colours of its corners: one call of the graphics for each body
export function mergedMesh(solids: Solid[], colours: string[], material: MeshStandardMaterial, surfaces: Surface[]): Mesh {
  const parts = solids.map(s => {
    const mesh = solidMesh(s, material, surfaces), whole = mesh.geometry.clone(), geometry = whole.index ? whole.toNonIndexed() : whole;
    const paint = new Color(colours[s.paint]), colour = geometry.getAttribute('color');
    mesh.updateMatrix();
    geometry.applyMatrix4(mesh.matrix);
    for (let i = 0; i < colour.count; i++) colour.setXYZ(i, colour.getX(i) * paint.r, colour.getY(i) * paint.g, colour.getZ(i) * paint.b);
    for (const name of Object.keys(geometry.attributes)) if (!['position', 'normal', 'color'].includes(name)) geometry.deleteAttribute(name);
    return geometry;
  });
  const mesh = new Mesh(mergeGeometries(parts), material);
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

// A spring of length 1 along z that is stretched by its scale: straight ends, windings between
const WINDINGS = 7;
function helix(): BufferGeometry {
  const points: Vector3[] = [new Vector3(0, 0, 0), new Vector3(0, 0, 0.08)];
  for (let i = 0; i <= 20 * WINDINGS; i++) {
    const f = i / (20 * WINDINGS), angle = 2 * Math.PI * WINDINGS * f;
    points.push(new Vector3(Math.cos(angle), Math.sin(angle), 0.1 + 0.8 * f));
  }
  points.push(new Vector3(0, 0, 0.92), new Vector3(0, 0, 1));
  return plain(new TubeGeometry(new CatmullRomCurve3(points), 24 * WINDINGS, 0.14, 5));
}

// z axis from one point to another, as long as their distance
export class Stretched {
  readonly group = new Group();
  private readonly along = new Vector3();

  constructor(private readonly radius: number, rod: number, material: MeshStandardMaterial) {
    const round = radius > 0;
    let geometry = kept.get(round ? 'helix' : 'rod');
    if (!geometry) {
      geometry = round ? helix() : plain(new CylinderGeometry(1, 1, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5));
      kept.set(round ? 'helix' : 'rod', geometry);
    }
    if (!round) this.radius = rod;
    const mesh = new Mesh(geometry, material);
    mesh.castShadow = true;
    this.group.add(mesh);
  }

  between(a: Vector3, b: Vector3): void {
    const length = this.along.subVectors(b, a).length();
    this.group.position.copy(a);
    if (length > 0) this.group.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), this.along.divideScalar(length));
    this.group.scale.set(this.radius, this.radius, Math.max(length, 1e-9));
  }
}
