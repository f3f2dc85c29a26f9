import type { SentEmail } from '../../contract/index.ts';
import { NoSuchBlob } from '../../platform/blobs/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { linkFiles, placeInRows, putFiles, bytesWorth, rowsWorth } from '../contents/index.ts';
import { createContentionGauge, insertDeliveries } from '../queue/index.ts';
import {
  findCountedApp,
  uncountItems,
  refuseBeyondApps,
  refuseOverQuota,
  type CountedApp,
  type Counted,
} from './sending-limits.ts';
import { keepAnswers, type Idempotency, type createIdempotent } from './idempotency.ts';
import type { InSlices } from './loop-turns.ts';
import type { Prepared } from './prepare.ts';
import {
  rowsInSlices,
  rowsOfAll,
  sharedBodyRows,
  type AcceptedAs,
  type AcceptedRows,
  type NewSharedBody,
} from './accepted-rows.ts';
import { keepBodies } from './submitted-message.ts';
import type { Place } from '../../platform/limits/index.ts';
import { insertEmails, recordEmailEvents } from '../emails/index.ts';
import { insertSharedBodies, type SharedBodyRow } from '../shared-bodies/index.ts';

interface AcceptOptions<Answer> {
  as: AcceptedAs;
  /** A repeated request gets the response to the first. */
  idempotency: Idempotency | undefined;
  /** Bodies that some of the emails share, written in the same commit. */
  bodies?: readonly NewSharedBody[];
  toResponse(rows: AcceptedRows[]): Answer;
}

/**
 * Accepts sends that were checked, all of them or none, in a commit that they share with other requests. All mail is
 * accepted here or by `acceptWithin`, whether it arrives by HTTP, SMTP or a job.
 */
export type AcceptPrepared = <Answer>(
  ctx: Ctx,
  prepared: readonly Prepared[],
  options: AcceptOptions<Answer>,
) => Promise<Answer>;

interface AcceptWithRowsOptions {
  idempotency: Idempotency | undefined;
  /** Throws to have nothing written. */
  writeRows(tx: Executor, email: AcceptedRows['email']): Promise<unknown>;
}

/** Accepts one transactional mail, in a transaction of its own with the other rows that its sender writes. */
export type AcceptWithRows = (ctx: Ctx, prepared: Prepared, options: AcceptWithRowsOptions) => Promise<SentEmail>;

/** Thrown by `writeRows` if another request was first. */
export class Superseded extends Error {}

interface Parts {
  answered: ReturnType<typeof createIdempotent>['answered'];
  onAccepted(): void;
  inSlices: InSlices;
}

export function createAcceptPrepared(
  world: World,
  { answered, onAccepted, inSlices }: Parts,
): { acceptPrepared: AcceptPrepared; acceptWithRows: AcceptWithRows; isContended(): boolean } {
  const commit = world.commits.lane<Acceptance, void>((tx, items) => writeAccepted(world, tx, items), toPlace);
  const contention = createContentionGauge();

  return {
    isContended: contention.isContended,
    /** Files come before rows, so that no row ever names one that does not exist. */
    async acceptPrepared(ctx, prepared, { as, idempotency, bodies = [], toResponse }) {
      const emails = await rowsInSlices(world, ctx, prepared, { as, inSlices });
      const answer = toResponse(emails);
      if (emails.length === 0 && !idempotency) return answer;
      return writeOrAnswer(ctx, emails, { idempotency, answer }, async () => {
        const submitted = emails.map(({ email, contents }, at) => ({
          message: prepared[at]?.message,
          emailId: email.id,
          contents,
        }));
        await keepBodies(world, submitted);
        await writeFiles(world, emails);
        const shared = sharedBodyRows(bodies, emails);
        const item = { teamId: ctx.teamId, kind: as.kind, emails, bodies: shared, idempotency, answer };
        await contention.track(commit({ ...item, app: findCountedApp(ctx) }));
      });
    },
    async acceptWithRows(ctx, prepared, { idempotency, writeRows }) {
      const { teamId } = ctx;
      const kind = 'transactional';
      const emails = rowsOfAll(world, ctx, [prepared], { as: { kind } });
      const answer = { id: emails[0]?.email.id ?? '' };
      return writeOrAnswer(ctx, emails, { idempotency, answer }, async () => {
        await writeFiles(world, emails);
        await world.db.tx(async (tx) => {
          const app = findCountedApp(ctx);
          const item = { teamId, kind, emails, bodies: [], idempotency, answer, app } as const;
          const [refusal] = await writeAccepted(world, tx, [item]);
          if (refusal) throw refusal;
          for (const { email } of emails) await writeRows(tx, email);
        });
      });
    },
  };

  async function writeOrAnswer<Answer>(
    ctx: Ctx,
    emails: AcceptedRows[],
    { idempotency, answer }: { idempotency: Idempotency | undefined; answer: Answer },
    write: () => Promise<void>,
  ): Promise<Answer> {
    try {
      await write();
    } catch (error) {
      // After any other failure it is unknown whether the rows were written. Files are linked before rows are.
      const isKnown = error instanceof Refusal || error instanceof Superseded || error instanceof NoSuchBlob;
      if (isKnown) await removeFiles(world, emails);
      // Another node accepted the same key in the meantime: return the response that it stored.
      const stored = isUniqueViolation(error) ? await answered<Answer>(ctx, idempotency) : undefined;
      if (stored === undefined) throw error;
      return stored;
    }
    // A log line costs as much as a row.
    await inSlices(ctx.teamId, emails, (one) => logOne(world, ctx, one), true);
    if (emails.some(({ email }) => email.scheduled_at === null)) onAccepted();
    return answer;
  }
}

/**
 * Accepts sends in the caller's transaction, with whatever else it writes there: a page of a broadcast, the notice of
 * an outcome. Throws the refusal of a quota. The contents are stored in rows, because a transaction cannot wait for
 * files; the caller wakes the queue after its commit, and calls `logAccepted`.
 */
export async function acceptWithin(
  world: World,
  tx: Executor,
  ctx: Ctx,
  prepared: readonly Prepared[],
  as: AcceptedAs,
): Promise<AcceptedRows[]> {
  const emails = rowsOfAll(world, ctx, prepared, { as, place: placeInRows });
  const item: Acceptance = {
    teamId: ctx.teamId,
    kind: as.kind,
    emails,
    bodies: [],
    idempotency: undefined,
    answer: undefined,
    app: findCountedApp(ctx),
  };
  const [refusal] = await writeAccepted(world, tx, [item]);
  if (refusal) throw refusal;
  return emails;
}

export function logAccepted(world: World, ctx: Ctx, emails: readonly AcceptedRows[]): void {
  for (const one of emails) logOne(world, ctx, one);
}

function logOne(world: World, { requestId }: Ctx, { email, recipients }: AcceptedRows): void {
  world.mailLog.accepted({ emailId: email.id, teamId: email.team_id, recipients, requestId });
}

/**
 * Writes all files together, because syncing them one by one takes many times longer. Returns the rows that describe
 * the files, to be written in the same commit.
 */
async function writeFiles(world: World, emails: AcceptedRows[]): Promise<void> {
  const files = emails.flatMap((email) => email.files);
  const links = emails.flatMap((email) => email.links);
  const written = [...(await putFiles(world, files)), ...(await linkFiles(world, links))];
  if (written.length === 0) return;
  const byOwner = Map.groupBy(written, ({ owner_id: owner }) => owner);
  for (const { email, contents } of emails) contents.push(...(byOwner.get(email.id) ?? []));
}

async function removeFiles(world: World, emails: AcceptedRows[]): Promise<void> {
  for (const { hasFiles, email } of emails) if (hasFiles) await world.blobs.remove(email.id);
}

/** The emails that one request asks to have accepted: all of them or none. */
interface Acceptance extends Counted {
  emails: AcceptedRows[];
  /** Bodies that some of its emails share. */
  bodies: readonly SharedBodyRow[];
  idempotency: Idempotency | undefined;
  answer: unknown;
  /** The app that makes the request, if its sends are counted. */
  app?: CountedApp | undefined;
}

/** Estimates how many rows it writes: one email may go to fifty destinations. */
const rowsIn = ({ emails, bodies }: Acceptance): number =>
  emails.reduce(
    (sum, { deliveries, attachments, contents }) => sum + deliveries.length + attachments.length + rowsWorth(contents),
    bodies.reduce((sum, { html, text }) => sum + bytesWorth((html?.length ?? 0) + (text?.length ?? 0)), 0),
  );

/** Returns the place in the line: teams take turns, and a team's batches come after its single emails. */
const toPlace = (item: Acceptance): Place => ({
  tenant: item.teamId,
  weight: rowsIn(item),
  isLater: item.emails.length > 1,
});

/** Writes everything in the caller's transaction; returns a refusal for each request beyond its team's quota, or what its app may send a day. */
async function writeAccepted(world: World, tx: Executor, items: Acceptance[]): Promise<(undefined | Error)[]> {
  const now = world.clock.now();
  const refusals: Map<Acceptance, Error> = await refuseBeyondApps(tx, items, now);
  const within = refusals.size === 0 ? items : items.filter((item) => !refusals.has(item));
  const overQuota = await refuseOverQuota(world, tx, within, now);
  if (overQuota.size > 0) await uncountItems(tx, [...overQuota.keys()], now);
  for (const [item, refusal] of overQuota) refusals.set(item, refusal);
  const accepted = refusals.size === 0 ? items : items.filter((item) => !refusals.has(item));
  const answers = accepted.flatMap(({ teamId, idempotency, answer }) =>
    idempotency ? [{ teamId, idempotency, response: answer }] : [],
  );
  if (answers.length > 0) await keepAnswers(tx, answers, now);
  const emails = accepted.flatMap((item) => item.emails);
  const bodies = accepted.flatMap((item) => item.bodies);
  if (bodies.length > 0) await insertSharedBodies(tx, bodies);
  if (emails.length > 0) await writeEmails(world, tx, emails);
  return items.map((item) => refusals.get(item));
}

async function writeEmails(world: World, tx: Executor, emails: AcceptedRows[]): Promise<void> {
  await insertEmails(tx, emails);
  await insertDeliveries(
    tx,
    emails.flatMap((rows) => rows.deliveries),
  );
  await recordEmailEvents(
    tx,
    world.ids,
    emails.map(({ email }) => ({
      email,
      type: email.scheduled_at === null ? ('email.queued' as const) : ('email.scheduled' as const),
      at: email.created_at,
      isFirst: true,
    })),
  );
}
