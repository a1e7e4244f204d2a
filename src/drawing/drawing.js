// drawing.js: the moving drawing of a report. It is built into the program and written into each page with its data D:
//   names, family, t, n, pose (16-bit numbers, base64), box   bodies, times, positions rounded inside a box, quaternions
//   mesh: {v, f, form, marked, hollow}, solid: [mesh, body, paint, r, q, size]      solids fixed in bodies, body -1 is the ground
//   sheet: {body, paint, node, triangle, line, shape: {at, q, size}}      surfaces that deform: node + sum q at, 16-bit parts of size
//   coil: [body, r, body, r, radius], trace: [body, r, paint] springs (radius 0: rods), points that leave a trace
//   colour, camera, floor, grid, radius, follows, falls       as in scene.h
// Faces that look at the eye are drawn from far to near. The picture without scripts is taken away.
function kardanDrawing(root, D) {
  'use strict';
  const n = D.names.length, frames = D.t.length, t0 = D.t[0], t1 = D.t[frames - 1], cam = D.camera;
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const axpy = (a, s, b) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const unit = a => { const l = Math.hypot(a[0], a[1], a[2]) || 1; return [a[0] / l, a[1] / l, a[2] / l]; };
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  // R(q) as columns
  const matrix = q => {
    const [w, x, y, z] = q, s = 2 / (w * w + x * x + y * y + z * z);
    return [[1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y)],
            [s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x)],
            [s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y)]];
  };
  const times = (R, a) => [R[0][0] * a[0] + R[1][0] * a[1] + R[2][0] * a[2],
                           R[0][1] * a[0] + R[1][1] * a[1] + R[2][1] * a[2],
                           R[0][2] * a[0] + R[1][2] * a[1] + R[2][2] * a[2]];

  // ---- the motion
  const bytes = atob(D.pose), pose = new Float64Array(7 * n * frames);
  for (let i = 0; i < pose.length; i++) {
    let x = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
    const k = i % 7;
    pose[i] = k < 3 ? D.box[0][k] + x / 65535 * (D.box[1][k] - D.box[0][k]) : (x > 32767 ? x - 65536 : x) / 32767;
  }
  const parts = text => {
    const raw = atob(text), out = new Float64Array(raw.length / 2);
    for (let i = 0; i < out.length; i++) {
      const x = raw.charCodeAt(2 * i) + 256 * raw.charCodeAt(2 * i + 1);
      out[i] = (x > 32767 ? x - 65536 : x) / 32767;
    }
    return out;
  };
  for (const s of D.sheet)
    for (const shape of s.shape) shape.at = parts(shape.at), shape.q = parts(shape.q);
  // Nodes of a surface in the world; list as posesAt makes it
  function nodesOf(s, list) {
    const at = s.node.slice(), points = [];
    for (const shape of s.shape) {
      const q = shape.size * ((1 - list.part) * shape.q[list.from] + list.part * shape.q[list.to]);
      for (let i = 0; i < at.length; i++) at[i] += q * shape.at[i];
    }
    for (let i = 0; i < at.length; i += 3) points.push(pointOf(list, s.body, at.slice(i, i + 3)));
    return points;
  }
  // Poses {r, R} of all bodies between two frames; the last one is the ground
  function posesAt(t) {
    let i = 0, j = frames - 1;
    while (j - i > 1) { const m = (i + j) >> 1; if (D.t[m] <= t) i = m; else j = m; }
    const f = D.t[j] > D.t[i] ? clamp((t - D.t[i]) / (D.t[j] - D.t[i]), 0, 1) : 0, list = [];
    for (let b = 0; b < n; b++) {
      const a = 7 * (i * n + b), c = 7 * (j * n + b), p = [];
      let s = 0;
      for (let k = 3; k < 7; k++) s += pose[a + k] * pose[c + k];
      for (let k = 0; k < 7; k++) p[k] = (1 - f) * pose[a + k] + (k > 2 && s < 0 ? -f : f) * pose[c + k];
      list.push({r: p.slice(0, 3), R: matrix(p.slice(3))});
    }
    list.push({r: [0, 0, 0], R: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]});
    return Object.assign(list, {from: i, to: j, part: f});
  }
  const bodyOf = (list, b) => list[b < 0 ? n : b];
  const pointOf = (list, b, r) => { const p = bodyOf(list, b); return axpy(p.r, 1, times(p.R, r)); };
  const middle = list => {
    let m = [0, 0, 0];
    for (let b = 0; b < n; b++) m = axpy(m, 1 / n, list[b].r);
    return m;
  };
  const start = middle(posesAt(t0));
  const paths = D.trace.map(() => []);
  for (let i = 0; i < frames; i++) {
    const list = posesAt(D.t[i]);
    D.trace.forEach((at, k) => paths[k].push(pointOf(list, at[0], at[1])));
  }
  const solids = D.solid.map(([mesh, body, paint, r, q, size]) =>
    ({mesh: D.mesh[mesh], body, paint, r, R: matrix(q), size, reach: Math.hypot(...size)}));

  // ---- the page
  const make = (kind, style, parent) => {
    const e = document.createElement(kind);
    e.className = style;
    parent.appendChild(e);
    return e;
  };
  const stage = root.querySelector('.stage');
  stage.textContent = '';
  const canvas = make('canvas', '', stage), g = canvas.getContext('2d');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'moving drawing of the mechanism');
  const bar = make('div', 'bar', root);
  const button = make('button', '', bar), slider = make('input', '', bar), clock = make('span', 'clock', bar);
  const speed = make('select', '', bar), reset = make('button', 'plain', bar);
  button.title = 'play or pause (space)';
  Object.assign(slider, {type: 'range', min: 0, max: 1000, step: 1, value: 0, title: 'time'});
  reset.textContent = 'reset view';
  // a motion of some seconds is shown in real time, a short or long one within eight seconds
  const span = Math.max(t1 - t0, 1e-12), real = span >= 1.5 && span <= 40 ? 1 : span / 8;
  for (const f of [0.1, 0.25, 0.5, 1, 2, 4]) {
    const option = make('option', '', speed), rate = f * real;
    option.value = rate;
    option.textContent = (rate < 1 ? '1/' + Number((1 / rate).toPrecision(2)) : Number(rate.toPrecision(2)) + ' \u00d7') +
                         (rate < 1 ? ' of' : '') + ' real time';
    if (f === 1) option.textContent = rate === 1 ? 'real time' : option.textContent, option.selected = true;
  }
  const legend = make('div', 'legend', root);
  D.family.forEach(([name, paint]) => {
    const entry = make('span', '', legend), dab = make('i', '', entry);
    dab.style.background = D.colour[paint];
    entry.appendChild(document.createTextNode(name));
  });
  make('span', 'hint', legend).textContent = 'drag: turn \u00b7 shift and drag: shift \u00b7 click, then wheel: zoom';

  // ---- the view
  let view, t = t0, playing = false, dirty = true, last = 0, hover = null;
  const home = () => ({az: cam.azimuth, el: cam.elevation, zoom: 1, x: 0, y: 0});
  view = home();
  const rgb = D.colour.map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)));
  const light = unit(axpy(axpy([0.9 * cam.up[0], 0.9 * cam.up[1], 0.9 * cam.up[2]], 0.5, cam.front), -0.3, cam.right));
  const tone = (paint, normal, w, z, marked) => {
    const bright = 0.66 + 0.36 * Math.max(dot(normal, light), 0) + 0.1 * dot(normal, w) - (marked ? 0.16 : 0);
    const pale = 0.1 + 0.22 * clamp(0.5 - 0.5 * z / D.radius, 0, 1);
    const c = rgb[paint].map(x => Math.round((1 - pale) * Math.min(x * bright, 255) + pale * 250));
    return 'rgb(' + c + ')';
  };

  // Convex hull of points [x, y, ..]
  function hullOf(points) {
    points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const half = list => {
      const h = [];
      for (const p of list) {
        while (h.length > 1) {
          const a = h[h.length - 2], b = h[h.length - 1];
          if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
          h.pop();
        }
        h.push(p);
      }
      h.pop();
      return h;
    };
    return half(points).concat(half(points.slice().reverse()));
  }
  const isFront = ([a, b, c]) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0;
  function path(points) {
    points.forEach((p, i) => i ? g.lineTo(p[0], p[1]) : g.moveTo(p[0], p[1]));
  }

  let width = 0, height = 0, items = [];
  function draw() {
    const ratio = window.devicePixelRatio || 1, list = posesAt(t);
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const sky = g.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, '#ffffff');
    sky.addColorStop(1, '#eef2f6');
    g.fillStyle = sky;
    g.fillRect(0, 0, width, height);

    // w = cos(el) (cos(az) front + sin(az) right) + sin(el) up; u to the right, v up
    let w = [0, 0, 0];
    w = axpy(w, Math.cos(view.el) * Math.cos(view.az), cam.front);
    w = axpy(w, Math.cos(view.el) * Math.sin(view.az), cam.right);
    w = axpy(w, Math.sin(view.el), cam.up);
    const level = axpy([0, 0, 0], -Math.sin(view.az), cam.front);
    const u = axpy(level, Math.cos(view.az), cam.right), v = cross(w, u);
    const gone = axpy(middle(list), -1, start), rise = dot(gone, cam.up);
    let centre = axpy(cam.centre, D.follows, axpy(gone, -rise, cam.up));
    centre = axpy(centre, D.falls * rise, cam.up);
    const [x0, y0] = cam.low, [x1, y1] = cam.high, d = cam.distance;
    const scale = view.zoom * Math.min((width - 60) / (x1 - x0), (height - 50) / (y1 - y0));
    const ox = width / 2 + view.x - scale * (x0 + x1) / 2, oy = height / 2 + view.y + scale * (y0 + y1) / 2;
    const project = p => {
      const q = axpy(p, -1, centre), z = dot(q, w), k = scale * d / Math.max(d - z, 0.05 * d);
      return [ox + k * dot(q, u), oy - k * dot(q, v), z, k];
    };
    const eye = axpy(centre, d, w);
    const corners = s => {
      const p = bodyOf(list, s.body);
      return s.mesh.v.map(c => {
        const a = [c[0] * s.size[0], c[1] * s.size[1], c[2] * s.size[2]];
        return axpy(p.r, 1, times(p.R, axpy(s.r, 1, times(s.R, a))));
      });
    };
    for (const s of solids) {
      s.at = s.mesh ? corners(s) : null;
      s.c = pointOf(list, s.body, s.r);
      s.A = s.R.map(a => times(bodyOf(list, s.body).R, a));
    }

    for (const s of D.sheet) s.at = nodesOf(s, list);
    drawFloor(project, centre, view.el > 0.02);
    items = [];
    for (const s of D.sheet) addSheet(s, project, w);
    for (const s of solids) {
      if (!s.mesh) {
        const c = project(s.c);
        items.push({z: c[2], ball: [c[0], c[1], c[3] * s.size[0]], s});
        continue;
      }
      const spots = s.at.map(project), near = neighbours(s);
      for (let i = 0; i < s.mesh.f.length; i++) {
        const f = s.mesh.f[i], a = s.at[f[0]], normal = unit(cross(axpy(s.at[f[1]], -1, a), axpy(s.at[f[2]], -1, a)));
        if (dot(normal, axpy(eye, -1, a)) <= 0) continue;
        const face = near.length ? visible(f, s, near).map(project) : f.map(k => spots[k]);
        if (!face.length) continue;
        const z = face.reduce((sum, p) => sum + p[2], 0) / face.length;
        items.push({z, face, s, colour: tone(s.paint, normal, w, z, i < s.mesh.marked)});
      }
    }
    for (const c of D.coil) addCoil(c, list, project);
    items.sort((a, b) => a.z - b.z);
    paths.forEach((p, k) => addTrace(p, D.colour[D.trace[k][2]], project)); // above all
    g.lineJoin = g.lineCap = 'round';
    for (const i of items) {
      if (i.line) {
        g.beginPath();
        path(i.line);
        g.globalAlpha = i.alpha || 1;
        g.strokeStyle = i.colour;
        g.lineWidth = i.thick;
        g.stroke();
        g.globalAlpha = 1;
      } else if (i.ball) {
        const [x, y, r] = i.ball, shade = g.createRadialGradient(x - 0.3 * r, y - 0.4 * r, 0, x, y, r);
        shade.addColorStop(0, '#ffffff');
        shade.addColorStop(0.35, tone(i.s.paint, light, w, i.z));
        shade.addColorStop(1, tone(i.s.paint, axpy([0, 0, 0], -1, light), w, i.z));
        g.fillStyle = shade;
        g.beginPath();
        g.arc(x, y, Math.max(r, 0.5), 0, 7);
        g.fill();
      } else {
        g.fillStyle = g.strokeStyle = i.colour;
        g.lineWidth = 0.7;
        g.beginPath();
        path(i.face);
        g.closePath();
        g.fill();
        g.stroke();
      }
    }
    drawAxes(u, v);
    drawName();
  }

  // Solids that stick in each other (overlap.c): faces inside another one are left out, walls are cut where they come out
  function isInside(s, p) {
    const d = axpy(p, -1, s.c), x = dot(s.A[0], d) / s.size[0], y = dot(s.A[1], d) / s.size[1], z = dot(s.A[2], d) / s.size[2];
    if (!s.mesh) return x * x + y * y + z * z < 0.9998;
    if (s.mesh.form === 1) return Math.max(Math.abs(x), Math.abs(y), Math.abs(z)) < 0.4999;
    return x * x + y * y < 0.9998 && Math.abs(z) < 0.4999;
  }
  // Those that have a corner of s inside, with a flag for each corner
  function neighbours(s) {
    const list = [];
    for (const other of solids) {
      if (other === s || (other.mesh && !other.mesh.form)) continue;
      const x = other.c[0] - s.c[0], y = other.c[1] - s.c[1], z = other.c[2] - s.c[2], far = other.reach + s.reach;
      if (x * x + y * y + z * z >= far * far) continue;
      const inside = s.at.map(p => isInside(other, p));
      if (inside.includes(true)) list.push([other, inside]);
    }
    return list;
  }
  function wayOut(s, inside, outside) {
    for (let i = 0; i < 12; i++) {
      const m = axpy(inside, 0.5, axpy(outside, -1, inside));
      if (isInside(s, m)) inside = m; else outside = m;
    }
    return outside;
  }
  function visible(f, s, near) {
    const c = f.map(k => s.at[k]), n = f.length;
    for (const [other, inside] of near) {
      const count = f.reduce((sum, k) => sum + inside[k], 0);
      if (count === n) return [];
      if (n !== 4 || count !== 2) continue;
      const k = [0, 1, 2, 3].find(i => inside[f[i]] && inside[f[(i + 1) % 4]]);
      if (k === undefined) continue;
      const a = c[k], b = c[(k + 1) % 4];
      if (isInside(other, a)) c[k] = wayOut(other, a, c[(k + 3) % 4]);
      if (isInside(other, b)) c[(k + 1) % 4] = wayOut(other, b, c[(k + 2) % 4]);
    }
    return c;
  }

  // Grid and shadow; the shadow of a convex solid is the hull of the shadows of its corners
  function drawFloor(project, centre, above) {
    const wide = 1.7 * D.radius, base = axpy(centre, D.floor - dot(axpy(centre, -1, cam.centre), cam.up), cam.up);
    for (const [across, along] of [[cam.right, cam.front], [cam.front, cam.right]]) {
      const m = dot(base, across);
      for (let at = Math.ceil((m - wide) / D.grid) * D.grid; at < m + wide; at += D.grid) {
        const off = at - m, half = Math.sqrt(Math.max(wide * wide - off * off, 0)), on = axpy(base, off, across);
        const a = project(axpy(on, -half, along)), b = project(axpy(on, half, along));
        const fade = g.createLinearGradient(a[0], a[1], b[0], b[1]);
        fade.addColorStop(0, 'rgba(150,163,178,0)');
        fade.addColorStop(0.5, 'rgba(150,163,178,' + 0.42 * half / wide + ')');
        fade.addColorStop(1, 'rgba(150,163,178,0)');
        g.strokeStyle = fade;
        g.lineWidth = 1;
        g.beginPath();
        path([a, b]);
        g.stroke();
      }
    }
    if (!above) return;
    const height0 = dot(base, cam.up), fall = p => project(axpy(p, height0 - dot(p, cam.up), cam.up));
    g.beginPath();
    for (const s of solids) {
      let spots = s.at;
      if (!spots) {
        spots = [];
        for (let i = 0; i < 16; i++)
          spots.push(axpy(axpy(s.c, s.size[0] * Math.cos(i * Math.PI / 8), cam.right), s.size[0] * Math.sin(i * Math.PI / 8),
                          cam.front));
      }
      spots = spots.map(fall);
      const loops = s.mesh && s.mesh.hollow ? s.mesh.f.map(f => f.map(k => spots[k])).filter(isFront) : [hullOf(spots)];
      for (const loop of loops) path(loop), g.closePath();
    }
    for (const s of D.sheet) {
      const spots = s.at.map(fall);
      for (let i = 0; i < s.triangle.length; i += 3) {
        const loop = s.triangle.slice(i, i + 3).map(k => spots[k]);
        if (isFront(loop)) path(loop), g.closePath();
      }
    }
    g.fillStyle = 'rgba(31,41,51,0.10)';
    g.fill('nonzero');
    g.strokeStyle = g.fillStyle;
    g.lineWidth = 6;
    g.beginPath();
    for (const s of D.sheet) {
      const spots = s.at.map(fall);
      for (let i = 0; i < s.line.length; i += 2) path([spots[s.line[i]], spots[s.line[i + 1]]]);
    }
    g.stroke();
  }

  // A surface that deforms, seen from both sides; beams are thick lines
  function addSheet(s, project, w) {
    const spots = s.at.map(project);
    for (let i = 0; i < s.triangle.length; i += 3) {
      const f = s.triangle.slice(i, i + 3), a = s.at[f[0]], face = f.map(k => spots[k]);
      let normal = unit(cross(axpy(s.at[f[1]], -1, a), axpy(s.at[f[2]], -1, a)));
      if (dot(normal, w) < 0) normal = normal.map(x => -x);
      const z = (face[0][2] + face[1][2] + face[2][2]) / 3;
      items.push({z, face, s, colour: tone(s.paint, normal, w, z, false)});
    }
    for (let i = 0; i < s.line.length; i += 2) {
      const line = [spots[s.line[i]], spots[s.line[i + 1]]], z = (line[0][2] + line[1][2]) / 2;
      items.push({z, line, colour: tone(s.paint, light, w, z, false), thick: 6});
    }
  }

  // A spring: straight ends, nine windings between them, in pieces of half a winding
  function addCoil(c, list, project) {
    const a = pointOf(list, c[0], c[1]), b = pointOf(list, c[2], c[3]), ab = axpy(b, -1, a), thick = 2;
    if (!c[4]) {
      const line = [project(a), project(b)];
      items.push({z: (line[0][2] + line[1][2]) / 2, line, colour: D.colour[D.jointPaint], thick: 3.5});
      return;
    }
    const z = unit(ab), y = unit(cross(z, Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0])), x = cross(y, z);
    const spots = [project(a)], m = 108;
    for (let i = 0; i <= m; i++) {
      const on = axpy(a, 0.125 + 0.75 * i / m, ab), r = i === 0 || i === m ? 0 : c[4], w = i * Math.PI / 6;
      spots.push(project(axpy(axpy(on, r * Math.cos(w), x), r * Math.sin(w), y)));
    }
    spots.push(project(b));
    for (let i = 0; i < spots.length - 1; i += 6) {
      const line = spots.slice(i, i + 7), depth = line.reduce((s, p) => s + p[2], 0) / line.length;
      items.push({z: depth, line, colour: D.colour[D.springPaint], thick});
    }
  }

  // The whole path thin, the last part of it up to now stronger
  function addTrace(p, colour, project) {
    const spots = p.map(project), tail = 0.2 * span;
    for (let i = 0; i + 1 < frames; i++) {
      const age = t - D.t[i + 1], recent = age >= 0 && age < tail;
      items.push({z: (spots[i][2] + spots[i + 1][2]) / 2, line: [spots[i], spots[i + 1]], colour,
                  thick: recent ? 2 : 1, alpha: recent ? 0.9 - 0.5 * age / tail : 0.35});
    }
  }

  function drawAxes(u, v) {
    const x0 = 42, y0 = height - 38;
    g.font = '12px system-ui, sans-serif';
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.lineWidth = 1.6;
    [['x', '#b3392f'], ['y', '#2f7d3b'], ['z', '#2a5fb0']].forEach(([name, colour], i) => {
      const x = 26 * u[i], y = -26 * v[i];
      g.strokeStyle = g.fillStyle = colour;
      g.beginPath();
      path([[x0, y0], [x0 + x, y0 + y]]);
      g.stroke();
      g.fillText(name, x0 + 1.4 * x, y0 + 1.4 * y);
    });
  }

  // The name of the body under the pointer
  function drawName() {
    if (!hover) return;
    for (let i = items.length - 1; i >= 0; i--) {
      const it = items[i];
      let inside = false;
      if (it.ball) inside = Math.hypot(it.ball[0] - hover[0], it.ball[1] - hover[1]) < it.ball[2];
      if (it.face) {
        g.beginPath();
        path(it.face);
        g.closePath();
        const ratio = window.devicePixelRatio || 1;
        inside = g.isPointInPath(hover[0] * ratio, hover[1] * ratio);
      }
      if (!inside) continue;
      const name = it.s.body < 0 ? 'ground' : D.names[it.s.body], half = g.measureText(name).width / 2 + 7;
      const x = clamp(hover[0], half + 4, width - half - 4), y = Math.max(hover[1] - 22, 14);
      g.fillStyle = 'rgba(31,41,51,0.85)';
      g.fillRect(x - half, y - 11, 2 * half, 22);
      g.fillStyle = '#ffffff';
      g.fillText(name, x, y);
      return;
    }
  }

  // ---- time
  function show() {
    slider.value = Math.round(1000 * (t - t0) / span);
    const digits = clamp(Math.ceil(-Math.log10(span)) + 3, 0, 9);
    clock.textContent = 't = ' + t.toFixed(digits) + ' s';
    button.textContent = playing ? '\u275a\u275a' : '\u25b6';
    dirty = true;
  }
  function tick(now) {
    if (playing) {
      t += Math.min((now - last) / 1000, 0.1) * Number(speed.value);
      if (t > t1) t = t0 + (t - t1) % span;
      show();
    }
    last = now;
    if (dirty) {
      dirty = false;
      draw();
    }
    requestAnimationFrame(tick);
  }
  const toggle = () => { playing = !playing; show(); };
  button.onclick = toggle;
  slider.oninput = () => { playing = false; t = t0 + span * slider.value / 1000; show(); };
  reset.onclick = canvas.ondblclick = () => { view = home(); dirty = true; };
  canvas.onkeydown = e => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (e.key === ' ') toggle();
    else if (step) playing = false, t = clamp(t + step * span / 200, t0, t1), show();
    else return;
    e.preventDefault();
  };

  // ---- pointer: one turns or shifts, two zoom
  const held = new Map();
  canvas.onpointerdown = e => { held.set(e.pointerId, [e.offsetX, e.offsetY]); canvas.setPointerCapture(e.pointerId); };
  canvas.onpointerup = canvas.onpointercancel = e => held.delete(e.pointerId);
  canvas.onpointerleave = () => { hover = null; dirty = true; };
  canvas.onpointermove = e => {
    const before = held.get(e.pointerId), now = [e.offsetX, e.offsetY];
    dirty = true;
    hover = before ? null : now;
    if (!before) return;
    const dx = now[0] - before[0], dy = now[1] - before[1];
    if (held.size > 1) {
      const other = [...held].find(([id]) => id !== e.pointerId)[1];
      const far = Math.hypot(before[0] - other[0], before[1] - other[1]) || 1;
      view.zoom = clamp(view.zoom * Math.hypot(now[0] - other[0], now[1] - other[1]) / far, 0.2, 50);
    } else if (e.shiftKey || e.buttons & 6) {
      view.x += dx;
      view.y += dy;
    } else {
      view.az -= 0.008 * dx;
      view.el = clamp(view.el + 0.008 * dy, -1.55, 1.55);
    }
    held.set(e.pointerId, now);
  };
  canvas.oncontextmenu = e => e.preventDefault();
  canvas.addEventListener('wheel', e => {
    if (document.activeElement !== canvas && !e.ctrlKey) return; // the page scrolls
    const factor = Math.exp(-0.0015 * e.deltaY), next = clamp(view.zoom * factor, 0.2, 50), f = next / view.zoom;
    const x = e.offsetX - width / 2, y = e.offsetY - height / 2; // stays in its place
    view = {az: view.az, el: view.el, zoom: next, x: x + f * (view.x - x), y: y + f * (view.y - y)};
    dirty = true;
    e.preventDefault();
  }, {passive: false});
  window.addEventListener('resize', () => { dirty = true; });

  playing = frames > 1 && !window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  show();
  requestAnimationFrame(now => { last = now; tick(now); });
}
