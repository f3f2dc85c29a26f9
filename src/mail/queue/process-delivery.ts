import type { World } from '../../platform/world.ts';
import { readAsked, type Asked } from '../../protocol/dsn.ts';
import { DamagedContent } from '../contents/index.ts';
import { ContentChanged, DomainRemoved, DomainUnverified, KeysChanged, type Batch } from '../compose/index.ts';
import type { Conversation, Deliver, DeliverContext, DeliveryJob, HandOff, Via } from '../deliver/index.ts';
import type { ClaimKey, DeliveryRow } from './deliveries.store.ts';
import type { HandOffLog } from './hand-off-log.ts';
import { isBulk } from './lanes.ts';
import type { Outcome, ClaimedDelivery } from './rules.ts';

/** One attempt: its start, its duration, its SMTP conversation, its source and provider, and the sources that were refused before. */
export interface Tried {
  at: number;
  durationMs: number;
  conversation: Conversation | undefined;
  via: Via | undefined;
  refusedBefore: readonly SourceRefusal[];
}

/** The refusals of a source, after which another one was tried. */
export interface SourceRefusal {
  via: Via;
  outcomes: readonly Outcome[];
}

/** The callbacks of a context that report what happens. */
type Notes = Required<Pick<DeliverContext, 'onConversation' | 'onVia' | 'onSourceRefused'>>;

/** Writes the outcomes of one delivery; durable when it resolves. Writing them again changes nothing. */
export type Settle = (row: DeliveryRow, outcomes: Outcome[], tried?: Tried) => Promise<void>;

export interface ProcessDeliveryOptions {
  world: World;
  deliver: Deliver;
  settle: Settle;
  handOffLog: HandOffLog;
  /** Resolves once the ledger records that this delivery is about to be handed off; rejects with LeaseLost. */
  intend(claim: ClaimKey): Promise<void>;
}

/** Another node has claimed the delivery now, and will deliver and settle it. */
export class LeaseLost extends Error {}

/** `interrupt` aborts when the grace period of a stop is over: the delivery is broken off. */
export type ProcessDelivery = (claimed: ClaimedDelivery, batch: Batch, interrupt: AbortSignal) => Promise<void>;

/** Processes one claimed delivery from the claim to its settled outcomes. It never rejects. */
export function createProcessDelivery(options: ProcessDeliveryOptions): ProcessDelivery {
  const { world, handOffLog } = options;

  return async ({ row, recipients, decided }, batch, interrupt) => {
    const hand = { isOff: false };
    const { done, tried } =
      recipients.length > 0
        ? await timed(world, (notes) => attempt({ row, recipients, batch, interrupt, hand }, notes))
        : { done: [], tried: undefined };
    const outcomes = done && [...decided, ...done];
    batch.release(row);
    // A mark of another attempt belongs to a later one at the same delivery, after other nodes had it.
    const clear = (): void => void (hand.isOff && handOffLog.clear(row.id));
    if (!outcomes) return clear();
    const isWritten = await untilWritten(world, interrupt, () => options.settle(row, outcomes, tried));
    // If no outcome was written, the mark stays, so that recovery knows that the message was handed off.
    if (isWritten) clear();
  };

  /** Returns undefined if another node has taken the delivery over. */
  async function attempt(
    { row, recipients, batch, interrupt, hand }: Attempt,
    notes: Notes,
  ): Promise<Outcome[] | undefined> {
    const removed = (): Outcome[] =>
      recipients.map((address) => ({ kind: 'failed', address, reason: 'domain_removed' }));
    const mailFrom = batch.returnPath(row.email_id, row.destination);
    if (mailFrom === undefined) return removed();
    const unverified = batch.unverifiedDomain(row.email_id);
    if (unverified !== undefined) return untilVerified(recipients, unverified);
    const handOff: HandOff = {
      intend() {
        const rechecked = batch.recheck(row);
        return rechecked ? rechecked.then(() => options.intend(row)) : options.intend(row);
      },
      mark() {
        handOffLog.mark(row.id);
        hand.isOff = true;
      },
    };
    const message = () => batch.message(row, interrupt);
    try {
      // `deliver` calls back in this order: `message`, `handOff.intend` before the final dot, `handOff.mark` at it, `onConversation`.
      return await options.deliver(buildJob(row, recipients, mailFrom, batch.sendingDomain(row.email_id)), {
        message,
        handOff,
        signal: interrupt,
        ...notes,
      });
    } catch (error) {
      if (error instanceof DomainRemoved) return removed();
      if (error instanceof DomainUnverified) return untilVerified(recipients, error.domain);
      if (error instanceof KeysChanged) return again(recipients, KEYS_CHANGED);
      if (error instanceof LeaseLost) {
        world.log.warn({ emailId: row.email_id }, 'a delivery was taken over by another node before its hand-off');
        return undefined;
      }
      if (interrupt.aborted && !hand.isOff) return again(recipients, INTERRUPTED);
      if (isDamage(error) && !hand.isOff) return untilWhole(world, row, recipients, error);
      world.log.error({ err: error, emailId: row.email_id }, 'a delivery could not be processed');
      const detail = 'The message could not be sent because of a local problem';
      return recipients.map((address) =>
        hand.isOff
          ? { kind: 'ambiguous', address, detail }
          : { kind: 'deferred', address, reason: 'local_trouble', detail },
      );
    }
  }
}

interface Attempt {
  row: DeliveryRow;
  recipients: string[];
  batch: Batch;
  interrupt: AbortSignal;
  /** True once the final dot was written. */
  hand: { isOff: boolean };
}

/** Runs one attempt, and records its start, its duration, its conversation, and its source and provider. */
async function timed(
  { clock }: World,
  run: (notes: Notes) => Promise<Outcome[] | undefined>,
): Promise<{ done: Outcome[] | undefined; tried: Tried }> {
  const at = clock.now();
  let conversation: Conversation | undefined;
  let via: Via | undefined;
  const refusedBefore: SourceRefusal[] = [];
  const done = await run({
    onConversation: (had) => (conversation = had),
    onVia: (went) => (via = went),
    onSourceRefused: (refused, outcomes) => refusedBefore.push({ via: refused, outcomes }),
  });
  return { done, tried: { at, durationMs: Math.max(0, clock.now() - at), conversation, via, refusedBefore } };
}

function untilVerified(recipients: readonly string[], domain: string): Outcome[] {
  const detail = `The domain ${domain} is no longer verified; the mail waits until its records are found`;
  return recipients.map((address) => ({ kind: 'deferred', address, reason: 'domain_unverified', detail }));
}

const isDamage = (error: unknown): error is Error => error instanceof DamagedContent || error instanceof ContentChanged;

function untilWhole({ log }: World, row: DeliveryRow, recipients: readonly string[], error: Error): Outcome[] {
  log.error({ err: error, emailId: row.email_id }, 'an email waits because its stored content is damaged');
  const detail = 'The stored content of the message is damaged; it is sent once the content is restored';
  return recipients.map((address) => ({ kind: 'deferred', address, reason: 'content_damaged', detail }));
}

const KEYS_CHANGED = 'The keys of the domain changed while the message was being sent';
const INTERRUPTED = 'The server stopped while the message was being sent';

/**
 * Returns outcomes that make the delivery due again at once; it is then signed with the present keys. `stopping` is the
 * reason of every attempt that we break off ourselves, at a stop or for changed keys: `conclude` does not count it as
 * an attempt and records no event.
 */
function again(recipients: readonly string[], detail: string): Outcome[] {
  return recipients.map((address) => ({ kind: 'deferred', address, reason: 'stopping', detail }));
}

/** Combines the settings of the sending domain with what the sender asked for this mail. */
function chooseTls({ tls, tls_verify: verifies }: DeliveryRow, asked: Asked | undefined): DeliveryJob['tls'] {
  if (asked?.requiresTls) return 'proven';
  return tls === 'enforced' && verifies === 1 ? 'verified' : tls;
}

function buildJob(
  row: DeliveryRow,
  recipients: string[],
  mailFrom: string,
  senderDomain: string | undefined,
): DeliveryJob {
  const asked = readAsked(row.asked);
  return {
    id: row.id,
    emailId: row.email_id,
    teamId: row.team_id,
    isMarketing: row.is_marketing === 1,
    isBulk: isBulk(row.lane),
    domain: row.destination,
    recipients,
    mailFrom,
    region: row.region,
    senderDomain,
    ...(row.source === null ? {} : { source: row.source }),
    ...(row.pool === null ? {} : { pool: row.pool }),
    tls: chooseTls(row, asked),
    ignoresPolicies: asked?.ignoresTlsPolicies ?? false,
    ...(asked ? { asked } : {}),
    attempt: row.attempt,
  };
}

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 30_000;

/**
 * Retries a write until it succeeds, with backoff: a delivered message whose outcome is lost would be sent twice or
 * reported as failed. Returns false if it was interrupted first.
 */
export async function untilWritten(
  world: World,
  interrupt: AbortSignal,
  write: () => Promise<unknown>,
): Promise<boolean> {
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    try {
      await write();
      return true;
    } catch (error) {
      world.log.error({ err: error }, 'the outcome of a delivery could not be stored');
      if (interrupt.aborted) return false;
    }
    await pause(world, pauseMs, interrupt);
  }
}

function pause(world: World, pauseMs: number, interrupt: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      interrupt.removeEventListener('abort', end);
      resolve();
    };
    const cancel = world.clock.timer(pauseMs, end);
    interrupt.addEventListener('abort', end);
  });
}
