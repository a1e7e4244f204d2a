// dom.ts: elements of a page. Text is set as text, so that names of models stay data.
export function make<K extends keyof HTMLElementTagNameMap>(kind: K, style: string, parent: Node | null = null, text = ''): HTMLElementTagNameMap[K] {
  const element = document.createElement(kind);
  if (style) element.className = style;
  if (text) element.textContent = text;
  parent?.appendChild(element);
  return element;
}

export function button(parent: Node, text: string, title: string, act: () => void): HTMLButtonElement {
  const element = make('button', '', parent, text);
  element.type = 'button';
  element.title = title;
  element.setAttribute('aria-label', title);
  element.addEventListener('click', act);
  return element;
}

// a box to tick, with its words
export function tick(parent: Node, words: string, on: boolean, act: (on: boolean) => void): HTMLInputElement {
  const label = make('label', 'tick', parent);
  const box = make('input', '', label);
  box.type = 'checkbox';
  box.checked = on;
  label.append(' ' + words);
  box.addEventListener('change', () => act(box.checked));
  return box;
}

export function choice(parent: Node, title: string, words: string[], act: (index: number) => void): HTMLSelectElement {
  const list = make('select', '', parent);
  list.title = title;
  list.setAttribute('aria-label', title);
  for (const word of words) make('option', '', list, word);
  list.addEventListener('change', () => act(list.selectedIndex));
  return list;
}

// until what the page has so far has been painted; a page that nobody looks at is not painted
export const painted = (): Promise<void> => new Promise(done => {
  setTimeout(done, 150);
  requestAnimationFrame(() => setTimeout(() => { performance.mark('kardan: still'); done(); }, 0));
});

export function download(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// five digits that say something
export function digits(x: number): string {
  if (x === 0) return '0';
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}

// On axes, where there is little room: 1.2e5, 1e-14
export function shortDigits(x: number): string {
  const size = Math.abs(x);
  return size >= 1e5 || (size < 1e-3 && size > 0) ? Number(x.toPrecision(4)).toExponential().replace('e+', 'e') : digits(x);
}

// the unit that leaves few zeros, and how many Pa it is
export function unitOfStress(largest: number): [number, string] {
  return largest >= 1e10 ? [1e9, 'GPa'] : largest >= 1e5 ? [1e6, 'MPa'] : largest >= 1e2 ? [1e3, 'kPa'] : [1, 'Pa'];
}

export const isDark = (): boolean => matchMedia('(prefers-color-scheme: dark)').matches;
