// live.ts: a model that runs in the program that served this page: numbers come over a WebSocket, wishes go back.
import {Quaternion, Vector3} from 'three';
import type {Plot, Run, Scene} from './data';
import {button, choice, digits, make, tick} from './dom';
import {Viewer, type Driver} from './viewer';

interface Handle { index: number; name: string; value: number; standard?: number; held?: boolean }
interface LiveScene extends Omit<Scene, 'plots'> {
  kind: 'scene'; generation: number; method: string; plots: number[]; parameters: Handle[]; inputs: Handle[];
}
interface Check { name: string; verdict: string; sentence: string }
interface Certificate { kind: 'certificate'; clean: boolean; sentence: string; from: number; to: number; checks: Check[] }
interface Words { kind: 'fault' | 'note'; text: string }

const KEPT = 1800;          // frames that plots and traces show; twice as many have room
const FRONT = 4;            // numbers before the poses of a frame
const PLOT_EVERY = 150;     // ms
const SPEEDS = [0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10];

// What has been seen of the run: the newest frames
class History {
  readonly run: Run;
  private count = 0;
  private readonly times = new Float64Array(2 * KEPT);
  private readonly poses: Float64Array;
  private readonly columns: Float64Array[];

  private readonly amplitudes: Float64Array;
  private readonly shapes: number; // whose amplitudes a frame has behind the poses

  constructor(scene: Scene) {
    this.shapes = (scene.deformed ?? []).reduce((sum, d) => sum + d.shapes.length, 0);
    this.amplitudes = new Float64Array(2 * KEPT * this.shapes);
    this.poses = new Float64Array(2 * KEPT * 7 * scene.bodies.length);
    this.columns = scene.channels.map(() => new Float64Array(2 * KEPT));
    this.run = {scene, times: this.times, pose: this.poses, rows: this.times, column: []};
  }

  get length(): number { return this.count; }

  // the same numbers with other solids
  take(other: History): void {
    this.times.set(other.times);
    this.poses.set(other.poses);
    this.amplitudes.set(other.amplitudes);
    this.columns.forEach((column, i) => column.set(other.columns[i]));
    this.count = other.count;
    this.view();
  }

  add(t: number, frame: Float64Array): void {
    const n = 7 * this.run.scene.bodies.length;
    if (this.count > 0 && t < this.times[this.count - 1]) this.count = 0; // it was reset
    if (this.count > 0 && t === this.times[this.count - 1]) this.count--;
    if (this.count === 2 * KEPT) { // the older half goes
      this.times.copyWithin(0, KEPT);
      this.poses.copyWithin(0, KEPT * n);
      this.amplitudes.copyWithin(0, KEPT * this.shapes);
      for (const column of this.columns) column.copyWithin(0, KEPT);
      this.count = KEPT;
    }
    this.times[this.count] = t;
    this.poses.set(frame.subarray(FRONT, FRONT + n), this.count * n);
    this.amplitudes.set(frame.subarray(FRONT + n, FRONT + n + this.shapes), this.count * this.shapes);
    this.columns.forEach((column, i) => { column[this.count] = frame[FRONT + n + this.shapes + i]; });
    this.count++;
    this.view();
  }

  private view(): void {
    const run = this.run, n = 7 * run.scene.bodies.length;
    run.times = run.rows = this.times.subarray(0, this.count);
    run.pose = this.poses.subarray(0, this.count * n);
    run.amplitude = this.amplitudes.subarray(0, this.count * this.shapes);
    run.column = this.columns.map(column => column.subarray(0, this.count));
  }
}

export class Live implements Driver {
  private readonly socket: WebSocket;
  private viewer: Viewer | null = null;
  private scene: LiveScene | null = null;
  private history: History | null = null;
  private running = false;
  private plotted = 0;
  private readonly sliders = new Map<string, {slider: HTMLInputElement; field: HTMLInputElement}>();
  private handles: HTMLElement | null = null;
  private play: HTMLButtonElement | null = null;
  private readonly fault: HTMLElement;
  private readonly note: HTMLElement;
  private readonly certificate: HTMLElement;
  private clock: HTMLElement | null = null;
  private pulled: {body: number; s: Vector3; place: Vector3} | null = null;
  private pulls = false;
  private readonly waiting = new Map<string, string>(); // newest wish of each handle, sent with the next picture

  constructor(private readonly root: HTMLElement) {
    this.fault = make('pre', 'fault', root);
    this.fault.setAttribute('role', 'alert');
    this.note = make('p', 'muted', root);
    this.note.setAttribute('aria-live', 'polite');
    this.certificate = make('div', 'certificate');
    this.socket = new WebSocket(`ws://${location.host}${location.pathname}live`, 'kardan');
    this.socket.binaryType = 'arraybuffer';
    this.socket.addEventListener('message', e => {
      if (typeof e.data === 'string') this.hear(JSON.parse(e.data) as LiveScene | Certificate | Words);
      else this.take(new Float64Array(e.data as ArrayBuffer));
    });
    this.socket.addEventListener('close', () => {
      this.setFault('kardan view has ended, or takes no more pages; start it again and open its new address');
      root.dataset.closed = 'yes';
    });
    const send = (): void => {
      for (const text of this.waiting.values()) this.send(text);
      this.waiting.clear();
      requestAnimationFrame(send);
    };
    requestAnimationFrame(send);
    (window as unknown as {kardanLive: Live}).kardanLive = this;
  }

  send(text: string): void { if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text); }

  // ---- what the program says
  private hear(message: LiveScene | Certificate | Words): void {
    if (message.kind === 'scene') this.takeScene(message);
    else if (message.kind === 'certificate') this.showCertificate(message);
    else if (message.kind === 'fault') this.setFault(message.text);
    else this.note.textContent = message.text;
  }

  private setFault(text: string): void { this.fault.textContent = text; }

  private takeScene(scene: LiveScene): void {
    const before = this.scene, plots: Plot[] = scene.plots.map(i => ({
      title: scene.channels[i].name, unit: scene.channels[i].unit, log: false, channels: [i], note: ''}));
    const names = (s: LiveScene): string => JSON.stringify([s.bodies.map(b => b.name), s.channels.map(c => c.name)]);
    const same = before !== null && names(before) === names(scene), history = new History({...scene, plots});
    if (same && this.history) history.take(this.history);
    this.scene = scene;
    this.history = history;
    document.title = scene.title;
    const title = document.querySelector('h1');
    if (title) title.textContent = scene.title;
    this.note.textContent = scene.method;
    if (this.viewer && same && history.length > 0) this.viewer.replace(history.run, true);
    if (this.viewer) this.makeHandles();
  }

  private take(frame: Float64Array): void {
    const scene = this.scene, history = this.history;
    if (!scene || !history || frame[0] !== scene.generation) return;
    const t = frame[1], first = history.length === 0;
    history.add(t, frame);
    this.running = frame[3] === 1;
    if (!this.viewer) this.open(history.run);
    else if (first) this.viewer.replace(history.run, false);
    const viewer = this.viewer!;
    viewer.clock.start = history.run.times[0];
    viewer.clock.end = t;
    viewer.stage?.keepInSight();
    viewer.clock.set(t);
    this.placeRope();
    if (this.play) this.play.textContent = this.running ? '\u2016' : '\u25b6';
    if (this.clock) this.clock.textContent = `${t.toFixed(3)} s, ${digits(Number(frame[2].toFixed(2)))} \u00d7 the clock`;
    const now = performance.now();
    if (now - this.plotted < PLOT_EVERY && this.running) return;
    this.plotted = now;
    viewer.panels.forEach(panel => panel.refresh());
  }

  private open(run: Run): void {
    this.viewer = new Viewer(this.root, run, this);
    (window as unknown as {kardan: object}).kardan = this.viewer.inspect;
    this.makeHandles();
    this.watchMouse();
    this.root.dataset.ready = 'yes';
  }

  private showCertificate(c: Certificate): void {
    const open = this.certificate.querySelector('details')?.open ?? false;
    this.certificate.textContent = '';
    const details = make('details', '', this.certificate);
    details.open = open;
    make('summary', c.clean ? 'good' : 'bad', details, `certificate, ${digits(c.from)} to ${digits(c.to)} s: ${c.sentence}`);
    const list = make('ul', '', details);
    for (const check of c.checks) make('li', check.verdict === 'bad' ? 'bad' : '', list, `${check.name}: ${check.verdict}, ${check.sentence}`);
  }

  // ---- the bar and the sliders
  makeBar(root: HTMLElement, side: HTMLElement): void {
    const bar = make('div', 'bar', root);
    this.play = button(bar, '\u25b6', 'run or pause (space)', () => this.toggle());
    button(bar, '\u203a', 'one picture on (right)', () => this.step());
    button(bar, '\u21ba', 'back to the start', () => this.send('reset'));
    button(bar, 'save', 'write the state to a file', () => this.send('save'));
    const speed = choice(bar, 'speed', SPEEDS.map(s => `${s} \u00d7`), i => this.send(`speed ${SPEEDS[i]}`));
    speed.selectedIndex = SPEEDS.indexOf(1);
    this.clock = make('output', 'clock', bar);
    tick(bar, 'drag pulls bodies (or alt and drag)', false, on => { this.pulls = on; });
    const strength = make('input', 'strength', bar);
    Object.assign(strength, {type: 'range', min: '-2', max: '2', step: 'any', value: '0', title: 'strength of the pull'});
    strength.setAttribute('aria-label', 'strength of the pull');
    strength.addEventListener('input', () => this.waiting.set('strength', `strength ${10 ** Number(strength.value)}`));
    root.append(this.certificate);
    this.handles = make('div', 'handles', side);
  }

  toggle(): void { this.send(this.running ? 'pause' : 'run'); }
  step(): void { this.send('step'); }

  private makeHandles(): void {
    const scene = this.scene, parent = this.handles;
    if (!scene || !parent) return;
    for (const handle of scene.inputs) handle.name = handle.name.replace(/^input\./, '');
    const wanted = [...scene.inputs.map(h => `input ${h.index} ${h.name}`), ...scene.parameters.map(h => `parameter ${h.index} ${h.name}`)];
    if (JSON.stringify(wanted) !== JSON.stringify([...this.sliders.keys()])) {
      parent.textContent = '';
      this.sliders.clear();
      if (scene.inputs.length > 0) make('h3', '', parent, 'inputs');
      for (const handle of scene.inputs) this.makeHandle(parent, 'input', handle);
      if (scene.parameters.length > 0) make('h3', '', parent, 'parameters');
      for (const handle of scene.parameters) this.makeHandle(parent, 'parameter', handle);
    }
    for (const handle of scene.parameters) {
      const both = this.sliders.get(`parameter ${handle.index} ${handle.name}`)!;
      if (document.activeElement !== both.slider) both.slider.value = String(handle.value);
      if (document.activeElement !== both.field) both.field.value = String(handle.value);
    }
  }

  // from 0 to twice the value, or from -1 to 1; the field takes any number
  private makeHandle(parent: HTMLElement, kind: 'input' | 'parameter', handle: Handle): void {
    const row = make('div', 'handle', parent), standard = handle.standard ?? handle.value, reach = standard === 0 ? 1 : 2 * Math.abs(standard);
    make('span', 'name', row, handle.name).title = handle.name;
    const slider = make('input', '', row), field = make('input', '', row);
    Object.assign(slider, {type: 'range', step: 'any', min: String(standard > 0 ? 0 : -reach), max: String(standard < 0 ? 0 : reach), value: String(handle.value)});
    Object.assign(field, {type: 'number', step: 'any', value: String(handle.value)});
    slider.setAttribute('aria-label', `${kind} ${handle.name}`);
    field.setAttribute('aria-label', `value of ${kind} ${handle.name}`);
    const wish = (value: string): void => {
      if (value.trim() !== '' && Number.isFinite(Number(value))) this.waiting.set(`${kind} ${handle.index}`, `${kind} ${handle.index} ${Number(value)}`);
    };
    slider.addEventListener('input', () => { field.value = digits(Number(slider.value)); wish(slider.value); });
    field.addEventListener('change', () => { slider.value = field.value; wish(field.value); });
    button(row, '\u21ba', kind === 'input' ? `${handle.name} as the model says` : `${handle.name} as in the file`, () => {
      slider.value = String(standard);
      field.value = String(standard);
      if (kind === 'input') this.waiting.set(`input ${handle.index}`, `free ${handle.index}`);
      else wish(String(standard));
    });
    this.sliders.set(`${kind} ${handle.index} ${handle.name}`, {slider, field});
  }

  // ---- pulling
  private watchMouse(): void {
    const stage = this.viewer?.stage;
    if (!stage) return;
    const canvas = stage.canvas;
    canvas.addEventListener('pointerdown', e => {
      if (e.button !== 0 || !(e.altKey || this.pulls)) return;
      const hit = stage.pick(e.clientX, e.clientY);
      if (!hit || hit.body < 0) return;
      stage.enableOrbit(false);
      canvas.setPointerCapture(e.pointerId);
      this.pull(hit.body, hit.point);
    }, {capture: true});
    canvas.addEventListener('pointermove', e => {
      if (this.pulled) this.movePull(stage.onPlane(e.clientX, e.clientY, this.pulled.place));
    });
    for (const end of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(end, () => {
      if (!this.pulled) return;
      stage.enableOrbit(true);
      this.release();
    });
  }

  pull(body: number, point: Vector3): void {
    const pose = this.viewer!.stage!.film.poses[body];
    const s = point.clone().sub(pose.r).applyQuaternion(new Quaternion().copy(pose.q).invert());
    this.pulled = {body, s, place: point.clone()};
    this.send(['pull', body, ...s.toArray(), ...point.toArray()].join(' '));
    this.placeRope();
  }

  movePull(place: Vector3): void {
    if (!this.pulled) return;
    this.pulled.place.copy(place);
    this.waiting.set('pull', ['move', ...place.toArray()].join(' '));
    this.placeRope();
  }

  release(): void {
    this.waiting.delete('pull');
    this.send('release');
    this.pulled = null;
    this.placeRope();
  }

  private placeRope(): void {
    const stage = this.viewer?.stage, p = this.pulled;
    if (stage) stage.showRope(p ? [stage.film.point(p.body, p.s.toArray()), p.place] : null);
  }
}
