import { createHash } from 'node:crypto';
import { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, parseMailbox, parseAddress, type Mailbox } from '../../protocol/address/index.ts';
import { arcResults, arcState } from '../../protocol/arc.ts';
import { receivedField, type HeaderField } from '../../protocol/mime/index.ts';
import { readFields, type RawField } from '../../protocol/mime-read/index.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import { rewriteSender } from '../../protocol/srs.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { spoolMessage, type Accept, type Forward } from '../accept/index.ts';
import type { LoadedArrival, RuleDecision } from './inbound-message.ts';
import { claimsToBeOurs, type Checks } from './authenticate.ts';
import { takesMailHere } from '../domains/index.ts';
import type { NotForwarded } from '../received-emails/index.ts';

/** The reason why a message is not forwarded: for programs and for people. */
interface ForwardBlocker {
  reason: NotForwarded;
  says: string;
}

/** Maximum number of hops, more than any route has (RFC 5321 §6.3). */
const HOPS_MAX = 50;

/**
 * Returns, by team, why its first blocked forward is blocked. Computed before the message is stored, so that its event
 * can contain it.
 */
export async function forwardBlockers(
  world: World,
  raw: Buffer,
  decisions: readonly RuleDecision[],
): Promise<ReadonlyMap<string, NotForwarded>> {
  const found = new Map<string, NotForwarded>();
  if (decisions.every(({ forwards }) => forwards.length === 0)) return found;
  const fields = readFields(cutHead(raw));
  for (const { teamId, forwards } of decisions) {
    for (const { addresses, targets } of forwards) {
      const [address = ''] = addresses;
      const isHere = (await filterTargets(world, targets)).length === 0;
      const reason = isHere ? RECEIVED_HERE.reason : 'fault' in fields ? undefined : loopIn(fields, address)?.reason;
      if (reason !== undefined && !found.has(teamId)) found.set(teamId, reason);
    }
  }
  return found;
}

export const ACCOUNT_MAIL: ForwardBlocker = {
  reason: 'account_mail',
  says: 'it may contain a link about an account that only its recipient may see',
};

const RECEIVED_HERE: ForwardBlocker = {
  reason: 'received_here',
  says: 'this server receives the mail of every address that it would be forwarded to',
};

/** Returns the targets without those at domains that receive here by now: such a forward would come back. */
async function filterTargets(world: World, targets: readonly string[]): Promise<Mailbox[]> {
  const recipients: Mailbox[] = [];
  for (const mailbox of parseTargets(targets)) {
    if (!(await takesMailHere(world, mailbox.domain))) recipients.push(mailbox);
  }
  return recipients;
}

const parseTargets = (targets: readonly string[]): Mailbox[] =>
  targets.map((target) => parseAddress(target)).flatMap((parsed) => (parsed.ok ? [parsed.mailbox] : []));

/** Forwarders add a Delivered-To with their address (RFC 9228): a message that has ours already is in a loop. */
export function loopIn(fields: readonly RawField[], address: string): ForwardBlocker | undefined {
  const here = normalizeAddress(address);
  const isBack = fields.some(
    ({ lower, value }) => lower === 'delivered-to' && normalizeAddress(value.trim().replace(/^<|>$/g, '')) === here,
  );
  if (isBack) return { reason: 'loop', says: 'it has already passed through this address, which would be a mail loop' };
  const hops = fields.filter(({ lower }) => lower === 'received').length;
  if (hops <= HOPS_MAX) return undefined;
  return { reason: 'too_many_hops', says: `it has passed ${hops} servers, which looks like a mail loop` };
}

function cutHead(raw: Buffer): Buffer {
  const end = raw.indexOf('\r\n\r\n');
  return end < 0 ? raw : raw.subarray(0, end + 2);
}

/** A received message with its check results. */
export interface Forwardable {
  arrival: Omit<LoadedArrival, 'routes'>;
  reading: MessageReading;
  checks: Checks;
}

/** One copy of a received message to forward. */
export interface ForwardJob {
  teamId: string;
  /** The address that received the message, on a name of `domain`. */
  address: string;
  domain: { id: string; returnPathDomain: string };
  targets: readonly string[];
  /** The envelope sender of the copy; empty if bounces must not be returned. */
  sender: 'rewritten' | 'empty';
  tags: Forward['tags'];
  /** An idempotency key: the copy of one message is sent once for each team. */
  key: string;
}

/**
 * `kept`: it is stored and cannot be forwarded, now or later. A Refusal: it may be forwarded later, if its sender tries
 * again.
 */
type ForwardResult = 'forwarded' | 'kept' | Refusal;

export interface Forwarder {
  forward(message: Forwardable, job: ForwardJob): Promise<ForwardResult>;
  /**
   * Returns the reason why the team may not send at present; checked before storing a message that would then be
   * deferred.
   */
  refusalNow(teamId: string): Promise<Refusal | undefined>;
}

const DELAYED = new Set(['daily_quota_exceeded', 'rate_limit_exceeded', 'concurrent_idempotent_requests']);

/** Forwards received messages through the accept stage, as sends of their team. */
export function createForwarder(world: World, accept: Accept): Forwarder {
  const createCtx = (teamId: string): Ctx => ({
    store: world,
    teamId,
    actor: { kind: 'job', name: 'forward' },
    requestId: world.ids.uuid(),
  });

  async function forward(message: Forwardable, job: ForwardJob): Promise<ForwardResult> {
    const { teamId, address } = job;
    const stay = (because: string): ForwardResult => {
      world.mailLog.notForwarded({ teamId, address, because });
      return 'kept';
    };
    // A bounce has no sender, so it makes no loop and may go to an address that receives here.
    const recipients = job.sender === 'empty' ? parseTargets(job.targets) : await filterTargets(world, job.targets);
    if (recipients.length === 0) return stay(RECEIVED_HERE.says);
    const spooled = await spoolMessage(world, streamRaw(message.arrival.raw));
    try {
      const fields = readFields(spooled.head);
      if (spooled.fault !== undefined) return stay(spooled.fault);
      if ('fault' in fields) return stay(fields.fault);
      const loop = loopIn(fields, address);
      if (loop !== undefined) return stay(loop.says);
      const { chain, head } = writeForwardHead(world, message, job, fields);
      const { subject, messageId } = message.reading;
      const { domain, tags } = job;
      const mailFrom = rewriteEnvelopeSender(world, message.arrival.mailFrom, job);
      const from = findAuthor(message);
      const send = {
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
      await accept.acceptForward(createCtx(teamId), send, job.key);
      return 'forwarded';
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
    forward,
    async refusalNow(teamId) {
      try {
        await accept.mayBegin(createCtx(teamId));
        return undefined;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // A permanent refusal defers nothing: the message is kept, and `forward` logs why it goes no further.
        return isForNow(error) ? error : undefined;
      }
    },
  };
}

const isForNow = (refusal: Refusal): boolean => refusal.status >= 500 || DELAYED.has(refusal.errorName);

/** Recognizes a repeated message by its bytes if no row was stored for it. */
export const contentKey = (raw: Buffer, to: string): string =>
  createHash('sha256')
    .update(`${normalizeAddress(to)}\n`)
    .update(raw)
    .digest('base64url');

async function* streamRaw(raw: Buffer): AsyncIterable<Buffer> {
  yield raw;
}

/**
 * Writes the head of the copy: our fields followed by the received ones, without Return-Path and fields that claim to
 * be from this server.
 */
function writeForwardHead(
  world: World,
  { arrival, checks }: Forwardable,
  { address, key }: ForwardJob,
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

/**
 * Returns the sender. A message without an envelope sender, such as a notice, gets none, so that nothing is ever
 * returned for it.
 */
function rewriteEnvelopeSender(world: World, mailFrom: string, { domain, sender }: ForwardJob): string | null {
  if (mailFrom === '' || sender === 'empty') return '';
  const mac = (bytes: Buffer): Buffer => world.secrets.mac('sender rewriting', bytes);
  return rewriteSender(mailFrom, domain.returnPathDomain, { now: world.clock.now(), mac }) ?? null;
}

/** Returns the author that the team sees; in messages such as notices, From often contains no address. */
function findAuthor({ reading, arrival }: Forwardable): Mailbox {
  for (const text of [reading.from, arrival.mailFrom]) {
    const parsed = parseMailbox(text, { allowSingleLabel: true });
    if (parsed.ok) return parsed.mailbox;
  }
  return { name: '', local: 'unknown', domain: 'invalid', address: 'unknown@invalid', needsSmtpUtf8: false };
}
