// plots.ts: channels over time, or over each other, or their spectra, with one cursor for all and the 3-D view.
import uPlot from 'uplot';
import type {Clock} from './clock';
import type {Event, Plot, Run} from './data';
import {button, choice, digits, download, isDark, make, shortDigits} from './dom';

export const COLOURS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7A5C1E', '#4A5563', '#8B1E3F', '#2F6B4F'];
const HEIGHT = 260, LEAST_SHOWN = 1e-17, MOST_MARKS = 400, MOST_AXES = 3;
type Mode = 'time' | 'against' | 'spectrum';

// row whose time is closest to t
export function rowAt(rows: ArrayLike<number>, t: number): number {
  let low = 0, high = rows.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows[middle] <= t) low = middle; else high = middle;
  }
  return Math.abs(rows[high] - t) < Math.abs(t - rows[low]) ? high : low;
}

// Amplitudes of the discrete Fourier transform, after the mean is taken away and a Hann window laid over it. The channel is
// put onto even times first. A power of two by Cooley and Tukey.
export function spectrum(rows: Float64Array, y: Float64Array): {f: Float64Array; amplitude: Float64Array} {
  let n = 1;
  while (n * 2 <= Math.min(rows.length, 16384)) n *= 2;
  const t0 = rows[0], span = rows[rows.length - 1] - t0, re = new Float64Array(n), im = new Float64Array(n);
  if (n < 8 || !(span > 0)) return {f: new Float64Array(), amplitude: new Float64Array()};
  const dt = span / (n - 1);
  let mean = 0;
  for (let i = 0, k = 0; i < n; i++) {
    const t = t0 + i * dt;
    while (k < rows.length - 2 && rows[k + 1] < t) k++;
    const part = (t - rows[k]) / (rows[k + 1] - rows[k]);
    re[i] = y[k] + Math.min(Math.max(part, 0), 1) * (y[k + 1] - y[k]);
    mean += re[i] / n;
  }
  for (let i = 0; i < n; i++) re[i] = (re[i] - mean) * (1 - Math.cos(2 * Math.PI * i / n)); // mean of the window is 1
  for (let i = 1, j = 0; i < n; i++) { // places with reversed bits
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [re[i], re[j]] = [re[j], re[i]];
  }
  for (let length = 2; length <= n; length *= 2) { // butterflies
    for (let k = 0; k < length / 2; k++) {
      const angle = -2 * Math.PI * k / length, c = Math.cos(angle), s = Math.sin(angle);
      for (let i = k; i < n; i += length) {
        const j = i + length / 2, x = c * re[j] - s * im[j], z = c * im[j] + s * re[j];
        re[j] = re[i] - x; im[j] = im[i] - z;
        re[i] += x; im[i] += z;
      }
    }
  }
  const half = n / 2, f = new Float64Array(half - 1), amplitude = new Float64Array(half - 1);
  for (let i = 1; i < half; i++) {
    f[i - 1] = i / (n * dt);
    amplitude[i - 1] = 2 / n * Math.hypot(re[i], im[i]);
  }
  return {f, amplitude};
}

export class Panel {
  private plot: uPlot | null = null;
  private readonly holder: HTMLElement;
  private readonly figure: HTMLElement;
  private mode: Mode = 'time';
  private against = 0;
  private row = -1; // of the time; -1: not shown yet
  private readonly sizes: ResizeObserver;
  private readonly sight: IntersectionObserver;

  constructor(parent: HTMLElement, private run: Run, private readonly other: Run | null, private readonly clock: Clock, readonly plotOf: Plot,
              close: ((panel: Panel) => void) | null) {
    this.figure = make('figure', 'plot', parent);
    const head = make('figcaption', '', this.figure);
    make('span', 'name', head, plotOf.title + (plotOf.unit && !plotOf.title.endsWith(` in ${plotOf.unit}`) ? ` [${plotOf.unit}]` : ''));
    if (plotOf.note) make('span', 'muted', head, ' ' + plotOf.note);
    const tools = make('span', 'tools', head);
    const axis = choice(tools, 'what is on the horizontal axis', ['over time', 'spectrum'], i => {
      this.mode = i === 0 ? 'time' : i === 1 ? 'spectrum' : 'against';
      this.against = i - 2;
      this.draw();
    });
    // thousands of channels in every plot would take seconds: the list is whole when somebody comes near
    const fill = (): void => { if (axis.options.length === 2) for (const c of this.run.scene.channels) make('option', '', axis, `over ${c.name}`); };
    for (const event of ['pointerenter', 'focus']) axis.addEventListener(event, fill);
    button(tools, 'CSV', 'save the numbers of this plot', () => this.saveNumbers());
    button(tools, 'PNG', 'save this plot as a picture', () => this.savePicture());
    if (close) button(tools, '\u00d7', 'close this plot', () => { this.destroy(); close(this); });
    this.holder = make('div', 'axes', this.figure);
    this.holder.style.minHeight = `${HEIGHT}px`;
    this.holder.tabIndex = 0;
    this.holder.setAttribute('role', 'group');
    this.holder.setAttribute('aria-label', `plot of ${plotOf.title}: arrows go along, plus and minus come closer, 0 shows all; CSV has the numbers`);
    this.holder.addEventListener('keydown', e => this.key(e));
    this.sizes = new ResizeObserver(() => this.plot?.setSize({width: this.width(), height: HEIGHT}));
    this.sizes.observe(this.holder);
    // it is drawn when it is, or will soon be, in sight
    this.sight = new IntersectionObserver(entries => {
      if (!entries.some(e => e.isIntersecting)) return;
      this.sight.disconnect();
      if (!this.plot) this.draw();
      this.follow(this.clock.t);
    }, {rootMargin: '600px'});
    this.sight.observe(this.holder);
  }

  private width(): number { return Math.max(this.holder.clientWidth, 200); }

  private columns(): Array<Float64Array> {
    const shown = this.plotOf.channels.map(c => this.run.column[c]);
    return this.plotOf.log ? shown.map(y => y.map(v => Math.max(v, LEAST_SHOWN))) : shown;
  }

  // the channels of the other run that have the same names
  private others(): Array<{name: string; y: Float64Array}> {
    const other = this.other;
    if (!other || this.mode !== 'time') return [];
    return this.plotOf.channels.map(c => this.run.scene.channels[c].name)
      .map(name => ({name, y: other.column[other.scene.channels.findIndex(c => c.name === name)]})).filter(o => o.y !== undefined);
  }

  private data(): uPlot.AlignedData {
    const y = this.columns(), others = this.others();
    if (others.length > 0) { // both on their own times
      const tables = [[this.run.rows, ...y], [this.other!.rows, ...others.map(o => (this.plotOf.log ? o.y.map(v => Math.max(v, LEAST_SHOWN)) : o.y))]];
      return uPlot.join(tables.map(table => table.map(column => Array.from(column))) as unknown as uPlot.AlignedData[]) as uPlot.AlignedData;
    }
    if (this.mode === 'spectrum') {
      const all = y.map(column => spectrum(this.run.rows, column));
      return [all[0].f, ...all.map(s => s.amplitude)] as unknown as uPlot.AlignedData;
    }
    if (this.mode === 'time') return [this.run.rows, ...y] as unknown as uPlot.AlignedData;
    return [null, ...y.map(column => [this.run.column[this.against], column])] as unknown as uPlot.AlignedData;
  }

  // Units of the channels: each has an axis of its own, up to some; further ones share the last
  private units(): string[] {
    if (this.plotOf.unit || this.mode !== 'time') return [this.plotOf.unit];
    return [...new Set(this.plotOf.channels.map(c => this.run.scene.channels[c].unit))].slice(0, MOST_AXES);
  }

  private scaleOf(channel: number): string {
    const units = this.units(), at = units.indexOf(this.run.scene.channels[channel].unit);
    const i = this.plotOf.unit || this.mode !== 'time' ? 0 : at >= 0 ? at : units.length - 1;
    return i === 0 ? 'y' : `y${i}`;
  }

  private axisWords(): string {
    if (this.mode === 'time') return 't [s]';
    if (this.mode === 'spectrum') return 'f [Hz]';
    const c = this.run.scene.channels[this.against];
    return c.name + (c.unit ? ` [${c.unit}]` : '');
  }

  // a phase plot: uPlot's own paths want rising x
  private phasePath = (u: uPlot, seriesIdx: number): null => {
    const [xs, ys] = u.data[seriesIdx] as unknown as [Float64Array, Float64Array], c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    c.beginPath();
    for (let i = 0; i < xs.length; i++) c.lineTo(u.valToPos(xs[i], 'x', true), u.valToPos(ys[i], 'y', true));
    c.strokeStyle = COLOURS[(seriesIdx - 1) % COLOURS.length];
    c.lineWidth = 1.5 * devicePixelRatio;
    c.stroke();
    c.fillStyle = c.strokeStyle;
    c.beginPath();
    const at = Math.max(this.row, 0);
    c.arc(u.valToPos(xs[at], 'x', true), u.valToPos(ys[at], 'y', true), 4 * devicePixelRatio, 0, 2 * Math.PI);
    c.fill();
    c.restore();
    return null;
  };

  private range(column: Float64Array[]): [number, number] {
    let low = Infinity, high = -Infinity;
    for (const y of column) for (const v of y) { low = Math.min(low, v); high = Math.max(high, v); }
    const room = high > low ? 0.05 * (high - low) : Math.max(1e-12, 0.1 * Math.abs(high));
    return [low - room, high + room];
  }

  draw(): void {
    this.plot?.destroy();
    const ink = isDark() ? '#c9d1d9' : '#3b4652', lines = isDark() ? '#2b323a' : '#e6e9ed', phase = this.mode === 'against';
    const axis = {stroke: ink, grid: {stroke: lines, width: 1}, ticks: {stroke: lines, width: 1}};
    const units = this.units();
    const options: uPlot.Options = {
      width: this.width(), height: HEIGHT, mode: phase ? 2 : 1,
      cursor: {drag: {x: true, y: true, uni: 30}, focus: {prox: 24}, sync: this.mode === 'time' ? {key: 'kardan'} : undefined},
      scales: {
        ...Object.fromEntries(units.slice(1).map((_, i) => [`y${i + 1}`, {distr: this.plotOf.log ? 3 : 1}])),
        x: phase ? {time: false, range: () => this.range([this.run.column[this.against]])} : {time: false},
        y: phase ? {range: () => this.range(this.columns())} : {distr: this.plotOf.log || this.mode === 'spectrum' ? 3 : 1},
      },
      axes: [{...axis, label: this.axisWords(), labelSize: 20, size: 38}, 
             ...units.map((unit, i) => ({...axis, scale: i === 0 ? 'y' : `y${i}`, size: units.length > 1 ? 70 : 62, side: i === 0 ? 3 : 1,
                                         grid: i === 0 ? axis.grid : {show: false}, label: units.length > 1 ? unit || '-' : undefined, labelSize: 18,
                                         values: (_: uPlot, v: Array<number | null>) => v.map(x => (x === null ? '' : shortDigits(x)))}))] as uPlot.Axis[],
      series: [phase ? {} : {label: this.axisWords(), value: (_, v) => (v === null ? '' : digits(v))},
               ...this.plotOf.channels.map((c, i) => ({
                 label: this.run.scene.channels[c].name, stroke: COLOURS[i % COLOURS.length], width: 1.5, points: {show: false}, ...(phase ? {} : {scale: this.scaleOf(c)}),
                 ...(phase ? {facets: [{scale: 'x', auto: true}, {scale: 'y', auto: true}], paths: this.phasePath as unknown as uPlot.Series.PathBuilder}
                           : {value: (_: uPlot, v: number | null) => (v == null ? '' : digits(v)), spanGaps: this.other !== null}),
               })),
               ...this.others().map(o => ({
                 label: `${o.name} (other run)`, stroke: COLOURS[this.plotOf.channels.findIndex(c => this.run.scene.channels[c].name === o.name) % COLOURS.length],
                 scale: this.scaleOf(this.plotOf.channels.find(c => this.run.scene.channels[c].name === o.name)!), width: 1.5, dash: [6, 4], points: {show: false}, spanGaps: true, value: (_: uPlot, v: number | null) => (v == null ? '' : digits(v)),
               }))] as uPlot.Series[],
      hooks: {
        drawClear: [u => { if (this.mode === 'time') drawMarks(u, this.run.scene.events, lines); }],
        draw: [u => { if (this.mode === 'time') drawCursor(u, this.clock.t, ink); }],
        ready: [u => { u.over.addEventListener('click', e => this.takeTime(u, e)); this.letPan(u); }],
      },
    };
    this.plot = new uPlot(options, this.data(), this.holder);
  }

  // shift and drag, or drag with the middle button: along the axis; ctrl and wheel: closer
  private letPan(u: uPlot): void {
    const over = u.over;
    let from: {x: number; min: number; max: number} | null = null;
    over.addEventListener('pointerdown', e => {
      if (!(e.shiftKey && e.button === 0) && e.button !== 1) return;
      from = {x: e.clientX, min: u.scales.x.min!, max: u.scales.x.max!};
      over.setPointerCapture(e.pointerId);
      e.preventDefault();
    });
    over.addEventListener('mousedown', e => { if (e.shiftKey || e.button === 1) e.stopImmediatePropagation(); }, {capture: true});
    over.addEventListener('pointermove', e => {
      if (!from) return;
      const by = (from.x - e.clientX) / over.clientWidth * (from.max - from.min);
      this.zoom(from.min + by, from.max + by);
    });
    for (const end of ['pointerup', 'pointercancel']) over.addEventListener(end, () => { from = null; });
    over.addEventListener('wheel', e => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.closer(Math.exp(0.002 * e.deltaY), u.posToVal(e.clientX - over.getBoundingClientRect().left, 'x'));
    }, {passive: false});
  }

  // the range about a place so many times as wide
  private closer(times: number, about: number): void {
    const {min, max} = this.plot?.scales.x ?? {};
    if (min != null && max != null) this.zoom(about + times * (min - about), about + times * (max - about));
  }

  // keys on a plot: arrows go along, + and - come closer, 0 shows all
  private key(e: KeyboardEvent): void {
    const u = this.plot, {min, max} = u?.scales.x ?? {};
    if (!u || min == null || max == null || e.ctrlKey || e.metaKey || e.altKey) return;
    const by = 0.1 * (max - min), middle = this.clock.t > min && this.clock.t < max && this.mode === 'time' ? this.clock.t : 0.5 * (min + max);
    const act: Record<string, () => void> = {
      ArrowLeft: () => this.zoom(min - by, max - by), ArrowRight: () => this.zoom(min + by, max + by),
      '+': () => this.closer(0.8, middle), '-': () => this.closer(1.25, middle), 0: () => u.setData(this.data()),
    };
    if (!act[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    act[e.key]();
  }

  // a click goes to that time; a drag zooms, a double click shows all
  private takeTime(u: uPlot, e: MouseEvent): void {
    if (this.mode !== 'time' || u.select.width > 3 || e.shiftKey) return;
    this.clock.set(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, 'x'));
  }

  // the time has moved
  follow(t: number): void {
    if (!this.plot) return;
    const row = rowAt(this.mode === 'time' && this.other ? (this.plot.data[0] as ArrayLike<number>) : this.run.rows, t);
    if (this.mode !== 'spectrum') this.plot.redraw(false);
    if (row === this.row) return;
    this.row = row;
    if (this.mode === 'time') this.plot.setLegend({idx: row});
  }

  use(run: Run): void {
    this.run = run;
    this.refresh();
  }

  // the run has more rows than before; zoomed plots keep their range
  refresh(): void {
    if (this.plot) this.plot.setData(this.data());
    this.row = -1;
  }

  zoom(from: number, to: number): void { this.plot?.setScale('x', {min: from, max: to}); }

  private saveNumbers(): void {
    const names = this.plotOf.channels.map(c => this.run.scene.channels[c].name), cell = (s: string) => `"${s.replace(/"/g, '""')}"`;
    const lines = [['t', ...names].map(cell).join(',')];
    for (let i = 0; i < this.run.rows.length; i++)
      lines.push([this.run.rows[i], ...this.plotOf.channels.map(c => this.run.column[c][i])].join(','));
    download(`${this.plotOf.title}.csv`, new Blob([lines.join('\n') + '\n'], {type: 'text/csv'}));
  }

  private savePicture(): void {
    if (!this.plot) this.draw();
    this.plot?.ctx.canvas.toBlob(blob => { if (blob) download(`${this.plotOf.title}.png`, blob); });
  }

  destroy(): void {
    this.sizes.disconnect();
    this.sight.disconnect();
    this.plot?.destroy();
    this.plot = null;
    this.figure.remove();
  }
}

function drawMarks(u: uPlot, events: Event[], ink: string): void {
  if (events.length > MOST_MARKS) return;
  const c = u.ctx;
  c.save();
  c.strokeStyle = ink;
  c.beginPath();
  for (const event of events) {
    const x = Math.round(u.valToPos(event.t, 'x', true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    c.moveTo(x, u.bbox.top);
    c.lineTo(x, u.bbox.top + u.bbox.height);
  }
  c.stroke();
  c.restore();
}

function drawCursor(u: uPlot, t: number, ink: string): void {
  const x = Math.round(u.valToPos(t, 'x', true)), c = u.ctx;
  if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
  c.save();
  c.strokeStyle = ink;
  c.lineWidth = devicePixelRatio;
  c.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  c.beginPath();
  c.moveTo(x, u.bbox.top);
  c.lineTo(x, u.bbox.top + u.bbox.height);
  c.stroke();
  c.restore();
}
