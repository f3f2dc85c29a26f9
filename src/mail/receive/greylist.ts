import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { World } from '../../platform/world.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import {
  countGreylisted,
  deleteExpiredGreylisted,
  deleteGreylisted,
  findGreylisted,
  insertGreylisted,
  writeGreylisted,
} from './greylist.store.ts';

export interface UntrustedSender {
  address: string;
  mailFrom: string;
  recipient: string;
}

/** Returns the seconds after which an unknown client may try again; undefined if it is accepted. */
export type Greylist = (sender: UntrustedSender) => Promise<number | undefined>;

/** Interval at which the rows are counted; between two counts, the inserts of this process are added. */
const COUNTED_MS = 60_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/**
 * Creates the greylist: an unknown client is asked to try again, which mail servers do and much spam software does not.
 * From then on it is known, with all of its network. The table is bounded; while it is full, every client is accepted.
 */
export function createGreylist(world: World): Greylist {
  const { db, clock, config } = world;
  const settings = config.receiving;
  const delayMs = settings.greylist_minutes * MINUTE;
  const forgetMs = settings.greylist_retry_hours * HOUR;
  const knownMs = settings.greylist_known_days * DAY;
  let counted = { at: Number.NEGATIVE_INFINITY, rows: 0 };

  async function isFull(now: number): Promise<boolean> {
    if (now - counted.at >= COUNTED_MS) counted = { at: now, rows: await countGreylisted(db) };
    return ++counted.rows > settings.greylist_max;
  }

  return async (sender) => {
    if (delayMs === 0) return undefined;
    const now = clock.now();
    const network = hashKey(toNetwork(sender.address));
    const triplet = hashKey(toNetwork(sender.address), sender.mailFrom, sender.recipient);
    const found = await findGreylisted(db, [network, triplet], now);
    const known = found.find(({ key }) => key === network);
    if (known) {
      // Renewed once a day at most.
      if (now - known.seen_at > DAY) {
        await db.tx((tx) => writeGreylisted(tx, { key: network, seen_at: now, expires_at: now + knownMs }));
      }
      return undefined;
    }
    const met = found.find(({ key }) => key === triplet);
    if (!met) {
      if (await isFull(now)) return undefined;
      await db.tx((tx) => insertGreylisted(tx, { key: triplet, seen_at: now, expires_at: now + forgetMs }));
      return settings.greylist_minutes * 60;
    }
    const leftMs = met.seen_at + delayMs - now;
    if (leftMs > 0) return Math.ceil(leftMs / 1000);
    await db.tx(async (tx) => {
      await deleteGreylisted(tx, triplet);
      await writeGreylisted(tx, { key: network, seen_at: now, expires_at: now + knownMs });
    });
    return undefined;
  };
}

export const forgetGreylisted = (world: World): Promise<number> => deleteExpiredGreylisted(world.db, world.clock.now());

/** Returns the network of an address: large senders retry from another server of the same network. */
function toNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  return `${parsed.kind()} ${bytes.slice(0, parsed.kind() === 'ipv4' ? 3 : 8).join('.')}`;
}

function hashKey(network: string, mailFrom?: string, recipient?: string): string {
  const said = [network];
  if (mailFrom !== undefined) said.push(normalizeAddress(mailFrom), normalizeAddress(recipient ?? ''));
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url');
}
