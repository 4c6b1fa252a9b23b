/**
 * Prefetching: starts work ahead of ordered requests for its results.
 * @module
 */

/** Options of {@linkcode LookAhead}. */
export interface LookAheadOptions {
  /** Pieces of work that may run at the same time; default 8. */
  readonly concurrency?: number;
  /**
   * Whether it is unknown which pieces will be requested, such as when a test runner filters: the window then
   * grows from 1 while requests are in order; else it is fully open at once.
   */
  readonly slowStart?: boolean;
  /**
   * Whether the order of the pieces matters more than that of the requests: once these are known to be
   * shuffled, pieces start in their own order, and a request waits for its turn; default false.
   */
  readonly inOrder?: boolean;
}

/**
 * Runs pieces of work, numbered from 0, ahead of requests for their results.
 *
 * A piece may start when it lies less than the window ahead of the last request, and at most `concurrency`
 * run at a time. The window is four times the concurrency, so that one slow piece does not idle the others.
 * With `slowStart` it begins at 1, is `concurrency` at a consecutive request and doubles with each further one,
 * starts over at a gap, and opens fully at a backward jump, which only a shuffling runner makes.
 */
export class LookAhead<T> {
  readonly #count: number;
  readonly #work: (index: number) => Promise<T>;
  readonly #concurrency: number;
  readonly #results = new Map<number, PromiseWithResolvers<T>>();
  readonly #largest: number;
  #window: number;
  #slowStart: boolean;
  readonly #inOrder: boolean;
  /** Below any index, so that the first request never counts as consecutive. */
  #last = -2;
  /** The furthest requested piece. */
  #furthest = -1;
  #next = 0;
  #running = 0;
  readonly #started = new Set<number>();
  readonly #forgotten = new Set<number>();
  readonly #urgent: number[] = [];

  constructor(count: number, work: (index: number) => Promise<T>, options: LookAheadOptions = {}) {
    this.#count = count;
    this.#work = work;
    this.#concurrency = options.concurrency ?? 8;
    this.#largest = 4 * this.#concurrency;
    this.#slowStart = options.slowStart ?? false;
    this.#inOrder = options.inOrder ?? false;
    this.#window = this.#largest;
  }

  /** The number of started pieces. */
  get started(): number {
    return this.#started.size;
  }

  /** The result of one piece; asking again returns the same promise. */
  get(index: number): Promise<T> {
    if (this.#forgotten.has(index)) {
      throw new Error(`Cannot get the result of ${index} as it was forgotten`);
    }
    if (this.#slowStart) {
      if (index < this.#last) {
        this.#slowStart = false;
        if (this.#inOrder) this.#next = 0;
      }
      this.#window = !this.#slowStart
        ? this.#largest
        : index === this.#last + 1
        ? Math.min(Math.max(this.#window * 2, this.#concurrency), this.#largest)
        : 1;
    }
    this.#last = index;
    this.#furthest = Math.max(this.#furthest, index);
    const waits = this.#inOrder && !this.#slowStart;
    if (!waits) {
      if (!this.#started.has(index) && !this.#results.has(index)) this.#urgent.push(index);
      // A shuffling runner has passed pieces that are still open: look there again.
      this.#next = this.#slowStart ? index : Math.min(this.#next, index);
    }
    const entry = this.#entry(index);
    this.#fill();
    return entry.promise;
  }

  /** The results of all pieces, in order, except forgotten ones. */
  async all(): Promise<T[]> {
    if (this.#slowStart) this.#next = 0;
    this.#slowStart = false;
    this.#window = this.#largest;
    const results: T[] = [];
    for (let index = 0; index < this.#count; index++) {
      if (!this.#forgotten.has(index)) results.push(await this.get(index));
    }
    return results;
  }

  /** Releases a result that will not be requested again, once it is settled. */
  forget(index: number): void {
    const entry = this.#results.get(index);
    if (entry === undefined) return;
    this.#forgotten.add(index);
    const release = () => void this.#results.delete(index);
    entry.promise.then(release, release);
  }

  #entry(index: number): PromiseWithResolvers<T> {
    const existing = this.#results.get(index);
    if (existing !== undefined) return existing;
    const entry = Promise.withResolvers<T>();
    // Nobody may be awaiting it yet: a failure waits until it is requested.
    entry.promise.catch(() => {});
    this.#results.set(index, entry);
    return entry;
  }

  #fill(): void {
    while (this.#running < this.#concurrency) {
      const index = this.#urgent.shift() ?? this.#nextInWindow();
      if (index === undefined) return;
      this.#start(index);
    }
  }

  /** The next piece within the window that has not started. */
  #nextInWindow(): number | undefined {
    const from = this.#inOrder && !this.#slowStart ? this.#furthest : this.#last;
    const end = Math.min(this.#count, from + this.#window);
    for (; this.#next < end; this.#next++) {
      if (!this.#started.has(this.#next)) return this.#next++;
    }
  }

  #start(index: number): void {
    this.#started.add(index);
    const { resolve, reject } = this.#entry(index);
    this.#running++;
    (async () => await this.#work(index))().then(resolve, reject).finally(() => {
      this.#running--;
      this.#fill();
    });
  }
}
