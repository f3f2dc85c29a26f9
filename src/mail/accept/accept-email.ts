import type { BatchError, SendEmailRequest, SentBatch, SentEmail } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { creationTime } from '../../platform/ids.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, type Mailbox } from '../../protocol/address/index.ts';
import type { Asked } from '../../protocol/dsn.ts';
import { refuseAtIndex, type Ctx } from '../../tenancy/access/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import { createAcceptPrepared, type AcceptWithRows, type AcceptPrepared } from './accept-prepared.ts';
import { fetchAttachments, fetchAttachmentsOfEach } from './fetch-attachments.ts';
import {
  prepareForward,
  createDomainFinders,
  createPrepare,
  type Forward,
  type FindSendingDomain,
  type Prepared,
  type Prepare,
} from './prepare.ts';
import { hashRequest, createIdempotent, type Idempotency, type KeepAnswer } from './idempotency.ts';
import { mustBeNoticedAtHome } from './delivery-notice.ts';
import { createInSlices, type InSlices } from './loop-turns.ts';
import { createTeamLimiter, type TeamLimiter } from './team-limiter.ts';
import { createSendingGate, mustBeWithinQuota } from './sending-limits.ts';
import { readSubmitted, type SubmissionEnvelope } from './read-submitted.ts';
import { shareBodies, type AcceptedAs, type AcceptedRows } from './accepted-rows.ts';
import { listMissingFields, type Spooled } from './submitted-message.ts';
import { refuse, Refusal } from '../../platform/refusal.ts';

interface BatchOptions {
  /** A bad email is refused alone; `refused` lists the emails whose fields were already found invalid. */
  permissive?: { refused: BatchError[] };
  idempotency?: Idempotency | undefined;
}

export interface Accept {
  acceptEmail(ctx: Ctx, input: SendEmailRequest, idempotency?: Idempotency, as?: AcceptedAs): Promise<SentEmail>;
  /** Accepts all of them in one commit, in the order given; `inputs` has a gap at each index that `refused` names. */
  acceptBatch(ctx: Ctx, inputs: (SendEmailRequest | undefined)[], options: BatchOptions): Promise<SentBatch>;
  /** Accepts drafts that rasket composed itself, unchanged, all or none, as transactional mail; returns their ids. */
  acceptDrafts(ctx: Ctx, drafts: readonly EmailDraft[]): Promise<string[]>;
  /** Accepts one email in the transaction in which `writeRows` writes the related rows; once per idempotency key. */
  acceptWithRows(ctx: Ctx, make: () => Promise<Composing>, options: ComposingOptions): Promise<SentEmail>;
  /**
   * Runs writes that send no email once per idempotency key: `work` passes its result to `keep` within its transaction.
   */
  writeIdempotently<Answer>(
    ctx: Ctx,
    options: ComposingOptions,
    work: (keep: KeepAnswer) => Promise<Answer>,
  ): Promise<Answer>;
  /**
   * Accepts a message that a client composed: signed and otherwise sent unchanged, without the headers meant for us, to
   * the recipients of the envelope. With more recipients than an email may have, it becomes several emails, all
   * accepted in one commit.
   */
  acceptMessage(ctx: Ctx, spooled: Spooled, envelope: SubmissionEnvelope): Promise<SubmittedAs>;
  /** Accepts a received message to be forwarded, byte for byte after headers that we add; once per key. */
  acceptForward(ctx: Ctx, forward: Forward, key: string): Promise<SentEmail>;
  /** Refuses a send that could not be accepted whatever its content, before a large message is read. */
  mayBegin(ctx: Ctx): Promise<void>;
  /**
   * Reports whether many callers wait for their commits; the queue checks before each claim and then throttles
   * delivery.
   */
  isContended(): boolean;
}

/** The email that a submitted message became, and the others if it has more recipients than one email may have. */
interface SubmittedAs extends SentEmail {
  others?: string[];
}

/** An email that an operation has composed, under the id that the rows written with it refer to. */
export interface Composing {
  id: string;
  draft: EmailDraft;
  writeRows(tx: Executor, email: AcceptedRows['email']): Promise<unknown>;
}

interface ComposingOptions {
  idempotency: Idempotency | undefined;
  /** True if the request names files by URL. */
  isGrowing: boolean;
}

/**
 * Limits, by team, the requests that grow much larger than they arrived; each waiting request keeps its body in memory.
 */
const GROWING = { atOnce: 2, waitingMax: 20 };

/** `onAccepted` is called after a commit that brought mail to deliver. */
export function createAccept(world: World, onAccepted: () => void): Accept {
  const domainFinderFor = createDomainFinders(world);
  const prepare = createPrepare(world, domainFinderFor);
  const mustBeOn = createSendingGate(world);
  const { withIdempotency, writeIdempotently, answered } = createIdempotent(world);
  const inSlices = createInSlices();
  const { acceptPrepared, acceptWithRows, isContended } = createAcceptPrepared(world, {
    answered,
    onAccepted,
    inSlices,
  });
  const limited = createTeamLimiter(GROWING);

  /** Refuses while sending is switched off; requests that are expensive to read wait for their turn. */
  async function admit<Answer>(
    ctx: Ctx,
    inputs: (SendEmailRequest | undefined)[],
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    await mustBeOn();
    const isGrowing = inputs.some((input) => (input?.template && inputs.length > 1) || hasPath(input));
    if (!isGrowing) return work();
    return limited(ctx.teamId, work, ctx.whenGone?.());
  }

  return {
    isContended,
    acceptEmail: (ctx, input, idempotency, as = TRANSACTIONAL.as) =>
      withIdempotency(ctx, idempotency, () =>
        admit(ctx, [input], async () => {
          const prepared = await prepare(ctx)(input);
          const { attachments } = prepared.draft;
          // Files are written before the commit that would refuse them.
          if (attachments.length > 0) await mustBeWithinQuota(world, ctx.teamId, 1);
          await fetchAttachments(world, [prepared.draft], ctx.whenGone);
          return acceptPrepared(ctx, [prepared], { as, idempotency, toResponse: toSentEmail });
        }),
      ),
    ...acceptWritten(world, { domainFinderFor, mustBeOn, withIdempotency, writeIdempotently, acceptWithRows, limited }),
    async acceptDrafts(ctx, drafts) {
      await mustBeOn();
      const findDomain = domainFinderFor(ctx);
      const prepared: Prepared[] = [];
      for (const draft of drafts) prepared.push({ draft, domain: await findDomain(draft), templateId: null });
      const toResponse = (emails: AcceptedRows[]): string[] => emails.map(({ email }) => email.id);
      return acceptPrepared(ctx, prepared, { ...TRANSACTIONAL, idempotency: undefined, toResponse });
    },
    ...acceptComposed(world, { domainFinderFor, mustBeOn, withIdempotency, acceptPrepared }),
    async mayBegin({ teamId }) {
      await mustBeOn();
      await mustBeWithinQuota(world, teamId, 1);
    },
    acceptBatch: (ctx, inputs, { permissive, idempotency }) =>
      withIdempotency(ctx, idempotency, () =>
        admit(ctx, inputs, async () => {
          const steps = { prepare: prepare(ctx), inSlices };
          const { good, errors } = permissive
            ? await prepareGood(world, ctx, steps, inputs, permissive.refused)
            : await prepareAll(world, ctx, steps, inputs);
          const toResponse = (emails: AcceptedRows[]): SentBatch => ({
            data: emails.map(({ email }) => ({ id: email.id })),
            ...(errors ? { errors } : {}),
          });
          const { prepared, bodies } = await shareBodies(world, ctx, good);
          return acceptPrepared(ctx, prepared, { ...TRANSACTIONAL, bodies, idempotency, toResponse });
        }),
      ),
  };
}

interface WritingSteps extends Pick<Steps, 'domainFinderFor' | 'mustBeOn' | 'withIdempotency'> {
  writeIdempotently: ReturnType<typeof createIdempotent>['writeIdempotently'];
  acceptWithRows: AcceptWithRows;
  limited: TeamLimiter;
}

/** Accepts emails that a person writes in an inbox, and their drafts. */
function acceptWritten(world: World, steps: WritingSteps): Pick<Accept, 'writeIdempotently' | 'acceptWithRows'> {
  const { domainFinderFor, mustBeOn, withIdempotency, writeIdempotently, acceptWithRows, limited } = steps;
  return {
    writeIdempotently: (ctx, { idempotency, isGrowing }, work) =>
      isGrowing
        ? limited(ctx.teamId, () => writeIdempotently(ctx, idempotency, work), ctx.whenGone?.())
        : writeIdempotently(ctx, idempotency, work),
    acceptWithRows: (ctx, make, { idempotency, isGrowing }) =>
      withIdempotency(ctx, idempotency, async () => {
        await mustBeOn();
        const accept = async (): Promise<SentEmail> => {
          const { id, draft, writeRows } = await make();
          const domain = await domainFinderFor(ctx)(draft);
          if (draft.attachments.length > 0) await mustBeWithinQuota(world, ctx.teamId, 1);
          await fetchAttachments(world, [draft], ctx.whenGone);
          return acceptWithRows(ctx, { id, draft, domain, templateId: null }, { idempotency, writeRows });
        };
        return isGrowing ? limited(ctx.teamId, accept, ctx.whenGone?.()) : accept();
      }),
  };
}

interface Steps {
  domainFinderFor: (ctx: Ctx) => FindSendingDomain;
  mustBeOn(): Promise<void>;
  withIdempotency: ReturnType<typeof createIdempotent>['withIdempotency'];
  acceptPrepared: AcceptPrepared;
}

/**
 * Accepts messages that another program composed: a client of SMTP submission, or the sender of a forwarded message.
 */
function acceptComposed(world: World, steps: Steps): Pick<Accept, 'acceptMessage' | 'acceptForward'> {
  const { domainFinderFor, mustBeOn, withIdempotency, acceptPrepared } = steps;
  return {
    async acceptMessage(ctx, spooled, envelope) {
      const { drafts, message, idempotency } = await readSubmitted(spooled, envelope);
      return withIdempotency(ctx, idempotency, async () => {
        await mustBeOn();
        const findDomain = domainFinderFor(ctx);
        const prepared: Prepared[] = [];
        for (const draft of drafts) {
          const asked = message.asked && keepAskedFor(message.asked, draft.recipients);
          const own = { ...message, asked };
          prepared.push({ draft, domain: await findDomain(draft), templateId: null, message: own });
        }
        if (envelope.asked) await mustBeNoticedAtHome(ctx, envelope.asked);
        const toResponse = ([first, ...others]: AcceptedRows[]): SubmittedAs => ({
          id: first?.email.id ?? '',
          ...(others.length === 0 ? {} : { others: others.map(({ email }) => email.id) }),
        });
        const sends = prepared.length === 1 ? prepared : completeHead(world, prepared);
        return acceptPrepared(ctx, sends, { ...TRANSACTIONAL, idempotency, toResponse });
      });
    },
    acceptForward(ctx, forward, key) {
      const idempotency = { key: `forward ${key}`, requestHash: hashRequest('forward', { key }) };
      return withIdempotency(ctx, idempotency, async () => {
        await mustBeOn();
        const prepared = await prepareForward(world, ctx, forward);
        return acceptPrepared(ctx, [prepared], { ...TRANSACTIONAL, idempotency, toResponse: toSentEmail });
      });
    },
  };
}

/**
 * Keeps the options that the client gave for these recipients: every delivery of an email stores those for all of them.
 */
function keepAskedFor(asked: Asked, recipients: readonly Mailbox[]): Asked {
  const addresses = new Set(recipients.map(({ address }) => normalizeAddress(address)));
  const kept = Object.entries(asked.recipients).filter(([address]) => addresses.has(address));
  return { ...asked, recipients: Object.fromEntries(kept) };
}

/** Gives the emails of one message the same Message-ID and Date, unless the client wrote them. */
function completeHead(world: World, prepared: readonly Prepared[]): Prepared[] {
  const id = world.ids.uuid();
  const [first] = prepared;
  if (!first?.message) return [...prepared];
  const messageId = first.message.messageId ?? `<${id}@${first.domain.name}>`;
  const missing = listMissingFields(first.message, { messageId, at: new Date(creationTime(id, world.clock)) });
  const head = first.message.head + missing.join('');
  return prepared.map((one, at) => ({
    ...one,
    ...(at === 0 ? { id } : {}),
    message: one.message && { ...one.message, head, messageId, hasDate: true },
  }));
}

const TRANSACTIONAL = { as: { kind: 'transactional' } } as const;

const toSentEmail = ([rows]: AcceptedRows[]): SentEmail => ({ id: rows?.email.id ?? '' });

const hasPath = (input: SendEmailRequest | undefined): boolean =>
  input?.attachments?.some(({ path }) => path !== undefined) ?? false;

interface OwnMail {
  teamId: string;
  /** The job that sends it. */
  job: string;
  /**
   * What is sent, and on which occasion: together they ensure one email, even if the process dies before that is noted.
   */
  kind: string;
  occasion: string;
  input: Parameters<Accept['acceptEmail']>[1];
  as?: AcceptedAs;
}

/** No client can send this character within a header, so no key of a team equals one of ours. */
const OWN_KEYS = '\u0001';

/** Sends mail on behalf of a team, through accept like all mail; returns the reason if it was refused. */
export async function mailOnce(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  { teamId, job, kind, occasion, input, as }: OwnMail,
): Promise<string | undefined> {
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { store: world, teamId, actor: { kind: 'job', name: job }, requestId };
  const key = `${OWN_KEYS}${kind} ${occasion}`;
  try {
    await accept.acceptEmail(ctx, input, { key, requestHash: hashRequest(kind, key) }, as);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName === 'service_unavailable') throw error;
    return error.message;
  }
}

interface PreparedBatch {
  good: Prepared[];
  /** Set only if a bad email is refused alone. */
  errors: BatchError[] | undefined;
}

/** Functions that read the emails of one batch. */
interface BatchSteps {
  prepare: Prepare;
  /** Processes the emails in slices, and lets other requests run in between. */
  inSlices: InSlices;
}

/**
 * Prepares every email of a strict batch, or throws the refusal of the first bad one. A gap is one that was refused
 * before.
 */
async function prepareAll(
  world: World,
  ctx: Ctx,
  { prepare, inSlices }: BatchSteps,
  inputs: (SendEmailRequest | undefined)[],
): Promise<PreparedBatch> {
  const all: Prepared[] = [];
  const withinLimit = createBodyLimit(world);
  await inSlices(ctx.teamId, inputs, async (input, index) => {
    if (!input) return;
    try {
      all.push(withinLimit(await prepare(input)));
    } catch (error) {
      throw error instanceof Refusal ? refuseAtIndex('Email', { index, refusal: error }) : error;
    }
  });
  const drafts = all.map(({ draft }) => draft);
  if (drafts.some(hasFiles)) await mustBeWithinQuota(world, ctx.teamId, drafts.length);
  const faults = await fetchAttachmentsOfEach(world, drafts, { stopsAtFirst: true, whenGone: ctx.whenGone });
  for (const [index, fault] of faults.entries()) if (fault) throw refuseAtIndex('Email', { index, refusal: fault });
  return { good: all, errors: undefined };
}

/**
 * Prepares the good emails, and returns the faults of the others. An internal error is no email's fault, and fails the
 * whole batch.
 */
async function prepareGood(
  world: World,
  ctx: Ctx,
  { prepare, inSlices }: BatchSteps,
  inputs: (SendEmailRequest | undefined)[],
  refused: readonly BatchError[],
): Promise<PreparedBatch> {
  const errors = [...refused];
  const read: { index: number; prepared: Prepared }[] = [];
  const withinLimit = createBodyLimit(world);
  await inSlices(ctx.teamId, inputs, async (input, index) => {
    if (!input) return;
    try {
      read.push({ index, prepared: withinLimit(await prepare(input)) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      errors.push({ index, message: error.message });
    }
  });
  const drafts = read.map(({ prepared }) => prepared.draft);
  // The number of good emails is known only after their files are fetched.
  if (drafts.some(hasFiles)) await mustBeWithinQuota(world, ctx.teamId, 1);
  const faults = await fetchAttachmentsOfEach(world, drafts, { whenGone: ctx.whenGone });
  const good = read.filter(({ index }, i) => {
    const fault = faults[i];
    if (fault) errors.push({ index, message: fault.message });
    return !fault;
  });
  errors.sort((a, b) => a.index - b.index);
  return { good: good.map(({ prepared }) => prepared), errors };
}

/**
 * Reports whether a draft has files. They are fetched and written before the commit that would refuse them, so the
 * quota is checked early.
 */
const hasFiles = ({ attachments }: EmailDraft): boolean => attachments.length > 0;

/** Limits the texts of a batch to the size of a request: a request of a few bytes may name a large template a hundred times. */
function createBodyLimit({ config }: World): (prepared: Prepared) => Prepared {
  const bytesMax = config.http.email_body_limit_bytes;
  let left = bytesMax;
  return (prepared) => {
    const { html, text } = prepared.draft;
    const bytes = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
    if (bytes <= left) {
      left -= bytes;
      return prepared;
    }
    throw refuse('validation_error', {
      status: 422,
      say: `The emails of a batch may have at most ${bytesMax} bytes of html and text together; send fewer emails at once.`,
    });
  };
}
