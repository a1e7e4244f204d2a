// quality.ts: how fine pictures may be, by how long they take. Only while something moves: at rest everything is drawn as fine as it can be.
//
// Each level costs less than the one before. When the middle one of some pictures takes too long, the next level is used; after a while without
// trouble a finer one is tried again, later each time that it was too slow.
const SLUGGISH = 60; // ms for a picture that are too long
const QUICK = 30;    // ms: a finer level may be tried
const WINDOW = 9;    // pictures that are looked at
const REST = 250;    // ms without a picture: it is at rest
const FIRST_WAIT = 90, MOST_WAIT = 3000; // pictures until a finer level is tried

interface Level { shadows: boolean; pixels: number } // for one of the page
const LEVELS: Level[] = [{shadows: true, pixels: Infinity}, {shadows: false, pixels: 1}, {shadows: false, pixels: 0.7}, {shadows: false, pixels: 0.5}];

export class Quality {
  private level = 0;       // that moving pictures have
  private moving = false;
  private inRow = false;   // the last time there was a picture, too
  private allowed = true;
  private before = -Infinity; // time of the last picture
  private readonly paces: number[] = [];
  private quiet = 0;       // pictures since the level was found to be good
  private wait = FIRST_WAIT;

  // software: without a graphics card, where pictures have no fine pixels anyway
  constructor(private readonly software: boolean) {}

  get isFull(): boolean { return !this.allowed || !this.moving || this.level === 0; }
  get shadows(): boolean { return this.isFull || LEVELS[this.level].shadows; }
  get pixels(): number { return this.isFull ? Infinity : LEVELS[this.level].pixels; }

  allow(on: boolean): void { this.allowed = on; }

  // everything is fine from now on, until the next picture; true: it was not
  rest(): boolean {
    const was = this.isFull;
    this.moving = this.inRow = false;
    this.before = -Infinity;
    this.paces.length = 0;
    return was !== this.isFull;
  }

  // At the time now [ms] a picture is to be drawn, or not; true: in another quality than the last one
  note(now: number, drawn: boolean): boolean {
    if (!drawn) {
      this.inRow = false;
      return now - this.before > REST && this.rest();
    }
    const was = this.isFull ? 0 : this.level, passed = now - this.before;
    this.moving = this.inRow || passed < REST;
    // only pictures without a gap between them say how long one takes
    if (this.inRow) this.paces.push(passed);
    this.inRow = true;
    this.before = now;
    if (this.paces.length >= WINDOW) this.judge();
    return was !== (this.isFull ? 0 : this.level);
  }

  private judge(): void {
    const middle = this.paces.sort((a, b) => a - b)[WINDOW >> 1], step = this.software && this.level === 0 ? 2 : 1;
    this.paces.length = 0;
    this.quiet += WINDOW;
    if (middle > SLUGGISH && this.level + step < LEVELS.length) {
      // a level that was tried again and was too slow is left alone for longer
      this.wait = this.quiet < 3 * WINDOW ? Math.min(2 * this.wait, MOST_WAIT) : FIRST_WAIT;
      this.level += step;
      this.quiet = 0;
    } else if (middle < QUICK && this.level > 0 && this.quiet > this.wait) {
      this.level -= this.software && this.level === 2 ? 2 : 1;
      this.quiet = 0;
    }
  }
}
