import type { KeyObject } from 'node:crypto';
import type { World } from '../../platform/world/index.ts';
import type { DkimKey } from '../../protocol/dkim/index.ts';
import { dkimKeysOf, openDkimKey, signingNames, type DkimKeyRow } from '../../resources/domains/index.ts';

/** The domain an email was accepted for is gone: nothing can sign it any more. */
export class DomainRemoved extends Error {}

export interface SigningDomain {
  name: string;
  returnPathDomain: string;
  keys: DkimKey[];
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
    const [names, keyRows] = await Promise.all([signingNames(world.db, domainIds), dkimKeysOf(world.db, domainIds)]);
    const domains = new Map<string, SigningDomain>();
    for (const { id, name, custom_return_path: label } of names) {
      domains.set(id, { name, returnPathDomain: `${label}.${name}`, keys: [] });
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
