import type { World } from '../../../platform/world/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { hasGrown } from '../../identity/approvals/index.ts';
import {
  beginBroadcast,
  beginPass,
  finishBroadcast,
  waitForPass,
  waitForStart,
  type BroadcastRow,
} from '../broadcasts/index.ts';
import { countAudience } from '../../audience/contacts/index.ts';
import { readLocalPass } from './local-hour.ts';
import type { Pass } from './pass.ts';
import { AudienceGrown } from './send-page.ts';
import { decideSubject, endTest, isTesting } from './subjects.ts';

/** Where a broadcast stands: most are one pass. */
export async function readPass(world: World, broadcast: BroadcastRow, filter: Filter): Promise<Pass> {
  const rest = { at: broadcast.ab_decides_at, filter, next: undefined };
  return (await readLocalPass(world, broadcast, filter)) ?? rest;
}

interface Carried {
  broadcast: BroadcastRow;
  owner: string;
  pass: Pass;
}

/** Answers the broadcast as it goes on; undefined where it was canceled meanwhile, or has no contacts to go to yet. Throws that the audience of an approved one has grown. `filter` is that of the whole segment. */
export async function startPass(
  world: World,
  { broadcast, owner, pass }: Carried,
  filter: Filter,
): Promise<BroadcastRow | undefined> {
  const { db, clock } = world;
  const { id, team_id: teamId, status, next_at: nextAt } = broadcast;
  if (status === 'sending') {
    if (nextAt === null) return broadcast;
    if (isTesting(broadcast)) return decideSubject(world, broadcast, owner);
    return (await db.tx((tx) => beginPass(tx, { id, owner }))) ? broadcast : undefined;
  }
  if (pass.at !== null && pass.at > clock.now()) {
    await waitForStart(db, { id, owner, nextAt: pass.at });
    return undefined;
  }
  const { contacts, unsubscribed } = await countAudience(db, teamId, filter);
  const subscribed = contacts - unsubscribed;
  if (hasGrown(broadcast.approved_contacts, subscribed)) throw new AudienceGrown(subscribed);
  const at = clock.now();
  const begun = await db.tx((tx) => beginBroadcast(tx, { id, owner, at, total: contacts, passAt: pass.at }));
  return begun ? broadcast : undefined;
}

/** Its last page is done: it waits for the next pass, or is sent. */
export async function endPass(world: World, { broadcast, owner, pass }: Carried): Promise<void> {
  if (isTesting(broadcast)) return endTest(world, broadcast, owner);
  const { db, clock } = world;
  const { id } = broadcast;
  const now = clock.now();
  const { next } = pass;
  await db.tx((tx) =>
    next
      ? waitForPass(tx, { id, owner, passAt: next.at, nextAt: Math.max(next.dueAt, now) })
      : finishBroadcast(tx, { id, owner, at: now }),
  );
}
