import { stopwatch } from '../../platform/clock/index.ts';
import { recordEvents } from '../../events/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { findDomain, findDomainByName, type DomainRow } from '../../resources/domains/index.ts';
import {
  insertEmails,
  readEmail,
  writeBlobs,
  type EmailDraft,
  type SendEmailInput,
} from '../../resources/emails/index.ts';
import { insertDeliveries } from '../queue/index.ts';
import { keepAnswers, storedAnswer, type Idempotency } from './idempotency.ts';
import { rowsOf, type AcceptedRows } from './rows.ts';
import { mayLeaveSandbox } from './sandbox.ts';

export interface Accept {
  acceptEmail(ctx: Ctx, input: SendEmailInput, idempotency?: Idempotency): Promise<{ id: string }>;
  /** Whether callers wait in a crowd; delivery asks before each claim, and makes way for them. */
  isPressed(): boolean;
}

const CROWD = 12;
/** A crowd that was just served counts as one for a while: its next requests are on their way. */
const CROWD_MS = 250;

interface Item {
  teamId: string;
  rows: AcceptedRows;
  idempotency: Idempotency | undefined;
}

/** `onAccepted` is told after the commit that there is mail to deliver. */
export function createAccept(world: World, onAccepted: () => void): Accept {
  const commit = world.commits.lane<Item, { id: string }>(async (tx, items) => {
    await writeItems(world, tx, items);
    return items.map((item) => ({ id: item.rows.email.id }));
  });
  const findSendingDomain = world.db.memo(['domains'], (key) => {
    const [teamId = '', name = ''] = key.split(' ');
    return findDomainByName(world.db, teamId, name);
  });
  const inFlight = new Set<string>();
  let waiting = 0;
  let sinceCrowdMs = (): number => Number.POSITIVE_INFINITY;

  async function accept(
    ctx: Ctx,
    input: SendEmailInput,
    idempotency: Idempotency | undefined,
  ): Promise<{ id: string }> {
    if (idempotency) {
      const stored = await storedAnswer<{ id: string }>(world.db, ctx.teamId, idempotency, world.clock.now());
      if (stored) return stored;
    }
    const draft = readEmail(input, world.clock.now());
    const named = await findSendingDomain(`${ctx.teamId} ${draft.from.domain}`);
    const domain = await mayBeSentFrom(ctx, draft, named);
    await mayLeaveSandbox(ctx, draft, domain);
    const rows = rowsOf(world, ctx, draft, domain);
    if (rows.hasBlobs)
      await writeBlobs(
        world,
        rows.body,
        draft,
        rows.attachments.map((row) => row.id),
      );
    let accepted: { id: string };
    try {
      if (++waiting >= CROWD) sinceCrowdMs = stopwatch();
      accepted = await commit({ teamId: ctx.teamId, rows, idempotency }).finally(() => waiting--);
    } catch (error) {
      // Another node took the same key in the meantime: its answer is the answer.
      const stored =
        idempotency && isUniqueViolation(error)
          ? await storedAnswer<{ id: string }>(world.db, ctx.teamId, idempotency, world.clock.now())
          : undefined;
      if (!stored) throw error;
      accepted = stored;
    }
    world.mailLog.accepted({ emailId: accepted.id, teamId: ctx.teamId, recipients: draft.recipients.length });
    if (draft.scheduledAt === null) onAccepted();
    return accepted;
  }

  return {
    isPressed: () => sinceCrowdMs() < CROWD_MS,
    async acceptEmail(ctx, input, idempotency) {
      if (!idempotency) return accept(ctx, input, undefined);
      const held = `${ctx.teamId} ${idempotency.key}`;
      if (inFlight.has(held)) {
        throw refuse('concurrent_idempotent_requests', {
          say: 'A request with this Idempotency-Key is still being processed; wait for its answer and try again.',
        });
      }
      inFlight.add(held);
      try {
        return await accept(ctx, input, idempotency);
      } finally {
        inFlight.delete(held);
      }
    },
  };
}

async function writeItems(world: World, tx: Executor, items: Item[]): Promise<void> {
  const now = world.clock.now();
  const keyed = items.flatMap(({ teamId, idempotency, rows }) =>
    idempotency ? [{ teamId, idempotency, response: { id: rows.email.id } }] : [],
  );
  if (keyed.length > 0) await keepAnswers(tx, keyed, now);
  await insertEmails(
    tx,
    items.map((item) => item.rows),
  );
  await insertDeliveries(
    tx,
    items.flatMap((item) => item.rows.deliveries),
  );
  await recordEvents(
    tx,
    world.ids,
    items.map(({ teamId, rows }) => ({
      teamId,
      type: rows.email.scheduled_at === null ? 'email.queued' : 'email.scheduled',
      subjectId: rows.email.id,
      at: rows.email.created_at,
    })),
  );
}

/** A verified domain does not verify its subdomains: the name must be the very one. */
async function mayBeSentFrom(ctx: Ctx, draft: EmailDraft, domain: DomainRow | undefined): Promise<DomainRow> {
  const { db } = ctx.world;
  const name = draft.from.domain;
  const pinned = ctx.actor.kind === 'api_key' ? ctx.actor.domainId : null;
  if (pinned !== null && pinned !== domain?.id) {
    const allowed = await findDomain(db, ctx.teamId, pinned);
    throw refuse('validation_error', {
      status: 403,
      say: allowed
        ? `This API key may only send from ${allowed.name}; from is on ${name}.`
        : 'This API key is pinned to a domain that has been deleted; use another key.',
    });
  }
  if (domain?.status === 'verified') return domain;
  throw refuse('validation_error', {
    status: 403,
    say: `The domain ${name} is not verified for this team; verify it before sending from it.`,
  });
}
