// Bundles src/main.ts with three.js and uPlot into one script without imports: dist/viewer.js. Its style sheet is inside.
// dist/viewer.js.sha256: what a content security policy of a page allows it by.
import {createHash} from 'node:crypto';
import {readFileSync, writeFileSync} from 'node:fs';
import {build} from 'esbuild';

await build({
  entryPoints: ['src/main.ts'],
  outfile: 'dist/viewer.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox110', 'safari16'],
  loader: {'.css': 'text'},
  legalComments: 'eof',
  charset: 'ascii',
  logLevel: 'warning',
});

writeFileSync('dist/viewer.js.sha256', createHash('sha256').update(readFileSync('dist/viewer.js')).digest('base64'));
