// stage.ts: the mechanism in three dimensions: real depth, shadows, a ground with a scale, a camera that orbits.
import {AxesHelper, BufferGeometry, Color, Float32BufferAttribute, Group, Line, LineBasicMaterial,
        LineSegments, Material, Mesh, MeshBasicMaterial, PCFShadowMap, PerspectiveCamera, Plane, PlaneGeometry,
        Raycaster, Scene as World, ShadowMaterial, SphereGeometry, Vector2, Vector3, WebGLRenderer} from 'three';
import {OrbitControls} from 'three/examples/jsm/controls/OrbitControls.js';
import {Arrows} from './arrows';
import {Bodies, Links, ownMeshes, type Style} from './batch';
import {takeContext} from './context';
import type {Run, Scene} from './data';
import {isDark} from './dom';
import {Film} from './film';
import {makeEverywhere, makeSky, makeSun, setPlainLight} from './light';
import {Quality} from './quality';
import {Sheets, type Colouring} from './sheets';

const VIEW_ANGLE = 32; // degrees
const COURSE = '#b45309';

export class Stage {
  readonly film: Film;
  readonly canvas: HTMLCanvasElement;
  followed = -1;                       // body that the camera goes with; -1: none, or the middle of a mechanism that travels
  private scene: Scene;
  private readonly world = new World();
  private readonly renderer: WebGLRenderer;
  private readonly slow: boolean;
  private readonly camera: PerspectiveCamera;
  private readonly controls: OrbitControls;
  private readonly shadowRun = new Group();  // the other run
  private readonly otherFilm: Film | null;
  private otherBodies: Bodies | null = null;
  private otherLinks: Links | null = null;
  private bodies: Bodies;
  private links: Links;
  private sheets: Sheets;              // that deform
  private otherSheets: Sheets | null = null;
  private readonly holders = new Map<number, Group>(); // that go with a body: its axes, or itself where one looks through it
  private readonly faded = new Map<number, Group>();
  private readonly light = makeSun();
  private readonly sky = makeSky();
  private readonly everywhere = makeEverywhere();
  private readonly grid = new Group();
  private readonly traces = new Group();
  private readonly courses = new Group();
  private ghosts: Array<Bodies | Sheets> = [];
  private velocities: Arrows | null = null;
  private loads: Array<{which: number[]; arrows: Arrows; contact: boolean}> = [];
  private reach = 1;                   // of all arrows, chosen
  private marks: {axes: AxesHelper[]; centres: Mesh[]} = {axes: [], centres: []};
  private readonly anchor = new Vector3(); // what the camera follows was here
  private readonly rope = new Line(new BufferGeometry().setFromPoints([new Vector3(), new Vector3()]), new LineBasicMaterial({color: '#c2410c'}));
  private stale = true;

  constructor(parent: HTMLElement, run: Run, other: Run | null = null) {
    this.scene = run.scene;
    this.film = new Film(run);
    // without a graphics card every pixel costs: no smooth edges, no shadows, one pixel for each
    const {canvas, context} = takeContext();
    this.slow = context !== null;
    this.renderer = context ? new WebGLRenderer({canvas, context}) : new WebGLRenderer({antialias: true});
    this.pixels = this.slow ? 1 : Math.min(devicePixelRatio, 2);
    this.quality = new Quality(this.slow);
    this.renderer.setPixelRatio(this.pixels);
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'moving 3-D view of the mechanism');
    if (parent.querySelector('.still')) this.canvas.style.visibility = 'hidden'; // until it is drawn
    parent.appendChild(this.canvas);
    this.camera = new PerspectiveCamera(VIEW_ANGLE);
    this.camera.up.fromArray(this.scene.camera.up);
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener('change', () => { this.stale = true; });
    this.bodies = new Bodies(this.scene, this.world, this.style());
    this.links = new Links(this.scene, this.world, this.style());
    this.sheets = this.makeSheets();
    this.otherFilm = other && other.scene.bodies.length > 0 ? new Film(other) : null;
    if (other && this.otherFilm) this.makeOther(other);
    this.makeLights();
    this.makeGround();
    this.makeCourses();
    this.rope.visible = false;
    this.rope.frustumCulled = false;
    this.world.add(this.traces, this.courses, this.grid, this.rope);
    this.setTheme();
    this.resize();
    this.preset('default');
    this.place(this.film.start);
    this.controls.addEventListener('start', () => { this.touched = true; });
    new ResizeObserver(() => this.resize()).observe(parent);
  }

  // Another mechanism, or the same in another form, on the same canvas. The camera stays where it is where the bodies are the same.
  replace(run: Run, same: boolean): void {
    this.bodies.remove();
    this.links.remove();
    this.sheets.remove();
    this.showVelocities(false);
    for (const what of ['forces', 'reactions', 'contacts'] as const) this.showLoads(what, false);
    this.showGhosts(false);
    this.showNames(false);
    this.grid.children.forEach(child => { if (child instanceof Mesh) child.geometry.dispose(); });
    this.marks.axes.forEach(axes => axes.dispose());
    this.marks.centres.forEach(ball => { ball.geometry.dispose(); (ball.material as Material).dispose(); });
    this.marks.axes = [];
    this.marks.centres = [];
    this.faded.forEach(group => clear(group));
    this.faded.clear();
    this.holders.forEach(group => { clear(group); group.removeFromParent(); });
    this.holders.clear();
    for (const group of [this.grid, this.traces, this.courses]) clear(group);
    this.scene = run.scene;
    this.film.use(run);
    this.bodies = new Bodies(this.scene, this.world, this.style());
    this.links = new Links(this.scene, this.world, this.style());
    this.sheets = this.makeSheets();
    if (this.shadows) this.showShadows(true);
    this.makeGround();
    this.makeCourses();
    this.setTheme();
    if (!same) {
      this.setRange();
      this.preset('default');
    }
    this.place(this.film.end);
  }

  // ---- what there is
  private style(opacity = 1): Style { return {slow: this.slow, opacity, shadows: opacity === 1}; }

  // The other run, pale: one sees the first one through it
  private makeOther(other: Run): void {
    this.otherBodies = new Bodies(other.scene, this.shadowRun, this.style(0.4));
    this.otherLinks = new Links(other.scene, this.shadowRun, this.style(0.4));
    this.otherSheets = new Sheets(other.scene, this.shadowRun, this.style(0.4));
    this.world.add(this.shadowRun);
  }

  // ---- surfaces that deform
  private enlarged = 1;                // how many times their deformation is shown
  private longestWay = 0;              // of a node, in truth
  private mostStress = 0;              // that is known of
  private readonly coloured: {how: Colouring} = {how: 'none'};
  private makeSheets(): Sheets {
    const sheets = new Sheets(this.scene, this.world, this.style());
    sheets.colour(this.coloured.how);
    this.longestWay = sheets.longest(this.film);
    this.mostStress = sheets.stressed(this.film, this.scene);
    return sheets;
  }

  get deforms(): boolean { return this.sheets.count > 0; }
  get longest(): number { return this.longestWay; }
  get hasStress(): boolean { return this.sheets.hasStress; }
  get largestStress(): number { return this.mostStress; }
  // so many times that the longest way is a third of the mechanism
  get mostEnlarged(): number { return this.longestWay > 0 ? Math.max(10, 0.35 * this.scene.size / this.longestWay) : 10; }

  enlarge(times: number): void {
    this.enlarged = times;
    this.place(this.lastTime());
  }

  colourDeformation(how: Colouring): void {
    this.coloured.how = how;
    this.sheets.colour(how);
    this.place(this.lastTime());
  }

  // over the first run, beside it, or not at all
  showOther(how: string): void {
    const s = this.scene;
    this.shadowRun.visible = how !== 'hidden';
    this.shadowRun.position.set(0, 0, 0);
    if (how === 'beside') this.shadowRun.position.fromArray(s.camera.right).multiplyScalar(1.6 * s.radius);
    this.fit();
  }

  // tracks, roads and curves go with what they are fixed in
  private makeCourses(): void {
    for (const course of this.scene.lines ?? []) {
      const geometry = new BufferGeometry();
      geometry.setAttribute('position', new Float32BufferAttribute(course.points, 3));
      const line = new Line(geometry, new LineBasicMaterial({color: COURSE}));
      line.name = course.name;
      line.frustumCulled = false;
      if (course.body < 0) this.courses.add(line); else this.holder(course.body).add(line);
    }
  }

  // lines of the ground around the mechanism; a heavier one every five
  private makeGround(): void {
    const s = this.scene, step = s.grid, reach = Math.ceil(2.5 * s.radius / step) * step, thin: Vector3[] = [], thick: Vector3[] = [];
    const right = new Vector3().fromArray(s.camera.right), front = new Vector3().fromArray(s.camera.front);
    const put = (list: Vector3[], a: number, b: number, c: number, d: number) =>
      list.push(new Vector3().addScaledVector(right, a).addScaledVector(front, b), new Vector3().addScaledVector(right, c).addScaledVector(front, d));
    for (let x = -reach, i = -Math.round(reach / step); x <= reach + 0.5 * step; x += step, i++) {
      put(i % 5 === 0 ? thick : thin, x, -reach, x, reach);
      put(i % 5 === 0 ? thick : thin, -reach, x, reach, x);
    }
    for (const [points, opacity] of [[thin, 0.25], [thick, 0.55]] as const)
      this.grid.add(new LineSegments(new BufferGeometry().setFromPoints(points), new LineBasicMaterial({transparent: true, opacity})));
    const floor = new Mesh(new PlaneGeometry(4 * reach, 4 * reach), new ShadowMaterial({opacity: 0.18}));
    floor.quaternion.setFromUnitVectors(new Vector3(0, 0, 1), new Vector3().fromArray(s.camera.up));
    floor.receiveShadow = true;
    floor.visible = this.light.castShadow; // without shadows it would be a blank pane over the whole picture
    this.grid.add(floor);
  }

  private makeLights(): void {
    this.light.shadow.mapSize.set(2048, 2048);
    this.light.shadow.bias = -2e-4;
    this.light.castShadow = this.shadows = !this.slow;
    this.setRange();
    this.world.add(this.sky, this.everywhere, this.light, this.light.target);
  }

  // how far camera and shadows go, by the size of what there is to see
  private setRange(): void {
    const r = this.scene.radius, shadow = this.light.shadow;
    this.sky.position.fromArray(this.scene.camera.up);
    Object.assign(shadow.camera, {left: -1.6 * r, right: 1.6 * r, top: 1.6 * r, bottom: -1.6 * r, near: 0.1 * r, far: 12 * r});
    shadow.camera.updateProjectionMatrix();
    shadow.normalBias = 2e-3 * r;
    this.camera.near = r * 1e-3;
    this.camera.far = r * 200;
    this.camera.up.fromArray(this.scene.camera.up);
    this.camera.updateProjectionMatrix();
  }

  setTheme(): void {
    const dark = isDark();
    this.world.background = new Color(dark ? '#15191e' : '#f4f6f8');
    this.grid.traverse(o => { if (o instanceof LineSegments) (o.material as LineBasicMaterial).color.set(dark ? '#8a97a6' : '#7c8794'); });
    this.stale = true;
  }

  // ---- the camera
  // direction from which the mechanism is seen, then as far away that all of its motion is there
  preset(name: string): void {
    const c = this.scene.camera, up = new Vector3().fromArray(c.up), front = new Vector3().fromArray(c.front), right = new Vector3().fromArray(c.right);
    const by = (azimuth: number, elevation: number) => front.clone().multiplyScalar(Math.cos(azimuth)).addScaledVector(right, Math.sin(azimuth))
      .multiplyScalar(Math.cos(elevation)).addScaledVector(up, Math.sin(elevation));
    const from = name === 'front' ? front : name === 'side' ? right : name === 'top' ? by(0, 1.5607) : by(c.azimuth, c.elevation);
    this.look(from);
  }

  fit(): void { this.look(this.camera.position.clone().sub(this.controls.target).normalize()); }

  private look(from: Vector3): void {
    // the middle of what is shown: of both runs where they are side by side
    const aside = this.shadowRun.visible ? this.shadowRun.position : new Vector3(), radius = this.scene.radius + 0.5 * aside.length();
    const distance = radius / Math.sin(0.5 * VIEW_ANGLE * Math.PI / 180);
    const target = new Vector3().fromArray(this.scene.camera.centre).add(this.travel()).addScaledVector(aside, 0.5);
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(from, 1.05 * distance);
    this.anchor.copy(this.followPoint());
    this.controls.update();
    this.stale = true;
  }

  // how far a mechanism that travels has gone
  private travel(): Vector3 {
    if (!this.scene.follows && !this.scene.falls) return new Vector3();
    const now = this.film.middle().sub(this.film.home);
    const up = new Vector3().fromArray(this.scene.camera.up), height = now.dot(up);
    if (!this.scene.falls) now.addScaledVector(up, -height);
    if (!this.scene.follows) now.copy(up).multiplyScalar(height);
    return now;
  }

  // A run that still goes on: when the mechanism leaves what the camera shows, the camera goes with it from then on
  keepInSight(): void {
    const s = this.scene, far = this.film.middle().sub(this.film.home), rise = far.dot(new Vector3().fromArray(s.camera.up));
    if (Math.sqrt(Math.max(far.lengthSq() - rise * rise, 0)) > s.radius) s.follows = true;
    if (Math.abs(rise) > s.radius) s.falls = true;
  }

  private followPoint(): Vector3 {
    return this.followed >= 0 ? this.film.poses[this.followed].r.clone() : this.travel();
  }

  follow(body: number): void {
    this.followed = body;
    this.anchor.copy(this.followPoint());
  }

  // ---- at a time
  place(t: number): void {
    this.bodies.place(this.film.at(t));
    this.links.place(this.film);
    this.sheets.place(this.film, this.enlarged, this.longestWay, this.mostStress);
    // a run that goes on may come to more
    if (this.sheets.loaded > this.mostStress) this.mostStress = this.sheets.loaded;
    for (const [b, group] of this.holders) {
      group.position.copy(this.film.poses[b].r);
      group.quaternion.copy(this.film.poses[b].q);
    }
    if (this.otherFilm && this.shadowRun.visible) {
      this.otherBodies!.place(this.otherFilm.at(t));
      this.otherLinks!.place(this.otherFilm);
      this.otherSheets!.place(this.otherFilm, this.enlarged, this.longestWay, this.mostStress);
    }
    this.placeArrows(t);
    this.placeCamera();
    this.stale = true;
  }

  private placeCamera(): void {
    const now = this.followPoint(), step = now.clone().sub(this.anchor);
    this.camera.position.add(step);
    this.controls.target.add(step);
    this.anchor.copy(now);
    // the ground moves in whole squares under a mechanism that travels, light and shadow go with it
    const s = this.scene, up = new Vector3().fromArray(s.camera.up), right = new Vector3().fromArray(s.camera.right), front = new Vector3().fromArray(s.camera.front);
    const centre = new Vector3().fromArray(s.camera.centre).add(this.travel()), big = 5 * s.grid;
    this.grid.position.set(0, 0, 0)
      .addScaledVector(right, Math.round(centre.dot(right) / big) * big)
      .addScaledVector(front, Math.round(centre.dot(front) / big) * big)
      .addScaledVector(up, s.floor + new Vector3().fromArray(s.camera.centre).dot(up));
    this.light.target.position.copy(centre);
    this.light.position.copy(centre).addScaledVector(up, 4 * s.radius).addScaledVector(front, 1.8 * s.radius).addScaledVector(right, 1.4 * s.radius);
  }

  private readonly at = new Vector3();
  private readonly vector = new Vector3();
  private placeArrows(t: number): void {
    const {at, vector, scene, film} = this, velocities = this.velocities;
    if (velocities) {
      scene.bodies.forEach((body, b) => velocities.set(b, film.point(b, body.centre, at), film.velocity(t, b, body.centre).multiplyScalar(this.reach * this.speedScale)));
      velocities.done();
    }
    for (const {which, arrows, contact} of this.loads) {
      which.forEach((load, i) => {
        const l = scene.loads![load];
        film.point(l.body, l.r, at);
        if (l.drop > 0) {
          vector.fromArray(l.normal);
          if (l.under >= 0) vector.applyQuaternion(film.poses[l.under].q);
          at.addScaledVector(vector, -l.drop);
        }
        film.force(t, load, vector);
        if (!contact) arrows.set(i, at, vector.multiplyScalar(this.reach * this.forceScale));
        else if (vector.length() > 1e-4 * l.largest) arrows.mark(i, at);
        else arrows.hide(i);
      });
      arrows.done();
    }
  }

  // ---- what is chosen to be shown
  private readonly unseen = new Set<number>();
  showBody(body: number, on: boolean): void {
    if (on) this.unseen.delete(body); else this.unseen.add(body);
    this.bodies.show(body, on && !this.faded.has(body));
    this.bodies.place(this.film.poses);
    this.sheets.show(body, on);
    const faded = this.faded.get(body);
    if (faded) faded.visible = on;
    this.stale = true;
  }

  // what goes with a body; the ground stays
  private holder(body: number): Group {
    let group = this.holders.get(body);
    if (group) return group;
    group = new Group();
    this.world.add(group);
    if (body < 0) return group;
    this.holders.set(body, group);
    group.position.copy(this.film.poses[body].r);
    group.quaternion.copy(this.film.poses[body].q);
    return group;
  }

  fade(body: number, opacity: number): void {
    const before = this.faded.get(body);
    if (before) {
      clear(before);
      before.removeFromParent();
      this.faded.delete(body);
    }
    if (opacity < 1) {
      const own = ownMeshes(this.scene, body, this.style(opacity));
      this.holder(body).add(own);
      this.faded.set(body, own);
    }
    this.sheets.fade(body, opacity);
    this.showBody(body, !this.unseen.has(body));
  }

  highlight(body: number | null): void {
    this.bodies.highlight(body);
    this.sheets.highlight(body);
    this.stale = true;
  }

  showSprings(on: boolean): void { this.links.show(on); this.stale = true; }
  // names at the middle of what stretches, and of what is coupled
  private readonly names = new Map<HTMLElement, number>();
  showNames(on: boolean): void {
    for (const label of this.names.keys()) label.remove();
    this.names.clear();
    const seen = new Set<string>();
    if (on) this.scene.coils.forEach((coil, i) => {
      if (seen.has(coil.name)) return;
      seen.add(coil.name);
      const label = document.createElement('span');
      label.className = 'label';
      label.textContent = coil.name;
      this.canvas.parentElement!.appendChild(label);
      this.names.set(label, i);
    });
    this.stale = true;
  }

  private placeNames(): void {
    const box = this.canvas.getBoundingClientRect(), other = new Vector3();
    for (const [label, link] of this.names) {
      const coil = this.scene.coils[link], middle = this.film.point(coil.from, coil.fromR).lerp(this.film.point(coil.to, coil.toR, other), 0.5);
      const p = middle.project(this.camera);
      label.hidden = p.z > 1;
      label.style.left = `${(p.x + 1) / 2 * box.width}px`;
      label.style.top = `${(1 - p.y) / 2 * box.height}px`;
    }
  }

  showGrid(on: boolean): void { this.grid.visible = on; this.stale = true; }
  showShadows(on: boolean): void {
    this.shadows = on;
    this.bodies.takeShadows(on);
    this.links.takeShadows(on);
    this.castShadows(on);
  }

  private castShadows(on: boolean): void {
    this.light.castShadow = on;
    this.grid.children.forEach(child => { if (child instanceof Mesh) child.visible = on; });
    this.stale = true;
  }

  showTraces(on: boolean): void {
    clear(this.traces);
    if (on) for (const trace of this.scene.traces) {
      const points = Array.from({length: this.film.frames}, (_, i) => this.film.pointAt(i, trace.body, trace.r));
      this.traces.add(new Line(new BufferGeometry().setFromPoints(points), new LineBasicMaterial({color: this.scene.colours[trace.paint]})));
    }
    this.stale = true;
  }

  // copies of the bodies at some instants
  showGhosts(on: boolean): void {
    const COUNT = 6;
    this.ghosts.forEach(ghost => ghost.remove());
    this.ghosts = [];
    const now = this.film.frameAt(this.lastTime());
    if (on) for (let k = 0; k < COUNT; k++) {
      const ghost = new Bodies({...this.scene, solids: this.scene.solids.filter(s => s.body >= 0)}, this.world, this.style(0.16));
      ghost.place(this.film.at(this.film.timeOf(Math.round(k * (this.film.frames - 1) / (COUNT - 1)))));
      const sheets = new Sheets(this.scene, this.world, this.style(0.16));
      sheets.place(this.film, this.enlarged, this.longestWay, this.mostStress);
      this.ghosts.push(ghost, sheets);
    }
    this.film.at(this.film.timeOf(now));
    this.stale = true;
  }

  private shown = NaN;
  private lastTime(): number { return Number.isNaN(this.shown) ? this.film.start : this.shown; }

  // ---- arrows: the longest is a third of the mechanism, times what is chosen
  private speedScale = 0;
  private forceScale = 0;
  setReach(reach: number): void {
    this.reach = reach;
    this.placeArrows(this.lastTime());
    this.stale = true;
  }

  showVelocities(on: boolean): void {
    this.velocities?.remove();
    this.velocities = null;
    if (on) {
      const fastest = this.fastest();
      this.speedScale = fastest > 0 ? 0.35 * this.scene.size / fastest : 0;
      this.velocities = new Arrows(this.scene.bodies.length, 0.014 * this.scene.size, '#c2410c', this.world, this.style());
      this.placeArrows(this.lastTime());
    }
    this.stale = true;
  }

  // how many there are of a kind
  loadsOf(what: 'forces' | 'reactions' | 'contacts'): number[] {
    const all = this.scene.loads ?? [];
    return all.map((_, i) => i).filter(i => (what === 'reactions' ? all[i].kind === 1 : what === 'forces' ? all[i].kind !== 1 : all[i].kind === 2));
  }

  // newtons that the length of the mechanism stands for
  get forceOfSize(): number { return this.forceScale > 0 ? this.scene.size / (this.reach * this.forceScale) : 0; }

  private readonly shownLoads = new Map<string, {which: number[]; arrows: Arrows; contact: boolean}>();
  showLoads(what: 'forces' | 'reactions' | 'contacts', on: boolean): void {
    this.shownLoads.get(what)?.arrows.remove();
    this.shownLoads.delete(what);
    if (on) {
      const which = this.loadsOf(what), contact = what === 'contacts', most = Math.max(0, ...(this.scene.loads ?? []).map(l => l.largest));
      this.forceScale = most > 0 ? 0.35 * this.scene.size / most : 0;
      const arrows = new Arrows(which.length, (contact ? 0.011 : 0.014) * this.scene.size, what === 'reactions' ? '#7c3aed' : contact ? '#dc2626' : '#15803d',
                                this.world, this.style(), contact ? 'ball' : 'arrow');
      this.shownLoads.set(what, {which, arrows, contact});
    }
    this.loads = [...this.shownLoads.values()];
    this.placeArrows(this.lastTime());
    this.stale = true;
  }

  private fastest(): number {
    let most = 0;
    const step = Math.max(1, Math.floor(this.film.frames / 50));
    for (let i = 0; i < this.film.frames; i += step)
      this.scene.bodies.forEach((body, b) => { most = Math.max(most, this.film.velocity(this.film.timeOf(i), b, body.centre).length()); });
    return most;
  }

  showFrames(on: boolean): void {
    if (on && this.marks.axes.length === 0) this.scene.bodies.forEach((_, b) => {
      const axes = new AxesHelper(0.12 * this.scene.size);
      (axes.material as Material).depthTest = false;
      axes.renderOrder = 1;
      this.holder(b).add(axes);
      this.marks.axes.push(axes);
    });
    for (const axes of this.marks.axes) axes.visible = on;
    this.stale = true;
  }

  showCentres(on: boolean): void {
    if (on && this.marks.centres.length === 0) this.scene.bodies.forEach((body, b) => {
      const ball = new Mesh(new SphereGeometry(0.012 * this.scene.size, 12, 8), new MeshBasicMaterial({color: '#b91c1c', depthTest: false}));
      ball.renderOrder = 2;
      ball.position.fromArray(body.centre);
      this.holder(b).add(ball);
      this.marks.centres.push(ball);
    });
    for (const ball of this.marks.centres) ball.visible = on;
    this.stale = true;
  }

  // ---- the mouse
  // The body at a place of the canvas (pixels of the page); null: nothing there
  pick(x: number, y: number): {body: number; point: Vector3} | null {
    const box = this.canvas.getBoundingClientRect(), ray = new Raycaster();
    ray.setFromCamera(new Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height), this.camera);
    const rigid = this.bodies.pick(ray), soft = this.sheets.pick(ray), through = [...this.faded.values()].filter(group => group.visible);
    const solid = soft && (!rigid || soft.distance < rigid.distance) ? soft : rigid, hit = ray.intersectObjects(through, true)[0];
    if (hit && (!solid || hit.distance < solid.distance)) return {body: hit.object.userData.body as number, point: hit.point};
    return solid;
  }

  // where a point of the world is on the canvas
  project(point: Vector3): {x: number; y: number} {
    const box = this.canvas.getBoundingClientRect(), p = point.clone().project(this.camera);
    return {x: box.left + (p.x + 1) / 2 * box.width, y: box.top + (1 - p.y) / 2 * box.height};
  }

  // ---- pulling
  enableOrbit(on: boolean): void { this.controls.enabled = on; }

  // where the ray through a place of the canvas meets the plane through a point that faces the camera
  onPlane(x: number, y: number, through: Vector3): Vector3 {
    const box = this.canvas.getBoundingClientRect(), ray = new Raycaster(), normal = this.camera.getWorldDirection(new Vector3());
    ray.setFromCamera(new Vector2(2 * (x - box.left) / box.width - 1, 1 - 2 * (y - box.top) / box.height), this.camera);
    const out = new Vector3();
    return ray.ray.intersectPlane(new Plane().setFromNormalAndCoplanarPoint(normal, through), out) ?? through.clone();
  }

  // a line from a point to another; null: none
  showRope(ends: [Vector3, Vector3] | null): void {
    this.rope.visible = ends !== null;
    if (ends) {
      const at = this.rope.geometry.getAttribute('position');
      ends.forEach((p, i) => at.setXYZ(i, p.x, p.y, p.z));
      at.needsUpdate = true;
    }
    this.stale = true;
  }

  // ---- pictures
  private resize(): void {
    const parent = this.canvas.parentElement, before = this.camera.aspect;
    if (!parent) return;
    this.setSize(Math.max(parent.clientWidth, 1), Math.max(parent.clientHeight, 1));
    if (!this.touched && Math.abs(this.camera.aspect - before) > 1e-3) this.fit();
  }

  private touched = false; // somebody has moved the camera: it stays where it is
  private setSize(width: number, height: number): void {
    this.renderer.setSize(width, height);
    // the angle is that of the shorter side
    this.camera.aspect = width / height;
    this.camera.fov = 2 * Math.atan(Math.tan(0.5 * VIEW_ANGLE * Math.PI / 180) / Math.min(1, this.camera.aspect)) * 180 / Math.PI;
    this.camera.updateProjectionMatrix();
    this.stale = true;
  }

  show(t: number): void { this.shown = t; this.place(t); }

  // draws if something has changed; answers whether it did
  draw(force = false): boolean {
    if (!this.stale && !force) return false;
    this.stale = false;
    setPlainLight(this.light, this.sky, this.everywhere);
    this.renderer.render(this.world, this.camera);
    if (this.names.size > 0) this.placeNames();
    return true;
  }

  // waits until the pixels are there
  finish(): void {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  // ---- quality: where pictures take long they are coarser as long as something moves
  private readonly quality: Quality;
  private pixels: number;              // of the screen for one of the page, at full quality
  private shadows = false;             // chosen
  // draws if something has changed; at rest in full quality. True: the quality is another one now
  paint(now: number): boolean {
    const drawn = this.stale, changed = this.quality.note(now, drawn);
    if (changed) this.useQuality();
    this.draw();
    return changed;
  }

  private useQuality(): void {
    const {shadows, pixels} = this.quality;
    this.castShadows(this.shadows && shadows);
    this.renderer.setPixelRatio(this.quality.isFull ? this.pixels : Math.min(this.pixels, pixels));
    this.stale = true;
  }

  get isCoarse(): boolean { return !this.quality.isFull; }

  setAdaptive(on: boolean): void {
    this.quality.allow(on);
    this.useQuality();
  }

  // whether the processor draws it, without a graphics card
  isSlow(): boolean { return this.slow; }

  picture(kind = 'image/png'): Promise<Blob> {
    if (this.quality.rest()) this.useQuality();
    this.draw(true);
    return new Promise((done, fail) => this.canvas.toBlob(blob => (blob ? done(blob) : fail(new Error('no picture'))), kind, 0.93));
  }

  // the canvas in a holder of that size, one pixel for each
  alone(width: number, height: number): HTMLElement {
    const holder = document.createElement('div');
    holder.style.width = `${width}px`;
    holder.style.height = `${height}px`;
    holder.appendChild(this.canvas);
    this.pixels = 1;
    this.renderer.setPixelRatio(1);
    this.setSize(width, height);
    return holder;
  }
}

function clear(group: Group): void {
  for (const child of [...group.children]) {
    // geometries of bodies are kept for all
    child.traverse(o => {
      if (o instanceof Line) o.geometry.dispose();
      if (o instanceof Line || o instanceof Mesh) (o.material as Material).dispose();
    });
    group.remove(child);
  }
}
