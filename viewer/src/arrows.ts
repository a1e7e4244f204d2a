// arrows.ts: vectors in the view: forces, reactions, velocities; points of contact as balls.
import {Color, ConeGeometry, CylinderGeometry, Matrix4, Quaternion, SphereGeometry, Vector3, type BufferGeometry, type Object3D} from 'three';
import {mergeGeometries} from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import {Moving, type Style} from './batch';

const Z = new Vector3(0, 0, 1), NOWHERE = new Matrix4().makeScale(0, 0, 0);

// of length 1 along z, its tip at the end
const arrow = (): BufferGeometry => mergeGeometries([
  new CylinderGeometry(0.35, 0.35, 0.76, 6).rotateX(Math.PI / 2).translate(0, 0, 0.38),
  new ConeGeometry(1, 0.26, 8).rotateX(Math.PI / 2).translate(0, 0, 0.87)]);

export class Arrows {
  private readonly moving: Moving;
  private readonly q = new Quaternion();
  private readonly size = new Vector3();
  private readonly along = new Vector3();
  private readonly m = new Matrix4();
  private readonly n = new Matrix4();
  readonly lengths: number[]; // as they are shown

  // width: radius of the tips
  constructor(private readonly count: number, private readonly width: number, colour: string, parent: Object3D, style: Style, form: 'arrow' | 'ball' = 'arrow') {
    const geometry = form === 'arrow' ? arrow() : new SphereGeometry(1, 10, 7), place = new Matrix4();
    this.moving = new Moving(Array.from({length: count}, () => [{geometry, place, colour: new Color(colour)}]), parent, style);
    this.lengths = new Array<number>(count).fill(0);
  }

  // from a point along a vector, which is as long as the arrow
  set(i: number, at: Vector3, vector: Vector3): void {
    const length = vector.length(), w = Math.min(this.width, 0.3 * length);
    this.lengths[i] = length;
    if (!(length > 0.02 * this.width)) { this.hide(i); return; }
    this.q.setFromUnitVectors(Z, this.along.copy(vector).divideScalar(length));
    this.moving.move(i, this.m.compose(at, this.q, this.size.set(w, w, length)), this.n.compose(at, this.q, this.size.set(1 / w, 1 / w, 1 / length)));
  }

  // a ball there
  mark(i: number, at: Vector3): void {
    this.lengths[i] = this.width;
    this.moving.move(i, this.m.compose(at, this.q.identity(), this.size.setScalar(this.width)), this.n.identity());
  }

  hide(i: number): void {
    this.lengths[i] = 0;
    this.moving.move(i, NOWHERE, NOWHERE);
  }

  done(): void { this.moving.moved(); }
  get number(): number { return this.count; }
  remove(): void { this.moving.remove(); }
}
