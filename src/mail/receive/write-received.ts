import { recordEvents, type NewEvent } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { rowsWorth } from '../contents/index.ts';
import { insertReceived, receivedBefore, type NewReceivedEmail } from '../received-emails/index.ts';
import { addStorage, countUsage, lockStorage, planOf } from '../../tenancy/usage/index.ts';
import { putIntoThreads, type ForInboxes, type StoredForInboxes } from './into-threads.ts';
import { droppedRows, receivedData } from './received-rows.ts';

/** The result of writing a message for one team. */
export interface Written {
  id: string;
  /** Whether its files are needed: not when it was dropped, and not when it is a repeat. */
  isKept: boolean;
}

/** Writes messages that arrived together, each with all its teams, in one shared commit. */
export function createWriteReceived(world: World): (message: OfAllTeams) => Promise<Written[]> {
  return world.commits.lane<OfAllTeams, Written[]>(
    async (tx, messages) => writeAll(world, tx, messages),
    ({ teams }) => ({ weight: teams.reduce((sum, { contents }) => sum + 1 + rowsWorth(contents), 0) }),
  );
}

/** A message as each of its teams stores it. */
interface OfAllTeams {
  teams: NewReceivedEmail[];
  about: ForInboxes;
}

async function writeAll(world: World, tx: Executor, messages: OfAllTeams[]): Promise<Written[][]> {
  const all = messages.flatMap(({ teams }) => teams);
  const aboutOf = new Map(messages.flatMap(({ teams, about }) => teams.map((one) => [one, about] as const)));
  const known = await receivedBefore(tx, all.flatMap(keyOf));
  const written = new Map<NewReceivedEmail, Written>();
  const news: NewReceivedEmail[] = [];
  for (const one of all) {
    const [key] = keyOf(one);
    const name = key && `${key.teamId} ${key.fingerprint}`;
    const before = name === undefined ? undefined : known.get(name);
    if (before !== undefined) {
      written.set(one, { id: before, isKept: false });
      continue;
    }
    if (name !== undefined) known.set(name, one.email.id);
    news.push(one);
  }
  const admitted: NewReceivedEmail[] = [];
  const stored: StoredForInboxes[] = [];
  const teams = Map.groupBy(news, ({ email }) => email.team_id);
  // Sorted, so that two nodes lock the same teams in the same order and cannot deadlock.
  for (const [teamId, theirs] of [...teams].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [one, rows] of await admit(world, tx, teamId, theirs)) {
      admitted.push(rows);
      const about = aboutOf.get(one);
      if (about) stored.push({ rows, about });
      written.set(one, { id: rows.email.id, isKept: rows === one });
    }
  }
  await insertReceived(tx, admitted);
  await recordEvents(
    tx,
    world.ids,
    admitted.map((rows): NewEvent => {
      const { id, team_id: teamId, created_at: at } = rows.email;
      return { teamId, subjectId: id, at, type: 'email.received', data: receivedData(rows) };
    }),
  );
  await putIntoThreads(world, tx, stored);
  return messages.map((message) => message.teams.map((one) => written.get(one) ?? { id: one.email.id, isKept: false }));
}

function keyOf({ email }: NewReceivedEmail): { teamId: string; fingerprint: string }[] {
  return email.fingerprint === null ? [] : [{ teamId: email.team_id, fingerprint: email.fingerprint }];
}

/** Counts a team's messages against its plan, in the order in which they came; those beyond it lose their content. */
async function admit(
  world: World,
  tx: Executor,
  teamId: string,
  messages: readonly NewReceivedEmail[],
): Promise<Map<NewReceivedEmail, NewReceivedEmail>> {
  const plan = await planOf(world, tx, teamId);
  const at = world.clock.now();
  const { daily } = await countUsage(tx, { teamId, kind: 'received', at, count: messages.length });
  const held = await lockStorage(tx, teamId);
  const limit = plan.received_storage_mb * 1024 * 1024;
  const admitted = new Map<NewReceivedEmail, NewReceivedEmail>();
  let [rank, added] = [daily - messages.length, 0];
  for (const one of messages) {
    rank++;
    const isOverCap = plan.received_daily_cap !== null && rank > plan.received_daily_cap;
    const isFull = held + added + one.email.stored_bytes > limit;
    const reason = isOverCap ? 'daily_cap' : isFull ? 'storage_quota' : null;
    // A message that was dropped already keeps its reason.
    const isDropped = one.email.stored_bytes === 0 && one.email.dropped_reason !== null;
    const rows = reason === null || isDropped ? one : droppedRows(one, reason);
    added += rows.email.stored_bytes;
    admitted.set(one, rows);
  }
  if (added > 0) await addStorage(tx, teamId, added);
  return admitted;
}
