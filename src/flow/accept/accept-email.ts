import { stopwatch } from '../../platform/clock/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { refuse, Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import {
  fetchAttachments,
  fetchAttachmentsOfEach,
  writeBlobs,
  type SendEmailInput,
} from '../../resources/emails/index.ts';
import { createSendSwitch } from '../../resources/instance/index.ts';
import { storedAnswer, type Idempotency } from './idempotency.ts';
import { createPrepare, type Prepared } from './prepare.ts';
import { rowsOf, type AcceptedRows } from './rows.ts';
import { writeAccepted, type Acceptance } from './write-accepted.ts';

export interface SentEmail {
  id: string;
}

export interface SentBatch {
  data: SentEmail[];
  /** Only where one bad email does not refuse the others. */
  errors?: BatchError[];
}

export interface BatchError {
  index: number;
  message: string;
}

export interface BatchOptions {
  /** One bad email refuses itself alone; `refused` are those whose fields were at fault already. */
  permissive?: { refused: BatchError[] };
  idempotency?: Idempotency | undefined;
}

export interface Accept {
  acceptEmail(ctx: Ctx, input: SendEmailInput, idempotency?: Idempotency): Promise<SentEmail>;
  /** All of them in one commit, in the order given; `inputs` has a gap where `refused` names an index. */
  acceptBatch(ctx: Ctx, inputs: (SendEmailInput | undefined)[], options: BatchOptions): Promise<SentBatch>;
  /** Whether callers wait in a crowd; delivery asks before each claim, and makes way for them. */
  isPressed(): boolean;
}

const CROWD = 12;
/** A crowd that was just served counts as one for a while: its next requests are on their way. */
const CROWD_MS = 250;

/** `onAccepted` is told after the commit that there is mail to deliver. */
export function createAccept(world: World, onAccepted: () => void): Accept {
  const commit = world.commits.lane<Acceptance, void>(
    (tx, items) => writeAccepted(world, tx, items),
    (item) => item.emails.length,
  );
  const prepare = createPrepare(world);
  const sendSwitch = createSendSwitch(world);
  const inFlight = new Set<string>();
  let waiting = 0;
  let sinceCrowdMs = (): number => Number.POSITIVE_INFINITY;

  async function prepareAll(ctx: Ctx, inputs: (SendEmailInput | undefined)[]): Promise<Prepared[]> {
    const all: Prepared[] = [];
    for (const [index, input] of inputs.entries()) {
      if (!input) continue;
      all.push(
        await prepare(ctx, input).catch((error: unknown) => {
          throw error instanceof Refusal ? atIndex(error, index) : error;
        }),
      );
    }
    const drafts = all.map(({ draft }) => draft);
    const faults = await fetchAttachmentsOfEach(world, drafts, { stopsAtFirst: true });
    for (const [index, fault] of faults.entries()) if (fault) throw atIndex(fault, index);
    return all;
  }

  /** The good ones, and what was wrong with each of the others. A trouble of ours is nobody's fault and stops them all. */
  async function prepareGood(
    ctx: Ctx,
    inputs: (SendEmailInput | undefined)[],
    refused: BatchError[],
  ): Promise<{ good: Prepared[]; errors: BatchError[] }> {
    const errors = [...refused];
    const read: { index: number; prepared: Prepared }[] = [];
    for (const [index, input] of inputs.entries()) {
      if (!input) continue;
      try {
        read.push({ index, prepared: await prepare(ctx, input) });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        errors.push({ index, message: error.message });
      }
    }
    const faults = await fetchAttachmentsOfEach(
      world,
      read.map(({ prepared }) => prepared.draft),
    );
    const good = read.filter(({ index }, i) => {
      const fault = faults[i];
      if (fault) errors.push({ index, message: fault.message });
      return !fault;
    });
    errors.sort((a, b) => a.index - b.index);
    return { good: good.map(({ prepared }) => prepared), errors };
  }

  /** Writes prepared sends in one commit; answers what an earlier request with the same key was answered, if there was one. */
  async function write<Answer>(
    ctx: Ctx,
    prepared: Prepared[],
    { idempotency, answerOf }: { idempotency: Idempotency | undefined; answerOf: (rows: AcceptedRows[]) => Answer },
  ): Promise<Answer> {
    const emails = prepared.map((one) => rowsOf(world, ctx, one));
    for (const [i, rows] of emails.entries()) {
      const attachmentIds = rows.attachments.map((row) => row.id);
      if (rows.hasBlobs && prepared[i]) await writeBlobs(world, rows.body, prepared[i].draft, attachmentIds);
    }
    const answer = answerOf(emails);
    if (emails.length === 0 && !idempotency) return answer;
    try {
      if (++waiting >= CROWD) sinceCrowdMs = stopwatch();
      const item: Acceptance = { teamId: ctx.teamId, kind: 'transactional', emails, idempotency, answer };
      await commit(item).finally(() => waiting--);
    } catch (error) {
      // Another node took the same key in the meantime: its answer is the answer.
      const stored = isUniqueViolation(error) ? await answered<Answer>(ctx, idempotency) : undefined;
      if (stored === undefined) throw error;
      return stored;
    }
    for (const [i, { email }] of emails.entries()) {
      const recipients = prepared[i]?.draft.recipients.length ?? 0;
      world.mailLog.accepted({ emailId: email.id, teamId: ctx.teamId, recipients });
    }
    if (emails.some(({ email }) => email.scheduled_at === null)) onAccepted();
    return answer;
  }

  const answered = <Answer>(ctx: Ctx, idempotency: Idempotency | undefined): Promise<Answer | undefined> =>
    idempotency
      ? storedAnswer<Answer>(world.db, ctx.teamId, idempotency, world.clock.now())
      : Promise.resolve(undefined);

  /** One request at a time for a key; a repeated one gets the first one's answer. */
  async function once<Answer>(
    ctx: Ctx,
    idempotency: Idempotency | undefined,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!idempotency) return work();
    const held = `${ctx.teamId} ${idempotency.key}`;
    if (inFlight.has(held)) {
      throw refuse('concurrent_idempotent_requests', {
        say: 'A request with this Idempotency-Key is still being processed; wait for its answer and try again.',
      });
    }
    inFlight.add(held);
    try {
      return (await answered<Answer>(ctx, idempotency)) ?? (await work());
    } finally {
      inFlight.delete(held);
    }
  }

  async function mustBeOn(): Promise<void> {
    const { isOn, reason } = await sendSwitch();
    if (isOn) return;
    const why = reason === null ? '' : ` (${reason})`;
    throw refuse('service_unavailable', {
      say: `Sending is switched off on this installation${why}; try again later.`,
    });
  }

  return {
    isPressed: () => sinceCrowdMs() < CROWD_MS,
    acceptEmail: (ctx, input, idempotency) =>
      once(ctx, idempotency, async () => {
        await mustBeOn();
        const prepared = await prepare(ctx, input);
        await fetchAttachments(world, [prepared.draft]);
        return write(ctx, [prepared], { idempotency, answerOf: ([rows]) => ({ id: rows?.email.id ?? '' }) });
      }),
    acceptBatch: (ctx, inputs, { permissive, idempotency }) =>
      once(ctx, idempotency, async () => {
        await mustBeOn();
        const { good, errors } = permissive
          ? await prepareGood(ctx, inputs, permissive.refused)
          : { good: await prepareAll(ctx, inputs), errors: undefined };
        const answerOf = (emails: AcceptedRows[]): SentBatch => ({
          data: emails.map(({ email }) => ({ id: email.id })),
          ...(errors ? { errors } : {}),
        });
        return write(ctx, good, { idempotency, answerOf });
      }),
  };
}

/** The same refusal, saying which email of the batch it is about. */
function atIndex(refusal: Refusal, index: number): Refusal {
  return refuse(refusal.errorName, {
    status: refusal.status,
    say: `Email ${index}: ${refusal.message}`,
    ...(refusal.errors
      ? { errors: refusal.errors.map(({ path, message }) => ({ path: `${index}.${path}`, message })) }
      : {}),
    ...(refusal.details ? { details: refusal.details } : {}),
  });
}
