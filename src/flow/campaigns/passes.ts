import type { World } from '../../platform/world/index.ts';
import type { Filter } from '../../protocol/contact-filter/index.ts';
import {
  beginBroadcast,
  beginPass,
  finishBroadcast,
  waitForPass,
  waitForStart,
  type BroadcastRow,
} from '../../resources/broadcasts/index.ts';
import { countMembers } from '../../resources/contacts/index.ts';
import { readLocalPass } from './local-hour.ts';
import type { Pass } from './pass.ts';

/** Where a broadcast stands: most are one pass. */
export async function readPass(world: World, broadcast: BroadcastRow, filter: Filter): Promise<Pass> {
  return (await readLocalPass(world, broadcast, filter)) ?? { at: null, filter, next: undefined };
}

interface Carried {
  broadcast: BroadcastRow;
  owner: string;
  pass: Pass;
}

/** Answers false where it was canceled meanwhile, or has nobody to go to yet. `filter` is that of the whole segment. */
export async function startPass(
  { db, clock }: World,
  { broadcast, owner, pass }: Carried,
  filter: Filter,
): Promise<boolean> {
  const { id, team_id: teamId, status, next_at: nextAt } = broadcast;
  if (status === 'sending') return nextAt === null || db.tx((tx) => beginPass(tx, { id, owner }));
  if (pass.at !== null && pass.at > clock.now()) {
    await waitForStart(db, { id, owner, nextAt: pass.at });
    return false;
  }
  const total = await countMembers(db, teamId, filter);
  return db.tx((tx) => beginBroadcast(tx, { id, owner, at: clock.now(), total, passAt: pass.at }));
}

/** Its last page is done: it waits for the next pass, or is sent. */
export async function endPass({ db, clock }: World, { broadcast: { id }, owner, pass }: Carried): Promise<void> {
  const now = clock.now();
  const { next } = pass;
  await db.tx((tx) =>
    next
      ? waitForPass(tx, { id, owner, passAt: next.at, nextAt: Math.max(next.dueAt, now) })
      : finishBroadcast(tx, { id, owner, at: now }),
  );
}
