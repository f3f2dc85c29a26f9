import type { TrackingLinks } from './track-html.ts';
import type { KeyObject } from 'node:crypto';
import { stopwatch } from '../../platform/clock.ts';
import type { World } from '../../platform/world.ts';
import type { DkimKey } from '../../protocol/dkim/index.ts';
import {
  listSigningKeys,
  openDkimKey,
  readTracked,
  sendingNames,
  type DkimKeyRow,
  type SendingName,
} from '../domains/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/** Thrown if the domain that an email was accepted for is gone, and with it its keys. */
export class DomainRemoved extends Error {}

/** Thrown if DNS does not verify the domain at present: mail signed now would be refused. */
export class DomainUnverified extends Error {
  readonly domain: string;

  constructor(domain: string) {
    super(`the domain ${domain} is not verified`);
    this.domain = domain;
  }
}

/** Thrown if the composed message is signed with keys that are no longer in use; none of it has been sent. */
export class KeysChanged extends Error {}

export interface SigningDomain {
  name: string;
  returnPathDomain: string;
  keys: DkimKey[];
  /** Identifies the keys: while it is the same, two readings of the domain sign alike. */
  signedBy: string;
  /** Undefined if its mail is not tracked. */
  tracking: TrackingLinks | undefined;
  /** DNS does not verify the domain, so that mail signed with its keys would be refused: its mail waits. */
  isUnverified: boolean;
  /** The reason why its keys cannot be used; mail of other domains must still be signed. */
  fault?: unknown;
}

/** The domains of a batch as they were read last. */
export interface SigningDomains {
  get(domainId: string): SigningDomain | undefined;
  /** False once any of their rows may have changed. */
  isFresh(): boolean;
  /** Reads them again; concurrent calls share one reading. */
  refresh(): Promise<void>;
}

const KEYS_CACHED_MAX = 1000;
const READ_FROM = ['domains', 'dkim_keys', 'domain_records'];
/** Writes of other nodes are noticed only while they are heard, so a reading is trusted no longer than this. */
const FRESH_MS = 1000;

/**
 * Reads the domains and keys of a batch from the database, and again after any write to them, so that a key taken out
 * of use signs nothing more. Only the opened key objects are cached, because unsealing and parsing one costs as much as
 * signing with it.
 */
export function createSigningDomains(world: World): (domainIds: string[]) => Promise<SigningDomains> {
  const opened = new BoundedMap<string, KeyObject>(KEYS_CACHED_MAX);
  let changes = 0;
  // Never removed: the composer lives as long as the process.
  for (const table of READ_FROM) world.db.onCommit(table, () => changes++);

  return async (domainIds) => {
    let domains = new Map<string, SigningDomain>();
    let seen = -1;
    let ageMs = stopwatch();
    let underWay: { since: number; done: Promise<void> } | undefined;
    const reading: SigningDomains = {
      get: (domainId) => domains.get(domainId),
      isFresh: () => seen === changes && ageMs() < FRESH_MS,
      async refresh() {
        // A reading that began before the latest change may have missed it.
        if (underWay?.since !== changes) underWay = { since: changes, done: readInto(changes, stopwatch()) };
        await underWay.done;
      },
    };
    await reading.refresh();
    return reading;

    async function readInto(since: number, itsAgeMs: () => number): Promise<void> {
      try {
        const found = await read(domainIds);
        if (since >= seen) [domains, seen, ageMs] = [found, since, itsAgeMs];
      } finally {
        if (underWay?.since === since) underWay = undefined;
      }
    }
  };

  async function read(domainIds: string[]): Promise<Map<string, SigningDomain>> {
    const [names, keyRows] = await Promise.all([
      sendingNames(world.db, domainIds),
      listSigningKeys(world.db, domainIds),
    ]);
    const domains = new Map<string, SigningDomain>();
    for (const sending of names) {
      const { id, name, custom_return_path: label, verified_at: verifiedAt } = sending;
      domains.set(id, {
        name,
        returnPathDomain: `${label}.${name}`,
        keys: [],
        signedBy: '',
        tracking: buildTracking(world, sending),
        isUnverified: verifiedAt === null,
      });
    }
    for (const row of keyRows) {
      const domain = domains.get(row.domain_id);
      if (!domain) continue;
      try {
        const privateKey = open(row);
        domain.keys.push({ domain: domain.name, selector: row.selector, privateKey, algorithm: row.algorithm });
        domain.signedBy += `${row.id} `;
      } catch (error) {
        domain.fault = error;
      }
    }
    return domains;
  }

  function open(row: DkimKeyRow): KeyObject {
    let privateKey = opened.get(row.id);
    if (!privateKey) {
      opened.set(row.id, (privateKey = openDkimKey(world, row)));
    }
    return privateKey;
  }
}

/**
 * Returns the tracking of a domain. Links to a host that does not point to us would be dead, so nothing is tracked
 * until DNS has confirmed that it does.
 */
function buildTracking(world: World, name: SendingName): TrackingLinks | undefined {
  const { opens, clicks } = readTracked(world, name);
  if (!opens && !clicks) return undefined;
  const { delivery, tracking } = world.config;
  // Captured mail is read on this machine.
  const origin = delivery.capture ? world.origin() : `${tracking.scheme}://${name.tracking_host}`;
  return { origin, opens, clicks };
}
