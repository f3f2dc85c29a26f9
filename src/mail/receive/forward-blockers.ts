import type { World } from '../../platform/world/index.ts';
import { normalizeAddress, parseAddress, type Mailbox } from '../../protocol/address/index.ts';
import { readFields, type RawField } from '../../protocol/mime-read/index.ts';
import { takesMailHere } from '../domains/index.ts';
import type { NotForwarded } from '../received-emails/index.ts';
import type { RuleDecision } from './apply-rules.ts';

/** Why a message is not forwarded: for programs and for people. */
export interface ForwardBlocker {
  reason: NotForwarded;
  says: string;
}

/** More than any route has (RFC 5321 §6.3). */
const HOPS_MAX = 50;

/** By team, why its first blocked forward is blocked. Found before the message is stored, so that its event can say so. */
export async function forwardBlockers(
  world: World,
  raw: Buffer,
  decisions: readonly RuleDecision[],
): Promise<ReadonlyMap<string, NotForwarded>> {
  const found = new Map<string, NotForwarded>();
  if (decisions.every(({ forwards }) => forwards.length === 0)) return found;
  const fields = readFields(headOf(raw));
  for (const { teamId, forwards } of decisions) {
    for (const { addresses, targets } of forwards) {
      const [address = ''] = addresses;
      const isHere = (await recipientsOf(world, targets)).length === 0;
      const reason = isHere ? RECEIVED_HERE.reason : 'fault' in fields ? undefined : loopIn(fields, address)?.reason;
      if (reason !== undefined && !found.has(teamId)) found.set(teamId, reason);
    }
  }
  return found;
}

export const ACCOUNT_MAIL: ForwardBlocker = {
  reason: 'account_mail',
  says: 'it may hold a link that is for the person it was sent to, about an account',
};

export const RECEIVED_HERE: ForwardBlocker = {
  reason: 'received_here',
  says: 'every address that it would go to is received here',
};

/** The targets without those at domains that receive here by now: such a forward would come back. */
export async function recipientsOf(world: World, targets: readonly string[]): Promise<Mailbox[]> {
  const recipients: Mailbox[] = [];
  for (const mailbox of mailboxesOf(targets)) {
    if (!(await takesMailHere(world, mailbox.domain))) recipients.push(mailbox);
  }
  return recipients;
}

export const mailboxesOf = (targets: readonly string[]): Mailbox[] =>
  targets.map((target) => parseAddress(target)).flatMap((parsed) => (parsed.ok ? [parsed.mailbox] : []));

/** Forwarders add a Delivered-To with their address (RFC 9228): where ours is there already, the message goes in circles. */
export function loopIn(fields: readonly RawField[], address: string): ForwardBlocker | undefined {
  const here = normalizeAddress(address);
  const isBack = fields.some(
    ({ lower, value }) => lower === 'delivered-to' && normalizeAddress(value.trim().replace(/^<|>$/g, '')) === here,
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
