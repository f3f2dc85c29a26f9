import type { Executor } from '../../platform/db/index.ts';
import { invalidFields, notFound, refuse, type FieldFault } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  cancelScheduled,
  findEmail,
  moveScheduled,
  readScheduledAt,
  recordEmailEvents,
  type EmailRow,
} from '../emails/index.ts';
import { hasDeliveries, moveUnclaimed, removeUnclaimed } from '../queue/index.ts';

/** Cancels a scheduled email, unless its dispatch has begun. */
export async function cancelEmail(ctx: Ctx, id: string) {
  return change(ctx, id, async (tx, email) => {
    await removeUnclaimed(tx, id);
    // Remaining deliveries have been claimed, and the claim came first.
    if (await hasDeliveries(tx, id)) return false;
    if (!(await cancelScheduled(tx, id))) return false;
    const at = ctx.store.clock.now();
    await recordEmailEvents(tx, ctx.store.ids, [{ email, type: 'email.canceled', at, isFirst: true }]);
    return true;
  });
}

/** Moves a scheduled email to another time, unless its dispatch has begun. */
export async function moveEmail(ctx: Ctx, id: string, input: { scheduled_at: string }) {
  const faults: FieldFault[] = [];
  const dueAt = readScheduledAt(input.scheduled_at, ctx.store.clock.now(), faults);
  if (dueAt === null) throw invalidFields(faults);
  return change(ctx, id, async (tx) => {
    const { moved, claimed } = await moveUnclaimed(tx, id, dueAt);
    return moved > 0 && claimed === 0 && (await moveScheduled(tx, id, dueAt));
  });
}

class TooLate extends Error {}

/**
 * Writes the queue rows first and the email second, in the order in which a claim locks them: the second of the two
 * transactions waits, sees that it came second, and changes nothing.
 */
async function change(ctx: Ctx, id: string, work: (tx: Executor, email: EmailRow) => Promise<boolean>) {
  const { db } = ctx.store;
  const email = await findEmail(db, ctx.teamId, id);
  if (!email) throw notFound('Email');
  try {
    if (email.last_event !== 'scheduled') throw new TooLate();
    await db.tx(async (tx) => {
      if (!(await work(tx, email))) throw new TooLate();
    });
  } catch (error) {
    if (!(error instanceof TooLate)) throw error;
    const state = (await findEmail(db, ctx.teamId, id))?.last_event ?? email.last_event;
    const now = state === 'scheduled' ? 'its dispatch has begun' : state;
    throw refuse('resource_locked', {
      say: `This email is no longer scheduled (${now}); only a scheduled email can be changed.`,
    });
  }
  return { object: 'email' as const, id };
}
