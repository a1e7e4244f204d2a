// browser.mjs: a browser without a window and without a graphics card, for tests and benches.
//
// WebGL is drawn by software (SwiftShader). The page itself is not: painted through WebGL's software, a still picture of a car took 3 s of
// processor time, painted as ever 0.1 s.
export const FLAGS = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist',
  '--disable-gpu-rasterization', '--disable-gpu-compositing', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
