import { BackOff, type BackOffOptions } from './back-off.ts';
import type { Ending } from './ending.ts';
import type { Deferral } from './delivery-job.ts';

const HANDSHAKE_MEMORY_MS = 600_000;
/** Providers lock accounts after a number of failed logins. */
const LOGIN_REFUSED_MS = 5 * 60_000;

/** Failures of a destination: for all mail, for each party whose sessions the peer ended, and for TLS handshakes by address. */
export class FailureMemory {
  readonly all: BackOff<Deferral>;
  #options: BackOffOptions;
  #byTenant = new Map<string, BackOff<Deferral>>();
  #plainUntil = new Map<string, number>();

  constructor(options: BackOffOptions) {
    this.#options = options;
    this.all = new BackOff(options, {
      leastMs: ({ reason }) => (reason === 'relay_misconfigured' ? LOGIN_REFUSED_MS : 0),
    });
  }

  /** Why this party's mail is deferred while that of other parties is delivered. */
  findTenantDeferral(tenant: string): Deferral | undefined {
    return this.#byTenant.get(tenant)?.why;
  }

  note(tenant: string, ending: Ending): void {
    if (ending.kind === 'stale' || ending.kind === 'tls required') return;
    if (ending.kind === 'worked') {
      this.all.worked();
      this.#byTenant.delete(tenant);
    } else if (ending.kind === 'broken' || ending.kind === 'login required') {
      this.all.failedTogether(ending.why);
    } else {
      const backOff = this.#byTenant.get(tenant) ?? new BackOff(this.#options);
      this.#byTenant.set(tenant, backOff);
      backOff.failedTogether(ending.why);
    }
  }

  handshakeFailed(address: string): void {
    this.#plainUntil.set(address, this.#options.now() + HANDSHAKE_MEMORY_MS);
  }

  /** Forgets that a handshake failed, because the peer takes mail only over TLS. */
  tlsRequired(address: string): void {
    this.#plainUntil.delete(address);
  }

  /** Whether a TLS handshake with the address failed a moment ago, so that none is tried. */
  skipsTls(address: string): boolean {
    return (this.#plainUntil.get(address) ?? 0) > this.#options.now();
  }

  get isForgettable(): boolean {
    return [this.all, ...this.#byTenant.values()].every((backOff) => backOff.isForgettable);
  }
}
