import type { BatchError, SendEmailRequest, SentBatch, SentEmail } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import { createContentionGauge } from '../queue/index.ts';
import { fetchAttachments } from './fetch-attachments.ts';
import { prepareForward, type Forward } from './forward.ts';
import { hashRequest, type Idempotency } from './idempotency.ts';
import { mustBeNoticedAtHome } from './notice.ts';
import { createInSlices } from './in-slices.ts';
import { createOnce } from './once.ts';
import { createSendingGate } from './sending-gate.ts';
import { prepareAll, prepareGood } from './prepare-batch.ts';
import { createSendingDomainOf, type SendingDomainOf } from './sending-domain.ts';
import { createPrepare, type Prepared } from './prepare.ts';
import { mustBeWithinQuota } from './quota.ts';
import { readSubmitted, type SubmissionEnvelope } from './read-submitted.ts';
import { rowsOfRequest, type AcceptedRows } from './rows.ts';
import type { Spooled } from './spool-message.ts';
import { adoptBody } from './submitted-message.ts';
import { createKeyedLimiter } from './keyed-limiter.ts';
import { placeOf, writeAccepted, type Acceptance } from './write-accepted.ts';

export interface BatchOptions {
  /** A bad email is refused alone; `refused` are those whose fields were at fault already. */
  permissive?: { refused: BatchError[] };
  idempotency?: Idempotency | undefined;
}

export interface Accept {
  acceptEmail(ctx: Ctx, input: SendEmailRequest, idempotency?: Idempotency): Promise<SentEmail>;
  /** Accepts all of them in one commit, in the order given; `inputs` has a gap where `refused` names an index. */
  acceptBatch(ctx: Ctx, inputs: (SendEmailRequest | undefined)[], options: BatchOptions): Promise<SentBatch>;
  /** Accepts a message that a client composed: sent as it is, signed, without headers for us, to the envelope's recipients. */
  acceptMessage(ctx: Ctx, spooled: Spooled, envelope: SubmissionEnvelope): Promise<SentEmail>;
  /** Accepts a received message to be forwarded, byte for byte behind headers of ours; once for each key. */
  acceptForward(ctx: Ctx, forward: Forward, key: string): Promise<SentEmail>;
  /** Refuses a send that could not be accepted whatever it contains, before a large message is read. */
  mayBegin(ctx: Ctx): Promise<void>;
  /** Whether many callers wait for their commits; the queue asks before each claim, and throttles delivery then. */
  isContended(): boolean;
}

/** Limits, by team, the requests that become much larger than they came; each that waits holds its body. */
const GROWING = { atOnce: 2, waitingMax: 20 };

/** `onAccepted` is called after a commit that brought mail to deliver. */
export function createAccept(world: World, onAccepted: () => void): Accept {
  const commit = world.commits.lane<Acceptance, void>((tx, items) => writeAccepted(world, tx, items), placeOf);
  const sendingDomainOf = createSendingDomainOf(world);
  const prepare = createPrepare(world, sendingDomainOf);
  const mustBeOn = createSendingGate(world);
  const { once, answered } = createOnce(world);
  const limited = createKeyedLimiter(GROWING);
  const contention = createContentionGauge();
  const inSlices = createInSlices();

  /** Writes prepared sends in one commit. Blobs come first, so that no row ever names one that does not exist. */
  async function write<Answer>(
    ctx: Ctx,
    prepared: Prepared[],
    { idempotency, answerOf }: { idempotency: Idempotency | undefined; answerOf: (rows: AcceptedRows[]) => Answer },
  ): Promise<Answer> {
    const emails = await rowsOfRequest(world, ctx, prepared, inSlices);
    const answer = answerOf(emails);
    if (emails.length === 0 && !idempotency) return answer;
    try {
      for (const [i, { email }] of emails.entries()) await adoptBody(world, prepared[i]?.message, email.id);
      await writeFiles(world, emails);
      const item: Acceptance = { teamId: ctx.teamId, kind: 'transactional', emails, idempotency, answer };
      await contention.track(commit(item));
    } catch (error) {
      // After any other failure it is unknown whether the rows were written.
      if (error instanceof Refusal) await removeFiles(world, emails);
      // Another node accepted the same key in the meantime: its answer is the answer.
      const stored = isUniqueViolation(error) ? await answered<Answer>(ctx, idempotency) : undefined;
      if (stored === undefined) throw error;
      return stored;
    }
    noteAccepted(world, ctx, emails, prepared);
    if (emails.some(({ email }) => email.scheduled_at === null)) onAccepted();
    return answer;
  }

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
    isContended: contention.isContended,
    acceptEmail: (ctx, input, idempotency) =>
      once(ctx, idempotency, () =>
        admit(ctx, [input], async () => {
          const prepared = await prepare(ctx)(input);
          const { attachments } = prepared.draft;
          // Files are written before the commit that would refuse them.
          if (attachments.length > 0) await mustBeWithinQuota(world, ctx.teamId, 1);
          await fetchAttachments(world, [prepared.draft], ctx.whenGone);
          return write(ctx, [prepared], { idempotency, answerOf: ([rows]) => ({ id: rows?.email.id ?? '' }) });
        }),
      ),
    ...acceptComposed(world, { sendingDomainOf, mustBeOn, once, write }),
    async mayBegin({ teamId }) {
      await mustBeOn();
      await mustBeWithinQuota(world, teamId, 1);
    },
    acceptBatch: (ctx, inputs, { permissive, idempotency }) =>
      once(ctx, idempotency, () =>
        admit(ctx, inputs, async () => {
          const steps = { prepare: prepare(ctx), inSlices };
          const { good, errors } = permissive
            ? await prepareGood(world, ctx, steps, inputs, permissive.refused)
            : await prepareAll(world, ctx, steps, inputs);
          const answerOf = (emails: AcceptedRows[]): SentBatch => ({
            data: emails.map(({ email }) => ({ id: email.id })),
            ...(errors ? { errors } : {}),
          });
          return write(ctx, good, { idempotency, answerOf });
        }),
      ),
  };
}

interface Steps {
  sendingDomainOf: (ctx: Ctx) => SendingDomainOf;
  mustBeOn(): Promise<void>;
  once: ReturnType<typeof createOnce>['once'];
  write(
    ctx: Ctx,
    prepared: Prepared[],
    options: { idempotency: Idempotency | undefined; answerOf: (rows: AcceptedRows[]) => SentEmail },
  ): Promise<SentEmail>;
}

/** Accepts messages that somebody else has composed: a client of SMTP submission, or the sender of what is forwarded. */
function acceptComposed(world: World, steps: Steps): Pick<Accept, 'acceptMessage' | 'acceptForward'> {
  const { sendingDomainOf, mustBeOn, once, write } = steps;
  const answerOf = ([rows]: AcceptedRows[]): SentEmail => ({ id: rows?.email.id ?? '' });
  return {
    async acceptMessage(ctx, spooled, envelope) {
      const { draft, message, idempotency } = await readSubmitted(spooled, envelope);
      return once(ctx, idempotency, async () => {
        await mustBeOn();
        const prepared = { draft, domain: await sendingDomainOf(ctx)(draft), templateId: null, message };
        if (envelope.asked) await mustBeNoticedAtHome(ctx, envelope.asked);
        return write(ctx, [prepared], { idempotency, answerOf });
      });
    },
    acceptForward(ctx, forward, key) {
      const idempotency = { key: `forward ${key}`, requestHash: hashRequest('forward', { key }) };
      return once(ctx, idempotency, async () => {
        await mustBeOn();
        return write(ctx, [await prepareForward(world, ctx, forward)], { idempotency, answerOf });
      });
    },
  };
}

const hasPath = (input: SendEmailRequest | undefined): boolean =>
  input?.attachments?.some(({ path }) => path !== undefined) ?? false;

function noteAccepted(world: World, { teamId }: Ctx, emails: AcceptedRows[], prepared: Prepared[]): void {
  for (const [i, { email }] of emails.entries()) {
    const recipients = prepared[i]?.draft.recipients.length ?? 0;
    world.mailLog.accepted({ emailId: email.id, teamId, recipients });
  }
}

/** Writes all files together: syncing one after the other takes many times longer. */
async function writeFiles(world: World, emails: AcceptedRows[]): Promise<void> {
  const files = emails.flatMap((email) => email.files);
  if (files.length > 0) await world.blobs.putAll(files);
}

async function removeFiles(world: World, emails: AcceptedRows[]): Promise<void> {
  for (const { hasFiles, email } of emails) if (hasFiles) await world.blobs.remove(email.id);
}
