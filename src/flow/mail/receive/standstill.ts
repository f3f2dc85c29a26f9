import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress, parseAddress, type Mailbox } from '../../../protocol/address/index.ts';
import { readFields, type RawField } from '../../../protocol/mime-read/index.ts';
import { takesMailHere } from '../../../resources/domains/index.ts';
import type { NotForwarded } from '../../../resources/received-emails/index.ts';
import type { Treatment } from './apply-rules.ts';

/** Why a message goes no further, in a word for programs and in one for people. */
export interface Standstill {
  reason: NotForwarded;
  says: string;
}

/** More than any route has (RFC 5321 §6.3). */
const HOPS_MAX = 50;

/** Known before the message is stored, so that it is told with it; why the first of a team's orders is not followed. */
export async function standstills(
  world: World,
  raw: Buffer,
  treatments: readonly Treatment[],
): Promise<ReadonlyMap<string, NotForwarded>> {
  const found = new Map<string, NotForwarded>();
  if (treatments.every(({ forwards }) => forwards.length === 0)) return found;
  const fields = readFields(headOf(raw));
  for (const { teamId, forwards } of treatments) {
    for (const { addresses, targets } of forwards) {
      const [address = ''] = addresses;
      const isHere = (await recipientsOf(world, targets)).length === 0;
      const reason = isHere ? RECEIVED_HERE.reason : 'fault' in fields ? undefined : loopIn(fields, address)?.reason;
      if (reason !== undefined && !found.has(teamId)) found.set(teamId, reason);
    }
  }
  return found;
}

export const RECEIVED_HERE: Standstill = {
  reason: 'received_here',
  says: 'every address that it would go to is received here',
};

/** A domain that has come to receive here since the rule was made would bring it back. */
export async function recipientsOf(world: World, targets: readonly string[]): Promise<Mailbox[]> {
  const recipients: Mailbox[] = [];
  for (const mailbox of mailboxesOf(targets)) {
    if (!(await takesMailHere(world, mailbox.domain))) recipients.push(mailbox);
  }
  return recipients;
}

export const mailboxesOf = (targets: readonly string[]): Mailbox[] =>
  targets.map((target) => parseAddress(target)).flatMap((parsed) => (parsed.ok ? [parsed.mailbox] : []));

/** Whoever passes mail on says at which address it was (RFC 9228); where it comes to the same one again, it goes in circles. */
export function loopIn(fields: readonly RawField[], address: string): Standstill | undefined {
  const here = normalizeAddress(address);
  const isBack = fields.some(
    ({ lower, value }) => lower === 'delivered-to' && normalizeAddress(value.replace(/^\s*<?|>?\s*$/g, '')) === here,
  );
  if (isBack) return { reason: 'loop', says: 'it has been at this address already, so that it goes in circles' };
  const hops = fields.filter(({ lower }) => lower === 'received').length;
  if (hops <= HOPS_MAX) return undefined;
  return { reason: 'too_many_hops', says: `it has passed ${hops} servers, so that it seems to go in circles` };
}

function headOf(raw: Buffer): Buffer {
  const end = raw.indexOf('\r\n\r\n');
  return end < 0 ? raw : raw.subarray(0, end + 2);
}
