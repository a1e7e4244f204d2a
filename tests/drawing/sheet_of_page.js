// sheet_of_page.js: reads the surface of a small drawing back from its page. Usage: node sheet_of_page.js page.html
// Prints the nodes of the first surface in its body at the first and at the last frame, then how many triangles and lines it has.
const text = require('fs').readFileSync(process.argv[2], 'utf8');
const start = text.lastIndexOf('kardanDrawing(document.currentScript.parentNode,');
const data = JSON.parse(text.slice(text.indexOf('{', start), text.indexOf(');\n</script>', start)));
const s = data.sheet[0], numbers = t => { const b = Buffer.from(t, 'base64'); return Array.from({length: b.length / 2}, (_, i) => b.readInt16LE(2 * i) / 32767); };
for (const frame of [0, data.t.length - 1]) {
  const at = s.node.slice();
  for (const shape of s.shape) numbers(shape.at).forEach((x, i) => { at[i] += shape.size * numbers(shape.q)[frame] * x; });
  console.log(at.map(x => (x + 1e-12).toFixed(3)).join(' '));
}
console.log(s.body, s.triangle.length / 3, s.line.length / 2);
