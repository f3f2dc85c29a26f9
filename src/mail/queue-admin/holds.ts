import type { Executor } from '../../platform/db/index.ts';
import { defineHook } from '../../platform/hook.ts';
import type { BodyOf } from '../../contract/index.ts';
import { isoTime, nextTurn } from '../../platform/clock.ts';
import type { Page, Db } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { World } from '../../platform/world.ts';
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
  takeUntouched,
  untouchedOfBroadcast,
  releaseHeld,
  type HoldRow,
  type Selection,
} from '../queue/index.ts';
import { settleDropped } from '../settle/index.ts';
import { domainToASCII } from 'node:url';

const WOKEN_AT_ONCE = 500;

/** Makes the deliveries that a hold keeps due; returns how many there are. */
async function wakeAll({ db, clock }: { db: Db } & Pick<Store, 'clock'>, holdId: string): Promise<number> {
  let woken = 0;
  for (;;) {
    const some = await db.tx((tx) => releaseHeld(tx, holdId, clock.now(), WOKEN_AT_ONCE));
    woken += some;
    if (some < WOKEN_AT_ONCE) return woken;
    await nextTurn();
  }
}

const DROPPED_AT_ONCE = 200;

/** Finds the hold of a broadcast on its mail, and whether the broadcast was canceled since. */
export const findBroadcastHold =
  defineHook<(db: Executor, broadcastId: string) => Promise<{ is_canceled: number } | undefined>>('findBroadcastHold');

/** Releases the mail that a broadcast keeps after a resume, or drops it from the queue after a cancel. */
export async function freeBroadcastMail(world: World, broadcastId: string): Promise<number> {
  const hold = await findBroadcastHold.call(world.db, broadcastId);
  if (!hold) return wakeAll(world, broadcastId);
  return hold.is_canceled === 1 ? dropBroadcastMail(world, broadcastId) : 0;
}

/** Drops deliveries that have not begun: removes their rows and records their failure, in one transaction. */
async function dropBroadcastMail(world: World, broadcastId: string): Promise<number> {
  let dropped = 0;
  for (;;) {
    const { count, logLines } = await world.db.tx(async (tx) => {
      const rows = await takeUntouched(tx, await untouchedOfBroadcast(tx, broadcastId, DROPPED_AT_ONCE));
      return { count: rows.length, logLines: await settleDropped(world, tx, rows, { reason: 'broadcast_canceled' }) };
    });
    for (const say of logLines) say(world.mailLog);
    dropped += count;
    if (count < DROPPED_AT_ONCE) return dropped;
    await nextTurn();
  }
}

/** Maximum number of holds, which every claim reads. */
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
        say: `There are already ${HOLDS_MAX} holds; release one, or hold a team or a destination.`,
      });
    }
    if (!(await isThere(tx, selection))) {
      const what = selection.kind === 'team_id' ? 'no team has this id' : 'this email has no deliveries in the queue';
      throw refuse('validation_error', { status: 422, say: `${selection.kind}: ${what}; got ${selection.value}.` });
    }
    const row: HoldRow = {
      id: store.ids.uuid(),
      ...selection,
      reason: input.reason.trim(),
      created_by: actor.name,
      created_at: store.clock.now(),
    };
    await insertHold(tx, row);
    return presentHold(row);
  });
}

/** Reports whether the target of a hold exists. A destination may be held before anything is sent there. */
async function isThere(tx: Parameters<typeof findTeam>[0], { kind, value }: Selection): Promise<boolean> {
  if (kind === 'team_id') return (await findTeam(tx, value)) !== undefined;
  return kind === 'destination' || (await hasDeliveries(tx, value));
}

export async function listHolds({ db }: Store, page: Page) {
  const { rows, hasMore } = await holdPage(db, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentHold) };
}

/** Removes a hold and releases its deliveries. The hold goes first, so that a released delivery is not held again. */
export async function releaseHold({ store }: OperatorCtx, id: string) {
  if (!(await store.db.tx((tx) => removeHold(tx, id)))) throw notFound('Hold');
  const deliveries = await wakeAll(store, id);
  return { object: 'queue_hold' as const, id, deleted: true as const, deliveries };
}

/**
 * Releases deliveries kept for holds that are over: because a release was killed, or a claim began before the release.
 */
export async function releaseEndedHolds(store: World): Promise<number> {
  const resting = await holdsWithDeliveries(store.db);
  if (resting.length === 0) return 0;
  const inForce = new Set((await holdsInForce(store.db)).map((hold) => hold.id));
  let woken = 0;
  // Deliveries that no hold of the queue keeps are kept by their broadcast, as long as that is on hold.
  for (const id of resting) if (!inForce.has(id)) woken += await freeBroadcastMail(store, id);
  return woken;
}

export const presentHold = (row: HoldRow) => ({
  object: 'queue_hold' as const,
  id: row.id,
  destination: null,
  team_id: null,
  email_id: null,
  [row.kind]: row.value,
  reason: row.reason,
  created_by: row.created_by,
  created_at: isoTime(row.created_at),
});

interface SelectionInput {
  destination?: string | undefined;
  team_id?: string | undefined;
  email_id?: string | undefined;
}

/** Reads a selection, exactly one, so that an operator drops no more than intended. */
export function readSelection({ destination, team_id: team, email_id: email }: SelectionInput): Selection {
  const named: Selection[] = [
    ...(destination === undefined ? [] : [{ kind: 'destination' as const, value: asStored(destination) }]),
    ...(team === undefined ? [] : [{ kind: 'team_id' as const, value: team.toLowerCase() }]),
    ...(email === undefined ? [] : [{ kind: 'email_id' as const, value: email.toLowerCase() }]),
  ];
  const [selection] = named;
  if (selection && named.length === 1) return selection;
  throw refuse('validation_error', {
    status: 422,
    say: `Send exactly one of destination, team_id and email_id; got ${named.length === 0 ? 'none' : named.map(({ kind }) => kind).join(' and ')}.`,
  });
}

/** Reads the selection of a retry, which may take everything: what was due too early only waits again. */
export function readRetrySelection({ all, ...input }: SelectionInput & { all?: true | undefined }): Selection | 'all' {
  const isNamed = Object.values(input).some((value) => value !== undefined);
  if (all && !isNamed) return 'all';
  if (!all && isNamed) return readSelection(input);
  throw refuse('validation_error', {
    status: 422,
    say: `Send exactly one of destination, team_id, email_id and all; got ${all ? 'all and another' : 'none'}.`,
  });
}

/** Returns the stored form of a domain: lower case and ASCII. Text that is not a domain matches no destination. */
export const asStored = (destination: string): string => domainToASCII(destination) || destination.toLowerCase();
