import type { BodyOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { findTeam } from '../../tenancy/teams/index.ts';
import {
  findHoldOn,
  hasDeliveries,
  holdPage,
  holdsInForce,
  insertHold,
  lockHolds,
  removeHold,
  holdsWithDeliveries,
  type HoldRow,
  type Selection,
} from '../queue/index.ts';
import { freeBroadcastMail } from './broadcast-mail.ts';
import { readSelection } from './selection.ts';
import { wakeAll } from './wake-all.ts';

/** Every claim reads them all. */
const HOLDS_MAX = 1000;

export async function createHold({ store, actor }: OperatorCtx, input: BodyOf<'createQueueHold'>) {
  const selection = readSelection(input);
  return store.db.tx(async (tx) => {
    await lockHolds(tx);
    const known = await findHoldOn(tx, selection);
    if (known) return presentHold(known);
    if ((await holdsInForce(tx)).length >= HOLDS_MAX) {
      throw refuse('validation_error', {
        status: 422,
        say: `There are ${HOLDS_MAX} holds already; release one, or hold a team or a destination.`,
      });
    }
    if (!(await isThere(tx, selection))) {
      const what = selection.kind === 'team_id' ? 'no team has this id' : 'nothing of this email is in the queue';
      throw refuse('validation_error', { status: 422, say: `${selection.kind}: ${what}; got ${selection.value}.` });
    }
    const row: HoldRow = {
      ...{ id: store.ids.uuid(), ...selection, reason: input.reason.trim() },
      ...{ created_by: actor.name, created_at: store.clock.now() },
    };
    await insertHold(tx, row);
    return presentHold(row);
  });
}

/** A destination may be held before anything is sent there. */
async function isThere(tx: Parameters<typeof findTeam>[0], { kind, value }: Selection): Promise<boolean> {
  if (kind === 'team_id') return (await findTeam(tx, value)) !== undefined;
  return kind === 'destination' || (await hasDeliveries(tx, value));
}

export async function listHolds({ db }: Store, page: Page) {
  const { rows, hasMore } = await holdPage(db, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentHold) };
}

/** The hold goes first, so that what is given back is not held again. */
export async function releaseHold({ store }: OperatorCtx, id: string) {
  if (!(await store.db.tx((tx) => removeHold(tx, id)))) throw notFound('Hold');
  const deliveries = await wakeAll(store, id);
  return { object: 'queue_hold' as const, id, deleted: true as const, deliveries };
}

/** Gives back what rests for holds that are over: of a release that was killed, or a claim that was older than it. */
export async function releaseEndedHolds(store: World): Promise<number> {
  const resting = await holdsWithDeliveries(store.db);
  if (resting.length === 0) return 0;
  const inForce = new Set((await holdsInForce(store.db)).map((hold) => hold.id));
  let woken = 0;
  // What no hold of the queue keeps is kept by its broadcast, as long as that is held.
  for (const id of resting) if (!inForce.has(id)) woken += await freeBroadcastMail(store, id);
  return woken;
}

export const presentHold = (row: HoldRow) => ({
  object: 'queue_hold' as const,
  id: row.id,
  ...{ destination: null, team_id: null, email_id: null },
  [row.kind]: row.value,
  reason: row.reason,
  created_by: row.created_by,
  created_at: isoTime(row.created_at),
});
