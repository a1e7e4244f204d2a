// modes.ts: eigenvalues as a table and in the complex plane; the mechanism swings in the one that is chosen. Of a root locus the points
// are those of all values of its parameter.
import {hasBlock, readRun, type Run} from './data';
import {digits, make} from './dom';
import {Viewer} from './viewer';

interface Mode { real: number; imaginary: number; frequency: number; damping: number; value: number; moves: string; film: boolean }

// a real part that is rounding only
const swings = (m: Mode): boolean => Math.abs(m.real) < 1e-11 * Math.hypot(m.real, m.imaginary);

const SIZE = 260, MARGIN = 34, SVG = 'http://www.w3.org/2000/svg';

function part(parent: Element, kind: string, attributes: Record<string, string | number>): Element {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  parent.appendChild(element);
  return element;
}

export class Modes {
  private readonly rows: HTMLTableRowElement[] = [];
  private readonly numbers: number[] = []; // of the modes of the rows
  private readonly points: Element[] = [];
  private viewer: Viewer | null = null;
  private readonly parameter: string | null; // that varies: a root locus
  chosen = -1;

  static async open(root: HTMLElement): Promise<Modes> {
    const modes = [...document.querySelectorAll('script[data-kardan="mode"]')].map(block => JSON.parse(block.textContent ?? '') as Mode);
    // a mode has no size, so its stress has none
    const bare = (run: Run): Run => { run.scene.deformed?.forEach(d => { delete d.places; }); return run; };
    const runs = await Promise.all(modes.map((_, i) => (hasBlock(document, `mode-${i}-scene`) ? readRun(document, `mode-${i}-`).then(bare) : null)));
    return new Modes(root, modes, runs);
  }

  private constructor(root: HTMLElement, private readonly modes: Mode[], private readonly runs: Array<Run | null>) {
    const first = runs.findIndex(run => run !== null);
    if (first >= 0) {
      this.viewer = new Viewer(root, runs[first]!);
      (window as unknown as {kardan: object}).kardan = {...this.viewer.inspect, modes: this};
    }
    this.parameter = root.dataset.parameter ?? null;
    const both = make('div', 'modes', root);
    this.makePlane(both);
    this.makeTable(both);
    if (first >= 0) {
      this.choose(first);
      this.viewer!.clock.toggle();
    }
  }

  // the mechanism swings in this mode from now on
  choose(i: number): void {
    const run = this.runs[i];
    if (!run || !this.viewer) return;
    this.chosen = i;
    this.viewer.replace(run, true);
    this.rows.forEach((row, k) => row.setAttribute('aria-selected', String(this.numbers[k] === i)));
    this.rows[this.numbers.indexOf(i)]?.scrollIntoView({block: 'nearest'});
    this.points.forEach((point, k) => point.setAttribute('class', `${k === i ? 'chosen' : this.modes[k].real > 0 && !swings(this.modes[k]) ? 'grows' : ''}${this.modes[k].film ? '' : ' still'}`));
  }

  private makeTable(parent: HTMLElement): void {
    const holder = make('div', 'scroll', parent), table = make('table', '', holder), head = make('tr', '', make('thead', '', table));
    for (const word of ['', ...(this.parameter ? [this.parameter] : []), 'real [1/s]', 'imag [rad/s]', '[Hz]', 'damping', 'moves most']) make('th', '', head, word);
    const body = make('tbody', '', table);
    this.modes.forEach((mode, i) => {
      if (this.parameter && !mode.film) return; // points alone are in the plane
      const row = make('tr', '', body);
      const cell = make('td', '', row);
      if (mode.film) {
        const show = make('button', '', cell, String(i + 1));
        show.type = 'button';
        show.setAttribute('aria-label', `show mode ${i + 1}`);
        show.addEventListener('click', () => this.choose(i));
      } else {
        cell.textContent = String(i + 1);
      }
      for (const value of [...(this.parameter ? [mode.value] : []), swings(mode) ? 0 : mode.real, mode.imaginary, mode.frequency, swings(mode) ? 0 : mode.damping]) make('td', '', row, digits(value));
      make('td', '', row, mode.moves);
      this.rows.push(row);
      this.numbers.push(i);
    });
  }

  // eigenvalues and their conjugates; to the right of the axis motions grow
  private makePlane(parent: HTMLElement): void {
    const svg = document.createElementNS(SVG, 'svg'), most = (list: number[]): number => Math.max(...list.map(Math.abs), 1e-9);
    const x = 1.1 * most(this.modes.map(m => m.real)), y = 1.1 * most(this.modes.map(m => m.imaginary)), half = SIZE / 2 - MARGIN;
    const at = (re: number, im: number): [number, number] => [SIZE / 2 + re / x * half, SIZE / 2 - im / y * half];
    svg.setAttribute('viewBox', `0 0 ${SIZE} ${SIZE}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', 'eigenvalues in the complex plane; the same are in the table');
    svg.setAttribute('class', 'plane');
    part(svg, 'path', {d: `M${MARGIN / 2} ${SIZE / 2}H${SIZE - MARGIN / 2}M${SIZE / 2} ${MARGIN / 2}V${SIZE - MARGIN / 2}`, class: 'axis'});
    part(svg, 'text', {x: SIZE - MARGIN / 2, y: SIZE / 2 - 5, 'text-anchor': 'end'}).textContent = `real, ${digits(x)} 1/s`;
    part(svg, 'text', {x: SIZE / 2 + 5, y: MARGIN / 2}).textContent = `imaginary, ${digits(y)} rad/s`;
    this.modes.forEach((mode, i) => {
      const group = part(svg, 'g', {});
      for (const sign of mode.imaginary > 0 ? [1, -1] : [1]) {
        const [cx, cy] = at(mode.real, sign * mode.imaginary), dot = part(group, 'circle', {cx, cy, r: !this.parameter ? 4.5 : mode.film ? 3 : 1.3});
        part(dot, 'title', {}).textContent = `${this.parameter ? `${this.parameter} = ${digits(mode.value)}` : `mode ${i + 1}`}: ${digits(mode.frequency)} Hz, damping ${digits(mode.damping)}`;
      }
      group.addEventListener('click', () => this.choose(i));
      this.points.push(group);
    });
    parent.appendChild(svg);
  }
}
