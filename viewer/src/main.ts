// main.ts: puts the viewer into the page, where the program left its data, or a line to the program.
import uplotStyle from 'uplot/dist/uPlot.min.css';
import {prepareContext} from './context';
import {hasBlock, readChannels, readMotion} from './data';
import {Bode} from './bode';
import {make, painted} from './dom';
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
  // the page has a picture of the start: it is seen before the graphics are started, which takes a while
  if (root.querySelector('.still')) await painted();
  prepareContext();
  try {
    if (root.dataset.live !== undefined) {
      new Live(root);
      return;
    }
    if (root.dataset.modes !== undefined) {
      if (hasBlock(document, 'bode')) await Bode.open(root);
      else await Modes.open(root);
      root.dataset.ready = 'yes';
      return;
    }
    performance.mark('kardan: program');
    const other = hasBlock(document, 'beside-scene') ? await readMotion(document, 'beside-') : null, run = await readMotion(document);
    // channels come behind the first picture; without bodies they are all that there is
    const rest = async (): Promise<void> => {
      await readChannels(run, document);
      if (other) await readChannels(other, document, 'beside-');
    };
    if (run.scene.bodies.length === 0) await rest();
    const viewer = new Viewer(root, run, null, other);
    if (run.rows.length === 0) {
      await new Promise(done => setTimeout(done, 0));
      await rest();
      viewer.showChannels();
    }
    (window as unknown as {kardan: object}).kardan = viewer.inspect;
    root.dataset.ready = 'yes';
  } catch (error) {
    make('p', 'bad', root, `The data of this page could not be shown: ${String(error)}`);
    root.dataset.ready = 'no';
  }
}

void open();
