// context.ts: a canvas to draw on. It is asked for before anything else of the page is done: the browser makes it while numbers are unpacked,
// and before it paints the rest of the page.
export interface Drawable { canvas: HTMLCanvasElement; context: WebGL2RenderingContext | null }

let early: Drawable | null = null;

// The context of the processor's own graphics, for use; null: there is a card, or pictures are to be fine (kardan render)
function plainContext(canvas: HTMLCanvasElement): WebGL2RenderingContext | null {
  if (location.hash === '#fine') return null;
  const gl = canvas.getContext('webgl2', {antialias: false, alpha: false, depth: true, stencil: false});
  const info = gl?.getExtension('WEBGL_debug_renderer_info');
  if (gl && info && /swiftshader|llvmpipe|software/i.test(String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)))) return gl;
  gl?.getExtension('WEBGL_lose_context')?.loseContext();
  return null;
}

function make(): Drawable {
  const canvas = document.createElement('canvas');
  return {canvas, context: plainContext(canvas)};
}

export function prepareContext(): void { early = make(); }

// each is taken once
export function takeContext(): Drawable {
  const taken = early ?? make();
  early = null;
  return taken;
}
