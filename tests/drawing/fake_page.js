// fake_page.js: runs the script of a drawing without a browser. Usage: node fake_page.js page.html
// Prints "frames N items M" after some frames, keys and drags; any exception ends it with a status.
const text = require('fs').readFileSync(process.argv[2], 'utf8');
const script = text.slice(text.indexOf('<script>') + 8, text.indexOf('</script>'));
let calls = 0, next = null;
const numbers = args => args.forEach(a => { if (typeof a === 'number' && !Number.isFinite(a)) throw Error('not finite'); });
const context = new Proxy({}, {
  get: (_, name) => (...args) => {
    numbers(args);
    calls++;
    return name.startsWith('create') ? {addColorStop() {}} : name === 'measureText' ? {width: 40} : false;
  },
  set: () => true,
});
function element(kind) {
  const e = {kind, style: {}, children: [], clientWidth: 800, clientHeight: 500, getContext: () => context, setAttribute() {},
          addEventListener(name, f) { this['on' + name] = f; }, setPointerCapture() {},
          appendChild(e) { this.children.push(e); }, querySelector() { return this; }};
  if (kind === 'select') Object.defineProperty(e, 'value', {get: () => e.children.find(o => o.selected).value});
  return e;
}
const root = element('section');
global.document = {createElement: element, createTextNode: t => t, currentScript: {parentNode: root}, activeElement: null};
global.window = {devicePixelRatio: 2, addEventListener() {}, matchMedia: () => ({matches: false})};
global.requestAnimationFrame = f => { next = f; };
(0, eval)(script);
let now = 0, frames = 0;
const run = n => { for (; n > 0; n--, frames++) { const f = next; now += 90; f(now); } };
run(40);
const canvas = root.children.find(e => e.kind === 'canvas');
document.activeElement = canvas;
const at = (x, y, more) => ({pointerId: 1, offsetX: x, offsetY: y, buttons: 1, preventDefault() {}, ...more});
canvas.onpointermove(at(400, 250));
run(1);
canvas.onpointerdown(at(100, 100));
canvas.onpointermove(at(160, 300));
canvas.onpointermove(at(160, 320, {shiftKey: true}));
canvas.onpointerdown(at(300, 300, {pointerId: 2}));
canvas.onpointermove(at(320, 320, {pointerId: 2}));
canvas.onpointerup(at(0, 0));
canvas.onwheel(at(100, 100, {deltaY: -300}));
for (const key of [' ', 'ArrowLeft', 'ArrowRight', 'x']) canvas.onkeydown({key, preventDefault() {}}), run(1);
canvas.ondblclick();
run(2);
console.log('frames ' + frames + ' calls ' + (calls > 1000 ? 'many' : calls));
