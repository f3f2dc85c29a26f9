import { createHash } from 'node:crypto';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress, parseMailbox, type Mailbox } from '../../../protocol/address/index.ts';
import { arcResults, arcState } from '../../../protocol/arc/index.ts';
import { receivedField, type HeaderField } from '../../../protocol/mime/index.ts';
import { readFields, type RawField } from '../../../protocol/mime-read/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import { rewriteSender } from '../../../protocol/srs/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import { spoolMessage, type Accept, type Forward } from '../accept/index.ts';
import type { Arrival } from './inbound-message.ts';
import type { Checks } from './authenticate.ts';
import { claimsToBeOurs } from './own-claims.ts';
import { loopIn, mailboxesOf, RECEIVED_HERE, recipientsOf } from './standstill.ts';

/** What came in, and what was found out about it. */
export interface Passing {
  arrival: Omit<Arrival, 'routes'>;
  reading: MessageReading;
  checks: Checks;
}

/** Where it goes on to. */
export interface Onward {
  teamId: string;
  /** The address that it came to, which is on a name of `domain`. */
  address: string;
  domain: { id: string; returnPathDomain: string };
  targets: readonly string[];
  /** The sender of its envelope; empty where nothing may come back. */
  sender: 'rewritten' | 'empty';
  tags: Forward['tags'];
  /** Of one message, for one team: what has gone on with it does not go on again. */
  key: string;
}

/** A Refusal that time lifts: whoever sent it should send it again. `kept`: it cannot go on, and nobody else will try. */
export type Passed = 'passed' | 'kept' | Refusal;

export interface Forwarder {
  pass(passing: Passing, onward: Onward): Promise<Passed>;
  /** Why the team may not send at present, so that a message is not stored that would be deferred then. */
  mayNotPass(teamId: string): Promise<Refusal | undefined>;
}

const DELAYED = new Set(['daily_quota_exceeded', 'rate_limit_exceeded', 'concurrent_idempotent_requests']);

/** Passes on what came in: through the accept stage, as a send of its team. */
export function createForwarder(world: World, accept: Accept): Forwarder {
  const ctxOf = (teamId: string): Ctx => ({
    store: world,
    teamId,
    actor: { kind: 'job', name: 'forward' },
    requestId: world.ids.uuid(),
  });

  async function pass(passing: Passing, onward: Onward): Promise<Passed> {
    const { teamId, address } = onward;
    const stay = (because: string): Passed => {
      world.mailLog.notForwarded({ teamId, address, because });
      return 'kept';
    };
    // A bounce has no sender and comes to its end where it is received, here as elsewhere.
    const recipients =
      onward.sender === 'empty' ? mailboxesOf(onward.targets) : await recipientsOf(world, onward.targets);
    if (recipients.length === 0) return stay(RECEIVED_HERE.says);
    const spooled = await spoolMessage(world, piecesOf(passing.arrival.raw));
    try {
      const fields = readFields(spooled.head);
      if (spooled.fault !== undefined) return stay(spooled.fault);
      if ('fault' in fields) return stay(fields.fault);
      const loop = loopIn(fields, address);
      if (loop !== undefined) return stay(loop.says);
      const { chain, head } = headOf(world, passing, onward, fields);
      const { subject, messageId } = passing.reading;
      const { domain, tags } = onward;
      const mailFrom = senderOf(world, passing.arrival.mailFrom, onward);
      const from = authorOf(passing);
      const forward = {
        domainId: domain.id,
        spooled,
        head,
        from,
        subject,
        messageId,
        tags,
        recipients,
        mailFrom,
        chain,
      };
      await accept.acceptForward(ctxOf(teamId), forward, onward.key);
      return 'passed';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!isForNow(error)) return stay(error.message);
      world.mailLog.notForwarded({ teamId, address, because: error.message });
      return error;
    } finally {
      await spooled.discard();
    }
  }

  return {
    pass,
    async mayNotPass(teamId) {
      try {
        await accept.mayBegin(ctxOf(teamId));
        return undefined;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // What time does not lift is said of each message, which is kept.
        return isForNow(error) ? error : undefined;
      }
    },
  };
}

const isForNow = (refusal: Refusal): boolean => refusal.status >= 500 || DELAYED.has(refusal.errorName);

/** A message that came again, and found nothing stored of it that would say so, is known by its bytes. */
export const contentKey = (raw: Buffer, to: string): string =>
  createHash('sha256')
    .update(`${normalizeAddress(to)}\n`)
    .update(raw)
    .digest('base64url');

async function* piecesOf(raw: Buffer): AsyncIterable<Buffer> {
  yield raw;
}

/** What came is behind it unchanged but for what the last server alone may write, and this one. */
function headOf(
  world: World,
  { arrival, checks }: Passing,
  { address, key }: Onward,
  fields: readonly RawField[],
): { chain: Forward['chain']; head: string } {
  const { host } = world.config.instance;
  const kept = fields.filter((field) => field.lower !== 'return-path' && !claimsToBeOurs(field, host));
  const state = arcState(
    kept.map(({ name, value }): HeaderField => [name, value]),
    checks,
  );
  const hop = receivedField({
    from: { helo: arrival.client.name, address: arrival.client.address },
    by: host,
    protocol: arrival.client.protocol ?? 'ESMTP',
    id: key.slice(0, 36),
    recipient: address,
    at: new Date(world.clock.now()),
  });
  const results = state.chain === 'unsealed' ? '' : arcResults(host, state, checks);
  const theirs = kept.map(({ raw }) => (raw.endsWith('\r\n') ? raw : `${raw}\r\n`)).join('');
  return { chain: state.chain, head: `${results}Delivered-To: ${address}\r\n${hop}${theirs}` };
}

/** A notice has no sender and gets none, so that nothing is ever sent back for it. */
function senderOf(world: World, mailFrom: string, { domain, sender }: Onward): string | null {
  if (mailFrom === '' || sender === 'empty') return '';
  const mac = (bytes: Buffer): Buffer => world.secrets.mac('sender rewriting', bytes);
  return rewriteSender(mailFrom, domain.returnPathDomain, { now: world.clock.now(), mac }) ?? null;
}

/** As the team is shown it: notices, among others, are often from nobody who could be answered. */
function authorOf({ reading, arrival }: Passing): Mailbox {
  for (const text of [reading.from, arrival.mailFrom]) {
    const parsed = parseMailbox(text, { allowSingleLabel: true });
    if (parsed.ok) return parsed.mailbox;
  }
  return { name: '', local: 'unknown', domain: 'invalid', address: 'unknown@invalid', needsSmtpUtf8: false };
}
