// light.ts: the light of the view, and a matt surface under it that costs little. src/drawing/light.c has the same numbers.
import {AmbientLight, Color, DirectionalLight, HemisphereLight, ShaderMaterial, Vector3} from 'three';

export const makeSun = (): DirectionalLight => new DirectionalLight(0xffffff, 2.2);
export const makeSky = (): HemisphereLight => new HemisphereLight(0xffffff, 0x9aa3ad, 1.1);
export const makeEverywhere = (): AmbientLight => new AmbientLight(0xffffff, 0.35);

// of all plain materials; the view that draws sets them
const uniforms = {sun: {value: new Vector3()}, up: {value: new Vector3()}, below: {value: new Color()}, strength: {value: new Vector3()}};

export function setPlainLight(sun: DirectionalLight, sky: HemisphereLight, everywhere: AmbientLight): void {
  uniforms.sun.value.copy(sun.position).sub(sun.target.position).normalize();
  uniforms.up.value.copy(sky.position).normalize();
  uniforms.below.value.copy(sky.groundColor);
  uniforms.strength.value.set(sun.intensity, sky.intensity, everywhere.intensity).divideScalar(Math.PI);
}

// Light for each corner instead of each pixel, without shadows: where the processor draws, this is half of the work, and its small program is
// made in a fraction of the time
const VERTEX = `
uniform vec3 sun, up, below, strength;
varying vec3 shade;
void main() {
  vec3 n = normalize(mat3(modelMatrix) * normal);
  vec3 sky = mix(below, vec3(1.0), 0.5 + 0.5 * dot(n, up));
  shade = color * (strength.x * max(dot(n, sun), 0.0) + strength.y * sky + strength.z);
  gl_Position = projectionMatrix * (viewMatrix * (modelMatrix * vec4(position, 1.0)));
}`;
const FRAGMENT = `
varying vec3 shade;
void main() {
  gl_FragColor = vec4(shade, 1.0);
  #include <colorspace_fragment>
}`;
export const plainMaterial = (): ShaderMaterial => new ShaderMaterial({uniforms, vertexColors: true, vertexShader: VERTEX, fragmentShader: FRAGMENT});
