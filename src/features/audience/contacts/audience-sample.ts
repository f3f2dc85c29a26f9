import { createHmac } from 'node:crypto';
import type { Ctx } from '../../../tenancy/access/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { sampleAudience, type ContactCondition, type IdWindow } from './audience.store.ts';

/**
 * The recipients of a broadcast, or a random sample of them, as keyed hashes: whoever approves a broadcast approves
 * these recipients. Up to `SAMPLE_MAX` contacts are all in it. Of more contacts, about as many are in it, chosen by the
 * last digits of their ids: in each sixteenth of the ids, those in a window that nobody outside the database knows. An
 * app that knows the ids cannot replace a range of them without replacing some in the sample.
 */
export interface AudienceSample {
  windows: readonly IdWindow[];
  /** In hexadecimal. A hash without a key could be met by an address made for it. */
  key: string;
  /** Hashes of `HASH_CHARS` characters each, sorted and joined. */
  hashes: string;
}

const SAMPLE_MAX = 4096;
const HASH_CHARS = 8;
const ENDINGS = 0x1_0000;
const PARTS = 16;
const PART = ENDINGS / PARTS;

const writeEnding = (value: number): string => value.toString(16).padStart(4, '0');

function chooseWindows({ ids }: Ctx['store'], contacts: number): IdWindow[] {
  if (contacts <= SAMPLE_MAX) return [{ from: writeEnding(0), to: writeEnding(ENDINGS - 1) }];
  const size = Math.ceil((PART * SAMPLE_MAX) / contacts);
  return Array.from({ length: PARTS }, (_, i) => {
    const from = i * PART + (Number.parseInt(ids.hex(6), 16) % (PART - size + 1));
    return { from: writeEnding(from), to: writeEnding(from + size - 1) };
  });
}

/**
 * Takes a sample of the current recipients, who match the filter and meet none of the conditions; one that is to be
 * compared with `before` has its windows and key.
 */
export async function sampleRecipients(
  ctx: Pick<Ctx, 'store' | 'teamId'>,
  to: { filter: Filter; conditions: readonly ContactCondition[]; contacts: number },
  before: AudienceSample | null,
): Promise<AudienceSample> {
  const windows = before?.windows ?? chooseWindows(ctx.store, to.contacts);
  const key = before?.key ?? ctx.store.ids.hex(16);
  const { filter, conditions } = to;
  const addresses = await sampleAudience(ctx.store.db, ctx.teamId, { filter, conditions, windows });
  const hashes = addresses
    .map((address) => createHmac('sha256', key).update(address).digest('base64url').slice(0, HASH_CHARS))
    .sort()
    .join('');
  return { windows, key, hashes };
}

export const writeSample = (sample: AudienceSample | null): string | null => sample && JSON.stringify(sample);
export const readSample = (text: string | null): AudienceSample | null =>
  text === null ? null : (JSON.parse(text) as AudienceSample);

const listHashes = ({ hashes }: AudienceSample): string[] =>
  Array.from({ length: hashes.length / HASH_CHARS }, (_, i) => hashes.slice(i * HASH_CHARS, (i + 1) * HASH_CHARS));

/**
 * Returns whether recipients that a person was shown have been replaced by others. Contacts sign up and leave all the
 * time, so one in a hundred may be replaced, and new ones may be a tenth, rounded up, as `hasGrown` accepts.
 */
export function isReplaced(before: AudienceSample | null, now: AudienceSample | null): boolean {
  if (before === null || now === null) return before !== now;
  if (before.key !== now.key) return true;
  const seen = new Set(listHashes(before));
  const current = new Set(listHashes(now));
  const added = [...current].filter((hash) => !seen.has(hash)).length;
  const gone = [...seen].filter((hash) => !current.has(hash)).length;
  return Math.min(added, gone) > Math.floor(seen.size / 100) || (gone > 0 && added > Math.ceil(seen.size / 10));
}
