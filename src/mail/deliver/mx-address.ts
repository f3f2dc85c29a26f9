import { createFairShare } from '../../platform/limits/index.ts';
import { BackOff, type BackOffOptions } from './back-off.ts';
import type { Deferral } from './delivery-job.ts';

/** Openings at one time to an address without an established connection: it may be silent for every name that resolves to it. */
const PROBES_MAX = 2;
/** Connections mostly come back after each message, so a party alone may hold two thirds of them. */
const TIMES_FREE = 2;

export interface MxAddressOptions extends BackOffOptions {
  connectionsMax: number;
}

/**
 * One address of a mail server as one of our egresses sees it, with the state that the names at it share. Parties share
 * its connections fairly, because a large provider has thousands of names at one address.
 */
export class MxAddress {
  readonly backOff: BackOff<Deferral>;
  #connectionsMax: number;
  #held: ReturnType<typeof createFairShare>;
  #opening = 0;
  #sessions = 0;
  /** Sessions that are being closed. */
  leaving = 0;
  /** Requests that wait for permission to open a connection to it, by the key of their peer. */
  #wanted = new Map<string, number>();
  #wantedCount = 0;

  constructor(options: MxAddressOptions) {
    this.#connectionsMax = options.connectionsMax;
    this.#held = createFairShare(options.connectionsMax, TIMES_FREE);
    this.backOff = new BackOff(options);
  }

  get isFull(): boolean {
    if (this.#sessions === 0) return this.#opening >= PROBES_MAX;
    return this.#sessions + this.#opening >= this.#connectionsMax;
  }

  get wanted(): number {
    return this.#wantedCount;
  }

  /** Waiting requests that a connection with this key would serve. */
  countWanted(key: string): number {
    return this.#wanted.get(key) ?? 0;
  }

  want(key: string, change: 1 | -1): void {
    this.#wantedCount += change;
    const wanted = this.countWanted(key) + change;
    if (wanted === 0) this.#wanted.delete(key);
    else this.#wanted.set(key, wanted);
  }

  /** Why it is not tried now: it failed a moment ago. */
  get refusal(): Deferral | undefined {
    return this.backOff.why;
  }

  get isForgettable(): boolean {
    return this.#opening + this.#sessions + this.wanted === 0 && this.backOff.isForgettable;
  }

  mayHold(tenant: string): boolean {
    return this.#held.fits(tenant);
  }

  /** Records that one of its connections carries the party's mail from now on. */
  beginUse(tenant: string): void {
    this.#held.enter(tenant);
  }

  endUse(tenant: string): void {
    this.#held.leave(tenant);
  }

  opens(tenant: string): void {
    this.#held.enter(tenant);
    this.#opening += 1;
  }

  opened(tenant: string): void {
    this.#held.leave(tenant);
    this.#opening -= 1;
    this.#sessions += 1;
    this.backOff.answered();
  }

  /** `outcome` is undefined if the failure says nothing about other mail. */
  failed(tenant: string, outcome: Deferral | undefined): void {
    this.#held.leave(tenant);
    this.#opening -= 1;
    if (outcome) this.backOff.failed(outcome);
  }

  left(): void {
    this.#sessions -= 1;
  }
}
