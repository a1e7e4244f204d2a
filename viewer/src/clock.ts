// clock.ts: the one time that the 3-D view and all plots show, and who plays it.
export class Clock {
  t: number;
  playing = false;
  speed = 1;
  loop = true;
  private last = 0;
  private readonly listeners: Array<(t: number) => void> = [];

  constructor(public start: number, public end: number) { this.t = start; }

  listen(listener: (t: number) => void): void { this.listeners.push(listener); }

  set(t: number): void {
    this.t = Math.min(Math.max(t, this.start), this.end);
    for (const listener of this.listeners) listener(this.t);
  }

  toggle(): void {
    this.playing = !this.playing;
    if (this.playing && this.t >= this.end) this.t = this.start;
    this.last = 0;
    this.set(this.t);
  }

  pause(): void { if (this.playing) this.toggle(); }

  // called for every picture; now in ms
  tick(now: number): void {
    if (!this.playing) { this.last = 0; return; }
    const passed = this.last > 0 ? Math.min((now - this.last) / 1000, 0.1) : 0;
    this.last = now;
    let t = this.t + passed * this.speed;
    if (t >= this.end) {
      if (this.loop && this.end > this.start) t = this.start + (t - this.start) % (this.end - this.start);
      else { this.playing = false; t = this.end; }
    }
    this.set(t);
  }
}
