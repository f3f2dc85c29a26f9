import type { DomainRow } from './domain-rows.ts';
import { readFormerSubdomains } from './tracking-owner.store.ts';

/** Mail that went out with the old host is read for weeks; after three months hardly anybody opens it again. */
const FORMER_MS = 90 * 24 * 3_600_000;
/** A team that changes it more often than that is not waiting for readers. */
const FORMER_MAX = 20;

/** The labels whose links go on working once the domain's tracking subdomain is another; undefined where it stays. */
export function formerSubdomainsAfter(before: DomainRow, label: string | undefined, now: number): string | undefined {
  if (label === undefined || label === before.tracking_subdomain) return undefined;
  const others = readFormerSubdomains(before).filter(
    (former) => former.until > now && former.label !== label && former.label !== before.tracking_subdomain,
  );
  return JSON.stringify([{ label: before.tracking_subdomain, until: now + FORMER_MS }, ...others].slice(0, FORMER_MAX));
}
