import { stopwatch } from '../../platform/clock/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { refuse, Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { blobsOf, fetchAttachments, type SendEmailInput } from '../../resources/emails/index.ts';
import { createSendSwitch } from '../../resources/instance/index.ts';
import { storedAnswer, type Idempotency } from './idempotency.ts';
import { prepareAll, prepareGood, type BatchError } from './prepare-batch.ts';
import { createPrepare, type Prepared } from './prepare.ts';
import { mustHaveRoom } from './quota.ts';
import { rowsOf, type AcceptedRows } from './rows.ts';
import { createWaitingLines } from './waiting-lines.ts';
import { rowsIn, writeAccepted, type Acceptance } from './write-accepted.ts';

export interface SentEmail {
  id: string;
}

export interface SentBatch {
  data: SentEmail[];
  /** Only where one bad email does not refuse the others. */
  errors?: BatchError[];
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
/** Of requests of one team that become much larger than they came; each that waits holds its body. */
const GROWING = { atOnce: 2, waitingMax: 20 };

/** `onAccepted` is told after the commit that there is mail to deliver. */
export function createAccept(world: World, onAccepted: () => void): Accept {
  const commit = world.commits.lane<Acceptance, void>((tx, items) => writeAccepted(world, tx, items), rowsIn);
  const prepare = createPrepare(world);
  const sendSwitch = createSendSwitch(world);
  const inTurn = createWaitingLines(GROWING);
  const inFlight = new Set<string>();
  let waiting = 0;
  let sinceCrowdMs = (): number => Number.POSITIVE_INFINITY;

  /** Writes prepared sends in one commit. Blobs come first, so that no row ever names one that is not there. */
  async function write<Answer>(
    ctx: Ctx,
    prepared: Prepared[],
    { idempotency, answerOf }: { idempotency: Idempotency | undefined; answerOf: (rows: AcceptedRows[]) => Answer },
  ): Promise<Answer> {
    const emails = prepared.map((one) => rowsOf(world, ctx, one));
    const answer = answerOf(emails);
    if (emails.length === 0 && !idempotency) return answer;
    try {
      await writeAllBlobs(world, prepared, emails);
      if (++waiting >= CROWD) sinceCrowdMs = stopwatch();
      const item: Acceptance = { teamId: ctx.teamId, kind: 'transactional', emails, idempotency, answer };
      await commit(item).finally(() => waiting--);
    } catch (error) {
      // Of any other failure nobody knows whether the rows stand.
      if (error instanceof Refusal) await removeBlobs(world, emails);
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

  /** Refuses what cannot be accepted whatever it says; what is dear to read waits for its turn. */
  async function admit<Answer>(
    ctx: Ctx,
    inputs: (SendEmailInput | undefined)[],
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const { isOn, reason } = await sendSwitch();
    if (!isOn) {
      const why = reason === null ? '' : ` (${reason})`;
      throw refuse('service_unavailable', {
        say: `Sending is switched off on this installation${why}; try again later.`,
      });
    }
    const isGrowing = inputs.some((input) => (input?.template && inputs.length > 1) || hasPath(input));
    if (!isGrowing) return work();
    return inTurn(ctx.teamId, work, ctx.whenGone?.());
  }

  return {
    isPressed: () => sinceCrowdMs() < CROWD_MS,
    acceptEmail: (ctx, input, idempotency) =>
      once(ctx, idempotency, () =>
        admit(ctx, [input], async () => {
          const prepared = await prepare(ctx)(input);
          const { attachments } = prepared.draft;
          // Files are written before the commit that would refuse them.
          if (attachments.length > 0) await mustHaveRoom(world, ctx.teamId, 1);
          await fetchAttachments(world, [prepared.draft], ctx.whenGone);
          return write(ctx, [prepared], { idempotency, answerOf: ([rows]) => ({ id: rows?.email.id ?? '' }) });
        }),
      ),
    acceptBatch: (ctx, inputs, { permissive, idempotency }) =>
      once(ctx, idempotency, () =>
        admit(ctx, inputs, async () => {
          const { good, errors } = permissive
            ? await prepareGood(ctx, prepare(ctx), inputs, permissive.refused)
            : await prepareAll(ctx, prepare(ctx), inputs);
          const answerOf = (emails: AcceptedRows[]): SentBatch => ({
            data: emails.map(({ email }) => ({ id: email.id })),
            ...(errors ? { errors } : {}),
          });
          return write(ctx, good, { idempotency, answerOf });
        }),
      ),
  };
}

const hasPath = (input: SendEmailInput | undefined): boolean =>
  input?.attachments?.some(({ path }) => path !== undefined) ?? false;

/** All of them together: to sync files one after the other takes many times longer. */
async function writeAllBlobs(world: World, prepared: Prepared[], emails: AcceptedRows[]): Promise<void> {
  const files = emails.flatMap(({ hasBlobs, body, attachments }, i) => {
    const draft = prepared[i]?.draft;
    return hasBlobs && draft ? blobsOf(body, draft, attachments) : [];
  });
  if (files.length > 0) await world.blobs.putAll(files);
}

async function removeBlobs(world: World, emails: AcceptedRows[]): Promise<void> {
  for (const { hasBlobs, email } of emails) if (hasBlobs) await world.blobs.remove(email.id);
}
