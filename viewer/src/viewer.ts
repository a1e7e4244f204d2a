// viewer.ts: the view, the time bar, the tree and the plots of one run, which may still go on.
import {Vector3} from 'three';
import {Clock} from './clock';
import type {Plot, Run} from './data';
import {button, choice, digits, download, make, tick, unitOfStress} from './dom';
import {Panel, rowAt} from './plots';
import {RAMP_COLOURS, type Colouring} from './sheets';
import {Stage} from './stage';
import {Tree} from './tree';

// Whoever moves the time of a run that still goes on
export interface Driver {
  makeBar(root: HTMLElement, side: HTMLElement): void;
  toggle(): void;
  step(): void;
}

const SPEEDS = [0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export class Viewer {
  readonly stage: Stage | null;
  readonly clock: Clock;
  readonly panels: Panel[] = [];
  private tree: Tree | null = null;
  private readonly trees: HTMLElement;
  private readonly plots: HTMLElement;
  private readonly facts: HTMLElement;
  private coarse: HTMLElement | null = null;
  private loadTicks: HTMLElement | null = null;
  private tellStress: (() => void) | null = null;
  private chosen: number[] = []; // at most two: the second one tells the distance
  private bar: {play: HTMLButtonElement; slider: HTMLInputElement; clock: HTMLElement} | null = null;

  constructor(root: HTMLElement, private run: Run, private readonly driver: Driver | null = null,
              private readonly other: Run | null = null) {
    this.clock = new Clock(0, 1);
    this.setRange();
    // a report has the frame already, with a picture of the start
    const frame = root.querySelector<HTMLElement>('.viewer') ?? make('div', 'viewer', root), side = frame.querySelector('aside') ?? make('aside', '', frame);
    this.stage = this.makeStage(frame, root);
    // the mechanism is seen before anything else is made
    if (this.stage?.draw(true)) {
      this.stage.finish();
      this.stage.canvas.style.visibility = '';
      frame.querySelector('.still')?.remove();
      performance.mark('kardan: first picture');
    }
    this.facts = make('div', 'facts', side);
    this.facts.setAttribute('aria-live', 'polite');
    const switches = make('div', '', side);
    this.trees = make('div', '', side);
    if (this.stage) {
      this.makeSwitches(switches, this.stage);
      this.tree = new Tree(this.trees, run, this.stage, b => this.choose(b, false));
    } else {
      side.remove();
      if (!frame.querySelector('.still')) frame.remove();
    }
    if (driver) driver.makeBar(root, side);
    else this.makeBar(root);
    this.plots = make('div', 'plots', root);
    if (run.scene.channels.length > 0) this.makeChooser(root);
    if (run.rows.length > 0) this.showChannels();
    this.clock.listen(t => this.moved(t));
    this.tellBody();
    this.keys();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.stage?.setTheme();
      this.panels.forEach(p => p.draw());
    });
    this.clock.set(this.clock.t);
    const loop = (now: number) => {
      this.clock.tick(now);
      if (this.stage?.paint(now)) this.coarse!.textContent = this.stage.isCoarse ? 'coarser while it moves' : '';
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }

  // from the first to the last instant of all that is shown
  private setRange(): void {
    const ends = [this.run, this.other].flatMap(r => (r ? [r.rows, r.times] : [])).filter(list => list.length > 0).flatMap(list => [list[0], list[list.length - 1]]);
    this.clock.start = Math.min(...ends);
    this.clock.end = Math.max(...ends);
    this.clock.t = Math.min(Math.max(this.clock.t, this.clock.start), this.clock.end);
  }

  // the channels of the run have been read
  showChannels(): void {
    this.setRange();
    if (this.stage && this.loadTicks) this.makeLoadTicks(this.stage);
    for (const plot of this.run.scene.plots) this.addPlot(plot, false);
  }

  // Another run in its place; same: of the same bodies and channels, so that what was chosen stays
  replace(run: Run, same: boolean): void {
    this.run = run;
    this.stage?.replace(run, same);
    for (const panel of [...this.panels]) {
      if (same) panel.use(run);
      else { panel.destroy(); this.panels.splice(this.panels.indexOf(panel), 1); }
    }
    if (same) return;
    this.tree?.remove();
    if (this.stage) this.tree = new Tree(this.trees, run, this.stage, b => this.choose(b, false));
    this.choose(null, false);
    for (const plot of run.scene.plots) this.addPlot(plot, false);
  }

  // ---- 3-D
  private makeStage(frame: HTMLElement, root: HTMLElement): Stage | null {
    if (this.run.scene.bodies.length === 0) return null;
    const still = frame.querySelector('.stage3d .still'), holder = still ? still.parentElement! : make('div', 'stage3d', frame);
    try {
      performance.mark('kardan: data');
      const stage = new Stage(holder, this.run, this.other);
      performance.mark('kardan: scene');
      let down = {x: 0, y: 0};
      stage.canvas.addEventListener('pointerdown', e => { down = {x: e.clientX, y: e.clientY}; });
      stage.canvas.addEventListener('pointerup', e => {
        if (Math.hypot(e.clientX - down.x, e.clientY - down.y) > 4) return;
        this.choose(stage.pick(e.clientX, e.clientY)?.body ?? null, e.shiftKey);
      });
      return stage;
    } catch (error) {
      if (still) holder.replaceChildren(still); else holder.remove();
      make('p', 'muted', root, `This browser shows no 3-D graphics (${String(error)}); the picture above is still.`);
      return null;
    }
  }

  private makeSwitches(side: HTMLElement, stage: Stage): void {
    const views = make('div', 'switches views', side);
    button(views, 'fit', 'show the whole motion (f)', () => stage.fit());
    for (const name of ['default', 'front', 'side', 'top']) button(views, name, `view: ${name}`, () => stage.preset(name));
    if (this.other && this.other.scene.bodies.length > 0) {
      const beside = make('div', 'switches', side);
      make('span', '', beside, `other run, pale: ${this.other.scene.title}`);
      choice(beside, 'where the other run is shown', ['over each other', 'side by side', 'hidden'], i => stage.showOther(['over', 'beside', 'hidden'][i]));
    }
    const ticks = make('div', 'switches', side);
    tick(ticks, 'springs', true, on => stage.showSprings(on));
    tick(ticks, 'grid', true, on => stage.showGrid(on));
    tick(ticks, 'shadows', !stage.isSlow(), on => stage.showShadows(on));
    tick(ticks, 'coarser where slow', true, on => stage.setAdaptive(on)).title = 'fewer pixels and no shadows while it moves, where pictures take long; at rest everything is fine';
    this.coarse = make('span', 'coarse');
    stage.canvas.parentElement!.appendChild(this.coarse);
    this.coarse.setAttribute('aria-hidden', 'true');
    tick(ticks, 'traces', false, on => stage.showTraces(on));
    tick(ticks, 'ghosts', false, on => { stage.showGhosts(on); stage.show(this.clock.t); });
    tick(ticks, 'velocities', false, on => stage.showVelocities(on));
    this.loadTicks = make('span', 'switches', ticks);
    this.makeLoadTicks(stage);
    tick(ticks, 'names of links', false, on => stage.showNames(on));
    tick(ticks, 'frames', false, on => stage.showFrames(on));
    tick(ticks, 'centres of mass', false, on => stage.showCentres(on));
    tick(ticks, 'follow the chosen body', false, on => stage.follow(on && this.chosen.length > 0 ? this.chosen[0] : -1));
    if (stage.deforms) this.makeDeformation(make('div', 'switches', side), stage);
    button(views, 'PNG', 'save the view as a picture', () => void stage.picture().then(blob => download(`${this.run.scene.title}.png`, blob)));
    make('p', 'muted', side, `squares of ${digits(this.run.scene.grid)} m; drag: orbit, right or two fingers: pan, wheel: zoom, click: a body, shift-click: distance`);
  }

  // how much larger than in truth deformations are shown
  private makeDeformation(parent: HTMLElement, stage: Stage): void {
    const told = make('span', ''), scale = make('input', 'strength'), tell = (): void => {
      told.textContent = `deformation \u00d7 ${digits(Number((10 ** Number(scale.value)).toPrecision(2)))}, at most ${digits(stage.longest)} m`;
    };
    Object.assign(scale, {type: 'range', min: '0', max: String(Math.log10(stage.mostEnlarged)), step: 'any', value: '0', title: 'how many times the deformation is shown'});
    scale.setAttribute('aria-label', 'how many times the deformation is shown');
    scale.addEventListener('input', () => { stage.enlarge(10 ** Number(scale.value)); tell(); });
    parent.append(told, scale);
    const boxes: HTMLInputElement[] = [], scaleOfStress = make('div', 'stresses'), one = (how: Colouring, me: number) => (on: boolean): void => {
      boxes.forEach((box, i) => { if (i !== me) box.checked = false; });
      scaleOfStress.hidden = !(on && how === 'stress');
      stage.colourDeformation(on ? how : 'none');
    };
    boxes.push(tick(parent, 'colours by deformation', false, one('ways', 0)));
    if (stage.hasStress) {
      boxes.push(tick(parent, 'colours by stress', false, one('stress', 1)));
      this.makeScale(scaleOfStress, stage);
      parent.append(scaleOfStress);
    }
    tell();
  }

  // the colours of stress with their values, and the hot spots, which lead to their time
  private makeScale(parent: HTMLElement, stage: Stage): void {
    const title = make('span', '', parent);
    parent.hidden = true;
    make('div', 'ramp', parent).style.background = `linear-gradient(to right, ${RAMP_COLOURS.join(', ')})`;
    const values = make('div', 'values', parent), value = [0, 1, 2, 3, 4].map(() => make('span', '', values));
    let told = -1;
    this.tellStress = (): void => { // a run that goes on may come to more
      if (told === stage.largestStress) return;
      told = stage.largestStress;
      const [size, unit] = unitOfStress(told);
      title.textContent = `von Mises stress [${unit}]`;
      value.forEach((span, i) => { span.textContent = String(Number((i / 4 * told / size).toPrecision(3))); });
    };
    this.tellStress();
    const [size, unit] = unitOfStress(stage.largestStress);
    for (const spot of this.run.scene.spots ?? [])
      button(parent, `${spot.body}: ${Number((spot.mises / size).toPrecision(4))} ${unit} at ${digits(spot.t)} s`, `hot spot ${spot.where}`, () => {
        this.clock.pause();
        this.clock.set(spot.t);
      });
  }

  // arrows of forces and reactions, once the page has their numbers; a live run has none
  private makeLoadTicks(stage: Stage): void {
    const parent = this.loadTicks!;
    parent.textContent = '';
    const told = make('span', 'muted'), tell = (): void => {
      told.textContent = stage.forceOfSize > 0 ? `${digits(0.1 * this.run.scene.size)} m of an arrow: ${digits(0.1 * stage.forceOfSize)} N` : '';
    };
    for (const [what, words] of [['forces', 'forces'], ['reactions', 'reactions'], ['contacts', 'contact points']] as const)
      if (this.run.force && stage.loadsOf(what).length > 0) tick(parent, words, false, on => { stage.showLoads(what, on); tell(); });
    const scale = make('input', 'strength', parent);
    Object.assign(scale, {type: 'range', min: '-1', max: '1', step: 'any', value: '0', title: 'length of arrows'});
    scale.setAttribute('aria-label', 'length of arrows');
    scale.addEventListener('input', () => { stage.setReach(10 ** Number(scale.value)); tell(); });
    parent.append(told);
  }

  private choose(body: number | null, second: boolean): void {
    if (body === null || body < 0) this.chosen = [];
    else if (second && this.chosen.length > 0 && this.chosen[0] !== body) this.chosen = [this.chosen[0], body];
    else this.chosen = [body];
    this.stage?.highlight(this.chosen.length > 0 ? this.chosen[this.chosen.length - 1] : null);
    this.tree?.mark(this.chosen.length > 0 ? this.chosen[0] : null);
    this.tellBody();
  }

  // name, mass, velocity, place of the chosen body; the distance to the second one
  private tellBody(): void {
    this.facts.textContent = '';
    const stage = this.stage;
    if (!stage || this.chosen.length === 0) return;
    const b = this.chosen[0], body = this.run.scene.bodies[b], v = stage.film.velocity(this.clock.t, b, body.centre);
    make('strong', '', this.facts, body.name);
    make('div', '', this.facts, `mass ${digits(body.mass)} kg, speed ${digits(v.length())} m/s`);
    const at = stage.film.point(b, body.centre);
    make('div', '', this.facts, `centre of mass ${[at.x, at.y, at.z].map(digits).join(', ')} m`);
    if (this.chosen.length > 1) {
      const other = this.run.scene.bodies[this.chosen[1]];
      const distance = at.distanceTo(stage.film.point(this.chosen[1], other.centre, new Vector3()));
      make('div', '', this.facts, `to ${other.name}: ${digits(distance)} m between the centres`);
    }
    const own = this.run.scene.channels.map((_, i) => i).filter(i => this.run.scene.channels[i].name.split(/[.\s']/).includes(body.name));
    if (own.length > 0)
      button(this.facts, `plot its ${own.length} channels`, 'plot the channels of this body', () =>
        this.addPlot({title: body.name, unit: '', log: false, channels: own, note: ''}, true));
  }

  // ---- time
  private makeBar(root: HTMLElement): void {
    const bar = make('div', 'bar', root), events = this.run.scene.events;
    const play = button(bar, '\u25b6', 'play or pause (space)', () => this.clock.toggle());
    const slider = make('input', '', bar), stage = this.stage;
    slider.type = 'range';
    slider.min = '0';
    slider.max = '10000';
    slider.step = '1';
    slider.setAttribute('aria-label', 'time');
    slider.addEventListener('input', () => {
      this.clock.pause();
      this.clock.set(this.clock.start + Number(slider.value) / 10000 * (this.clock.end - this.clock.start));
    });
    const clock = make('output', 'clock', bar);
    button(bar, '\u2039', 'one frame back (left)', () => this.step(-1));
    button(bar, '\u203a', 'one frame on (right)', () => this.step(1));
    const speed = choice(bar, 'speed', SPEEDS.map(s => `${s} \u00d7`), i => { this.clock.speed = SPEEDS[i]; });
    speed.selectedIndex = SPEEDS.indexOf(1);
    tick(bar, 'loop', true, on => { this.clock.loop = on; });
    if (events.length > 0)
      choice(bar, 'go to an event', ['events \u2026', ...events.slice(0, 500).map(e => `${digits(e.t)} s ${e.kind} ${e.element}`)], i => {
        this.clock.pause();
        if (i > 0) this.clock.set(events[i - 1].t);
      });
    if (stage) stage.canvas.setAttribute('aria-description', 'space plays, arrows step, f shows all, 1 to 4 choose a view');
    this.bar = {play, slider, clock};
  }

  private step(by: number): void {
    this.clock.pause();
    // from output to output: frames are where the motion needs them
    const times = this.run.rows.length > 1 ? this.run.rows : this.run.times, now = rowAt(times, this.clock.t);
    this.clock.set(times[Math.min(Math.max(now + by, 0), times.length - 1)]);
  }

  private moved(t: number): void {
    this.stage?.show(t);
    this.tellStress?.();
    if (!this.driver) for (const panel of this.panels) panel.follow(t);
    if (this.bar) {
      this.bar.play.textContent = this.clock.playing ? '\u2016' : '\u25b6';
      this.bar.slider.value = String(Math.round(10000 * (t - this.clock.start) / (this.clock.end - this.clock.start || 1)));
      this.bar.clock.textContent = `${t.toFixed(3)} s`;
    }
    if (this.chosen.length > 0 && !this.clock.playing) this.tellBody();
  }

  private keys(): void {
    document.addEventListener('keydown', e => {
      const target = e.target as HTMLElement;
      if (target.closest('input,select,textarea,button') || e.ctrlKey || e.metaKey || e.altKey) return;
      const stage = this.stage;
      const act: Record<string, () => void> = {
        ...(this.driver ? {' ': () => this.driver!.toggle(), ArrowRight: () => this.driver!.step()}
                        : {' ': () => this.clock.toggle(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
                           Home: () => this.clock.set(this.clock.start), End: () => this.clock.set(this.clock.end)}),
        f: () => stage?.fit(),
        1: () => stage?.preset('default'), 2: () => stage?.preset('front'), 3: () => stage?.preset('side'), 4: () => stage?.preset('top'),
      };
      if (!act[e.key]) return;
      e.preventDefault();
      act[e.key]();
    });
  }

  // ---- plots
  private addPlot(plot: Plot, closes: boolean): void {
    if (plot.channels.length === 0) return;
    this.panels.push(new Panel(this.plots, this.run, this.other, this.clock, plot, closes ? panel => {
      this.panels.splice(this.panels.indexOf(panel), 1);
    } : null));
  }

  private makeChooser(root: HTMLElement): void {
    const bar = make('div', 'bar', root), input = make('input', 'find', bar);
    make('datalist', '', bar).id = 'kardan-channels';
    input.setAttribute('list', 'kardan-channels');
    input.placeholder = 'plot another channel \u2026';
    input.setAttribute('aria-label', 'plot another channel');
    input.addEventListener('focus', () => this.listChannels());
    input.addEventListener('change', () => {
      const i = this.run.scene.channels.findIndex(c => c.name === input.value);
      if (i < 0) return;
      const c = this.run.scene.channels[i];
      this.addPlot({title: c.name, unit: c.unit, log: false, channels: [i], note: ''}, true);
      input.value = '';
    });
  }

  private listChannels(): void {
    const list = document.getElementById('kardan-channels')!;
    list.textContent = '';
    this.run.scene.channels.forEach(c => { make('option', '', list).value = c.name; });
  }

  // ---- for programs: the view alone, in a given size, at given times (kardan render)
  prepare(width: number, height: number, view: string): string {
    const stage = this.stage;
    if (!stage) throw new Error('this page has no 3-D view');
    document.body.replaceChildren(stage.alone(width, height));
    stage.preset(view);
    return 'ready';
  }

  async picture(t: number, kind: string): Promise<string> {
    this.clock.set(t);
    const blob = await this.stage!.picture(kind), bytes = new Uint8Array(await blob.arrayBuffer());
    let text = '';
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  }

  range(): string { return `${this.clock.start} ${this.clock.end}`; }

  // what tests and programs may look at
  get inspect(): object {
    return {addPlot: (plot: Plot) => this.addPlot(plot, true), choose: (body: number, second: boolean) => this.choose(body, second), stage: this.stage, clock: this.clock, run: this.run, panels: this.panels, range: () => this.range(),
            prepare: (w: number, h: number, v: string) => this.prepare(w, h, v), picture: (t: number, kind: string) => this.picture(t, kind)};
  }
}
