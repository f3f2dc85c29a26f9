import type { KeyObject } from 'node:crypto';
import type { World } from '../../platform/world/index.ts';
import type { DkimKey } from '../../protocol/dkim/index.ts';
import {
  dkimKeysOf,
  openDkimKey,
  sendingNames,
  type DkimKeyRow,
  type SendingName,
} from '../../resources/domains/index.ts';
import type { TrackingLinks } from '../track/index.ts';

/** The domain an email was accepted for is gone: nothing can sign it any more. */
export class DomainRemoved extends Error {}

export interface SigningDomain {
  name: string;
  returnPathDomain: string;
  keys: DkimKey[];
  /** Absent where its mail goes out as it is. */
  tracking: TrackingLinks | undefined;
  /** DNS does not bear out that it may be sent from, so what its keys sign would be refused: its mail waits. */
  isUnverified: boolean;
  /** Why its keys cannot be used; it must not keep the mail of other domains from being signed. */
  fault?: unknown;
}

const KEYS_CACHED_MAX = 1000;

/**
 * Reads the domains and keys of a batch from the database each time, so that a key taken out of use signs nothing more;
 * only the opened key objects are kept, because unsealing and parsing one costs as much as signing with it.
 */
export function createSigningDomains(world: World): (domainIds: string[]) => Promise<Map<string, SigningDomain>> {
  const opened = new Map<string, KeyObject>();
  return async (domainIds) => {
    const [names, keyRows] = await Promise.all([sendingNames(world.db, domainIds), dkimKeysOf(world.db, domainIds)]);
    const domains = new Map<string, SigningDomain>();
    for (const sending of names) {
      const { id, name, custom_return_path: label, verified_at: verifiedAt } = sending;
      domains.set(id, {
        name,
        returnPathDomain: `${label}.${name}`,
        keys: [],
        tracking: trackingOf(world, sending),
        isUnverified: verifiedAt === null,
      });
    }
    for (const row of keyRows) {
      const domain = domains.get(row.domain_id);
      if (!domain) continue;
      try {
        const privateKey = open(row);
        domain.keys.push({ domain: domain.name, selector: row.selector, privateKey, algorithm: row.algorithm });
      } catch (error) {
        domain.fault = error;
      }
    }
    return domains;
  };

  function open(row: DkimKeyRow): KeyObject {
    let privateKey = opened.get(row.id);
    if (!privateKey) {
      if (opened.size >= KEYS_CACHED_MAX) opened.clear();
      opened.set(row.id, (privateKey = openDkimKey(world, row)));
    }
    return privateKey;
  }
}

/** Links of a host that does not lead to us would be dead, so nothing is tracked before DNS has said that it does. */
function trackingOf(world: World, name: SendingName): TrackingLinks | undefined {
  const [opens, clicks] = [name.open_tracking === 1, name.click_tracking === 1];
  if (!opens && !clicks) return undefined;
  const { delivery, tracking } = world.config;
  // What does not leave the machine is read on it.
  if (delivery.capture) return { origin: world.origin(), opens, clicks };
  if (name.tracking_host === null) return undefined;
  return { origin: `${tracking.scheme}://${name.tracking_host}`, opens, clicks };
}
