// bode.ts: gain and phase over the frequency; a click, the slider or the arrow keys choose one, and the mechanism swings in its response.
import uPlot from 'uplot';
import {hasBlock, readRun, type Run} from './data';
import {choice, digits, isDark, make} from './dom';
import {COLOURS} from './plots';
import {Viewer} from './viewer';

interface Line { name: string; input: number; inputName: string; level: Array<number | null>; phase: Array<number | null> }
interface Data { frequency: number[]; lines: Line[] }
interface Swing { frequency: number; value: number; moves: string; film: boolean; run: Run | null }

const HEIGHT = 230;

export class Bode {
  chosen = -1;                         // swing
  private input: number;
  private readonly plots: uPlot[] = [];
  private readonly viewer: Viewer | null = null;
  private readonly slider: HTMLInputElement;
  private readonly told: HTMLElement;

  static async open(root: HTMLElement): Promise<Bode> {
    const data = JSON.parse(document.querySelector('script[data-kardan="bode"]')!.textContent ?? '') as Data;
    const swings = await Promise.all([...document.querySelectorAll('script[data-kardan="mode"]')].map(async (block, i) => ({
      ...JSON.parse(block.textContent ?? '') as Swing, run: hasBlock(document, `mode-${i}-scene`) ? await readRun(document, `mode-${i}-`) : null})));
    return new Bode(root, data, swings);
  }

  private constructor(root: HTMLElement, private readonly data: Data, private readonly swings: Swing[]) {
    const inputs = [...new Map(data.lines.map(l => [l.input, l.inputName])).entries()], first = swings.findIndex(s => s.run !== null);
    this.input = inputs[0]?.[0] ?? 0;
    if (first >= 0) {
      this.viewer = new Viewer(root, swings[first].run!);
      this.input = swings[first].value;
      this.viewer.clock.toggle();
    }
    const bar = make('div', 'bar', root);
    if (inputs.length > 1) choice(bar, 'input that shakes it', inputs.map(i => i[1]), i => { this.input = inputs[i][0]; this.at(this.frequency); });
    else make('span', '', bar, inputs[0]?.[1] ?? '');
    this.slider = make('input', '', bar);
    this.slider.type = 'range';
    this.slider.setAttribute('aria-label', 'frequency');
    this.slider.addEventListener('input', () => this.show(this.own()[Number(this.slider.value)]));
    this.told = make('output', 'clock', bar);
    this.told.setAttribute('aria-live', 'polite');
    const holder = make('div', 'plots', root);
    this.makePlot(holder, 'gain [dB]', line => line.level);
    this.makePlot(holder, 'phase [deg]', line => line.phase);
    this.makeTable(root);
    make('p', 'muted', root, first >= 0
      ? 'click a frequency in a plot: the mechanism swings in its response, slowed to two seconds; each swing is drawn with the same largest way, how large it is says the gain'
      : 'the inputs prescribe motions: the response is shown by its numbers only');
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload());
    (window as unknown as {kardan: object}).kardan = {...this.viewer?.inspect, bode: this};
    // the largest response of the first line to begin with
    const line = data.lines[0], peak = line.level.reduce<number>((best, x, i) => (x !== null && x > (line.level[best] ?? -Infinity) ? i : best), 0);
    this.at(data.frequency[peak]);
  }

  // swings of the chosen input, rising
  private own(): number[] {
    return this.swings.map((_, i) => i).filter(i => this.swings[i].value === this.input).sort((a, b) => this.swings[a].frequency - this.swings[b].frequency);
  }

  get frequency(): number { return this.chosen >= 0 ? this.swings[this.chosen].frequency : this.data.frequency[0]; }

  // the nearest one that the page has, by its ratio
  at(frequency: number): void {
    const own = this.own();
    if (own.length === 0) return;
    this.show(own.reduce((best, i) => (Math.abs(Math.log(this.swings[i].frequency / frequency)) < Math.abs(Math.log(this.swings[best].frequency / frequency)) ? i : best), own[0]));
  }

  private show(i: number): void {
    const swing = this.swings[i], own = this.own();
    this.chosen = i;
    this.slider.max = String(own.length - 1);
    this.slider.value = String(own.indexOf(i));
    this.told.textContent = `${digits(swing.frequency)} Hz`;
    this.told.title = swing.moves ? `moves most for an input of 1: ${swing.moves}` : '';
    if (swing.run) this.viewer?.replace(swing.run, true);
    this.plots.forEach(plot => { plot.redraw(false); plot.setLegend({idx: this.row(swing.frequency)}); });
  }

  private row(frequency: number): number {
    return this.data.frequency.reduce((best, f, i) => (Math.abs(f - frequency) < Math.abs(this.data.frequency[best] - frequency) ? i : best), 0);
  }

  private makePlot(parent: HTMLElement, words: string, of: (line: Line) => Array<number | null>): void {
    const figure = make('figure', 'plot', parent), holder = make('div', '', figure), ink = isDark() ? '#c9d1d9' : '#3b4652', lines = isDark() ? '#2b323a' : '#e6e9ed';
    const axis = {stroke: ink, grid: {stroke: lines, width: 1}, ticks: {stroke: lines, width: 1}}, width = (): number => Math.max(holder.clientWidth, 200);
    const plot = new uPlot({
      width: width(), height: HEIGHT, title: words,
      cursor: {drag: {x: true, y: false}, sync: {key: 'kardan-bode'}},
      scales: {x: {time: false, distr: 3}, y: {}},
      axes: [{...axis, label: 'f [Hz]', labelSize: 20, size: 38, values: (_, v) => v.map(x => (x === null ? '' : digits(x)))}, {...axis, size: 62}],
      series: [{label: 'f [Hz]', value: (_, v) => (v === null ? '' : digits(v))},
               ...this.data.lines.map((line, i) => ({label: line.name, stroke: COLOURS[i % COLOURS.length], width: 1.5, points: {show: false},
                                                     value: (_: uPlot, v: number | null) => (v == null ? '' : digits(v))}))],
      hooks: {
        draw: [u => this.mark(u, ink)],
        ready: [u => u.over.addEventListener('click', e => {
          if (u.select.width <= 3) this.at(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, 'x'));
        })],
      },
    }, [this.data.frequency, ...this.data.lines.map(of)] as uPlot.AlignedData, holder);
    new ResizeObserver(() => plot.setSize({width: width(), height: HEIGHT})).observe(holder);
    this.plots.push(plot);
  }

  private mark(u: uPlot, ink: string): void {
    if (this.chosen < 0) return;
    const x = Math.round(u.valToPos(this.frequency, 'x', true)), c = u.ctx;
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

  // the same in words: first, largest and last of each line
  private makeTable(parent: HTMLElement): void {
    const holder = make('div', 'scroll', parent), table = make('table', '', holder), head = make('tr', '', make('thead', '', table)), body = make('tbody', '', table);
    for (const word of ['response', 'largest gain [dB]', 'at [Hz]', 'phase there [deg]', `gain at ${digits(this.data.frequency[0])} Hz [dB]`]) make('th', '', head, word);
    for (const line of this.data.lines) {
      const row = make('tr', '', body), peak = line.level.reduce<number>((best, x, i) => (x !== null && x > (line.level[best] ?? -Infinity) ? i : best), 0);
      for (const text of [line.name, ...[line.level[peak], this.data.frequency[peak], line.phase[peak], line.level[0]].map(x => (x === null ? '' : digits(x)))]) make('td', '', row, text);
    }
  }
}
