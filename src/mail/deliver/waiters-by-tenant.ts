/**
 * Returns the tenant of a delivery, by which connections are shared: a team with its urgent mail is one tenant, and the same team
 * with its bulk mail another, which comes after the first. Everything in this folder that shares or waits goes by tenant.
 */
export const toTenant = ({ teamId, isBulk }: { teamId: string; isBulk?: boolean }): string =>
  isBulk ? teamId + BULK : teamId;

/** Returns the tenant of the same team's urgent mail, which goes first, for a tenant of bulk mail. */
export const tenantBefore = (tenant: string): string | undefined =>
  tenant.endsWith(BULK) ? tenant.slice(0, -BULK.length) : undefined;

const BULK = ' bulk';

/** The waiters for connections to one destination: tenants take turns, and within a tenant the order is first come, first served. */
export class WaitersByTenant<Waiter> {
  #byTenant = new Map<string, Set<Waiter>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each tenant with the number of its waiters. */
  *tenants(): Iterable<[tenant: string, count: number]> {
    for (const [tenant, waiters] of this.#byTenant) yield [tenant, waiters.size];
  }

  count(tenant: string): number {
    return this.#byTenant.get(tenant)?.size ?? 0;
  }

  has(tenant: string): boolean {
    return this.#byTenant.has(tenant);
  }

  /** Reports whether one of those that wait, or of those of a tenant, fits. */
  some(fits: (waiter: Waiter) => boolean, tenant?: string): boolean {
    const lines = tenant === undefined ? this.#byTenant.values() : [this.#byTenant.get(tenant) ?? []];
    for (const waiters of lines) for (const waiter of waiters) if (fits(waiter)) return true;
    return false;
  }

  add(tenant: string, waiter: Waiter, place: 'last' | 'first'): void {
    const waiters = this.#byTenant.get(tenant) ?? new Set();
    this.#byTenant.set(tenant, place === 'last' ? waiters.add(waiter) : new Set([waiter, ...waiters]));
    this.#size += 1;
  }

  remove(tenant: string, waiter: Waiter): void {
    const waiters = this.#byTenant.get(tenant);
    if (!waiters?.delete(waiter)) return;
    this.#size -= 1;
    if (waiters.size === 0) this.#byTenant.delete(tenant);
  }

  /** Returns the next waiter whose tenant may have a connection. */
  peek(mayHave: (tenant: string) => boolean): Waiter | undefined {
    return this.#next(mayHave, () => true)?.waiter;
  }

  /** Removes and returns the next waiter whose tenant may have this connection; the tenant goes to the end of the queue. */
  take(mayHave: (tenant: string) => boolean, isServed: (waiter: Waiter) => boolean = () => true): Waiter | undefined {
    const next = this.#next(mayHave, isServed);
    if (!next) return undefined;
    const { tenant, waiters, waiter } = next;
    this.remove(tenant, waiter);
    this.#byTenant.delete(tenant);
    if (waiters.size > 0) this.#byTenant.set(tenant, waiters);
    return waiter;
  }

  #next(
    mayHave: (tenant: string) => boolean,
    isServed: (waiter: Waiter) => boolean,
  ): { tenant: string; waiters: Set<Waiter>; waiter: Waiter } | undefined {
    for (const [tenant, waiters] of this.#byTenant) {
      if (!mayHave(tenant)) continue;
      const before = tenantBefore(tenant);
      if (before !== undefined && this.#byTenant.has(before) && mayHave(before)) continue;
      for (const waiter of waiters) if (isServed(waiter)) return { tenant, waiters, waiter };
    }
    return undefined;
  }

  takeAll(): Waiter[] {
    return [...this.#byTenant.keys()].flatMap((tenant) => this.takeAllFrom(tenant));
  }

  takeAllFrom(tenant: string): Waiter[] {
    const all = [...(this.#byTenant.get(tenant) ?? [])];
    this.#byTenant.delete(tenant);
    this.#size -= all.length;
    return all;
  }
}
