// film.ts: poses of all bodies at any time between the frames.
import {Quaternion, Vector3} from 'three';
import type {Run, Vec} from './data';

export interface Pose { r: Vector3; q: Quaternion }

// the last of rising times that is not later than t; the first one if all are
function last(times: ArrayLike<number>, t: number): number {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return times[high] <= t ? Math.max(high, 0) : low;
}

export class Film {
  poses: Pose[] = []; // of all bodies at the time of the last call of `at`
  amplitudes: Float64Array = new Float64Array(); // of shapes, at the same time
  readonly home = new Vector3(); // the middle of all bodies at the first frame
  private run!: Run;
  private n = 0;
  private readonly other = new Vector3();
  private readonly turned = new Quaternion();

  constructor(run: Run) { this.use(run); }

  // from now on frames of this run
  use(run: Run): void {
    this.run = run;
    this.n = run.scene.bodies.length;
    this.poses = run.scene.bodies.map(() => ({r: new Vector3(), q: new Quaternion()}));
    this.amplitudes = new Float64Array((run.scene.deformed ?? []).reduce((sum, d) => sum + d.shapes.length, 0));
    this.at(this.start);
    if (run.scene.home) this.home.fromArray(run.scene.home);
    else this.middle(this.home);
  }

  get start(): number { return this.run.times[0]; }
  get end(): number { return this.run.times[this.run.times.length - 1]; }

  // the last frame that is not later than t
  frameAt(t: number): number { return last(this.run.times, t); }

  timeOf(frame: number): number {
    return this.run.times[Math.max(0, Math.min(frame, this.run.times.length - 1))];
  }

  get frames(): number { return this.run.times.length; }

  private quaternion(frame: number, body: number, q: Quaternion): Quaternion {
    const p = this.run.pose, a = 7 * (frame * this.n + body) + 3;
    return q.set(p[a + 1], p[a + 2], p[a + 3], p[a]);
  }

  private position(frame: number, body: number, r: Vector3): Vector3 {
    return r.fromArray(this.run.pose, 7 * (frame * this.n + body));
  }

  // positions linearly, orientations by slerp
  at(t: number): Pose[] {
    const i = this.frameAt(t), j = Math.min(i + 1, this.frames - 1);
    const span = this.run.times[j] - this.run.times[i];
    const f = span > 0 ? Math.min(Math.max((t - this.run.times[i]) / span, 0), 1) : 0;
    const other = this.other, turned = this.turned;
    for (let b = 0; b < this.n; b++) {
      const pose = this.poses[b];
      this.position(i, b, pose.r).lerp(this.position(j, b, other), f);
      this.quaternion(i, b, pose.q).normalize().slerp(this.quaternion(j, b, turned).normalize(), f);
    }
    const q = this.run.amplitude, m = this.amplitudes.length;
    for (let k = 0; q && k < m; k++) this.amplitudes[k] = q[i * m + k] + f * (q[j * m + k] - q[i * m + k]);
    return this.poses;
  }

  amplitudesAt(frame: number): ArrayLike<number> {
    const m = this.amplitudes.length;
    return this.run.amplitude?.subarray(frame * m, (frame + 1) * m) ?? this.amplitudes;
  }

  // a point that is fixed in a body (-1: ground), now
  point(body: number, r: Vec, out = new Vector3()): Vector3 {
    out.fromArray(r);
    if (body >= 0) out.applyQuaternion(this.poses[body].q).add(this.poses[body].r);
    return out;
  }

  // the same at a frame
  pointAt(frame: number, body: number, r: Vec): Vector3 {
    const out = new Vector3().fromArray(r);
    if (body < 0) return out;
    return out.applyQuaternion(this.quaternion(frame, body, new Quaternion()).normalize())
      .add(this.position(frame, body, new Vector3()));
  }

  // velocity of that point: slope of the parabola through three frames, of two where there are no more
  velocity(t: number, body: number, r: Vec): Vector3 {
    const times = this.run.times, last = this.frames - 1;
    if (last < 1) return new Vector3();
    let i = Math.min(this.frameAt(t), last - 1);
    if (last > 1 && i > 0 && (i === last - 1 || t - times[i] < times[i + 1] - t)) i--;
    const k = [i, i + 1, Math.min(i + 2, last)].slice(0, last > 1 ? 3 : 2), out = new Vector3();
    for (const a of k) { // derivatives of Lagrange's polynomials
      const others = k.filter(b => b !== a), below = others.reduce((p, b) => p * (times[a] - times[b]), 1);
      const above = others.length === 2 ? 2 * t - times[others[0]] - times[others[1]] : 1;
      out.addScaledVector(this.pointAt(a, body, r), above / below);
    }
    return out;
  }

  // a force of the run, between the instants that it is known at
  force(t: number, load: number, out: Vector3): Vector3 {
    const {loadTimes, force} = this.run;
    if (!loadTimes || !force || loadTimes.length === 0) return out.set(0, 0, 0);
    const n = loadTimes.length, i = last(loadTimes, t), j = Math.min(i + 1, n - 1), span = loadTimes[j] - loadTimes[i];
    const f = span > 0 ? Math.min(Math.max((t - loadTimes[i]) / span, 0), 1) : 0, part = (k: number): number => {
      const row = (3 * load + k) * n;
      return force[row + i] + f * (force[row + j] - force[row + i]);
    };
    return out.set(part(0), part(1), part(2));
  }

  // the middle of all bodies now
  middle(out = new Vector3()): Vector3 {
    out.set(0, 0, 0);
    for (const pose of this.poses) out.addScaledVector(pose.r, 1 / Math.max(this.n, 1));
    return out;
  }
}
