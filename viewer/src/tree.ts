// tree.ts: the bodies as a list to show, fade and choose from; names with dots become branches.
import type {Run} from './data';
import {make} from './dom';
import {GROUND} from './batch';
import type {Stage} from './stage';

interface Branch { name: string; bodies: number[]; branches: Map<string, Branch> }

const OPACITY = [1, 0.35];

export class Tree {
  private readonly rows = new Map<number, HTMLElement>();
  private readonly lists: HTMLElement[] = [];

  constructor(parent: HTMLElement, private readonly run: Run, private readonly stage: Stage, private readonly choose: (body: number) => void) {
    const root: Branch = {name: '', bodies: [], branches: new Map()};
    run.scene.bodies.forEach((body, i) => {
      const parts = body.name.split('.');
      let at = root;
      for (const part of parts.slice(0, -1)) {
        if (!at.branches.has(part)) at.branches.set(part, {name: part, bodies: [], branches: new Map()});
        at = at.branches.get(part)!;
      }
      at.bodies.push(i);
    });
    this.lists.push(make('ul', 'bodies', parent), make('ul', 'bodies', parent));
    this.put(root, this.lists[0]);
    this.putBody(GROUND, this.lists[1]);
  }

  remove(): void { this.lists.forEach(list => list.remove()); }

  private put(branch: Branch, list: HTMLElement): void {
    for (const b of branch.bodies) this.putBody(b, list);
    for (const child of branch.branches.values()) {
      const item = make('li', '', list), details = make('details', '', item), summary = make('summary', '', details, child.name);
      details.open = true;
      const box = make('input', '', summary);
      box.type = 'checkbox';
      box.checked = true;
      box.title = `show ${child.name}`;
      const inner = make('ul', 'bodies', details);
      this.put(child, inner);
      box.addEventListener('change', () => inner.querySelectorAll<HTMLInputElement>('input.show').forEach(i => {
        if (i.checked !== box.checked) i.click();
      }));
    }
  }

  private putBody(b: number, list: HTMLElement): void {
    const item = make('li', '', list), scene = this.run.scene, full = b < 0 ? 'ground' : scene.bodies[b].name;
    const box = make('input', 'show', item);
    box.type = 'checkbox';
    box.checked = true;
    box.title = `show ${full}`;
    box.setAttribute('aria-label', `show ${full}`);
    box.addEventListener('change', () => this.stage.showBody(b, box.checked));
    const dot = make('i', '', item);
    dot.style.background = b < 0 ? '#A7AFBA' : scene.colours[scene.bodies[b].paint];
    const name = make('button', 'body', item, full.split('.').pop());
    name.type = 'button';
    name.title = full;
    if (b >= 0) name.addEventListener('click', () => this.choose(b));
    let level = 0;
    const fade = make('button', 'fade', item, '\u25d0');
    fade.type = 'button';
    fade.title = `make ${full} transparent`;
    fade.setAttribute('aria-label', fade.title);
    fade.addEventListener('click', () => {
      level = (level + 1) % OPACITY.length;
      this.stage.fade(b, OPACITY[level]);
      fade.setAttribute('aria-pressed', String(level > 0));
    });
    this.rows.set(b, item);
  }

  mark(body: number | null): void {
    this.rows.forEach((row, b) => row.classList.toggle('chosen', b === body));
    if (body !== null) this.rows.get(body)?.scrollIntoView({block: 'nearest'});
  }
}
