// main.ts: puts the viewer into the page, where the program left its data, or a line to the program.
import uplotStyle from 'uplot/dist/uPlot.min.css';
import {hasBlock, readRun} from './data';
import {make} from './dom';
import {Live} from './live';
import {Modes} from './modes';
import style from './style.css';
import {Viewer} from './viewer';

async function open(): Promise<void> {
  const root = document.querySelector<HTMLElement>('[data-kardan-viewer]');
  if (!root) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(uplotStyle + style);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  try {
    if (root.dataset.live !== undefined) {
      new Live(root);
      return;
    }
    if (root.dataset.modes !== undefined) {
      await Modes.open(root);
      root.dataset.ready = 'yes';
      return;
    }
    const other = hasBlock(document, 'beside-scene') ? await readRun(document, 'beside-') : null;
    const viewer = new Viewer(root, await readRun(document), null, other);
    (window as unknown as {kardan: object}).kardan = viewer.inspect;
    root.dataset.ready = 'yes';
  } catch (error) {
    make('p', 'bad', root, `The data of this page could not be shown: ${String(error)}`);
    root.dataset.ready = 'no';
  }
}

void open();
