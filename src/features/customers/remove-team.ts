import { nextTurn, stopwatch } from '../../platform/clock.ts';
import type { Executor, Row, Value } from '../../platform/db/index.ts';
import { eachLimit } from '../../platform/limits/index.ts';
import type { Store } from '../../platform/store.ts';
import { filesOfOwners } from '../../mail/contents/index.ts';
import { deleteDomain } from '../../mail/domains/index.ts';
import { audited } from '../../tenancy/audit/index.ts';
import { createCopyCheck } from '../../tenancy/instance/index.ts';
import { leaveTeam } from '../../tenancy/session-rows/index.ts';
import {
  beginDeletion,
  changeTeam,
  claimDeletion,
  dueDeletions,
  findTeam,
  finishDeletion,
  insertTeamPlan,
  noteRemoved,
  releaseDeletion,
  type DeletionRow,
} from '../../tenancy/teams/index.ts';
import { awaitsInvoice } from '../billing/index.ts';
import {
  countSetups,
  domainsOfTeam,
  findShape,
  hasDeliveries,
  hasSetup,
  lockUserInOtherTeam,
  loadShapes,
  membersToRemove,
  pickOwnedRows,
  removeIdleDeliveries,
  removeOwnedRows,
  removeRowsAmong,
  type Shapes,
} from './team-rows.store.ts';
import { BILLED_PATHS, listUnknownTables, pathsOn, PERSON_PATHS, TEAM_PATHS, type TeamPath } from './team-tables.ts';

/** Rows of a transaction. Mail that is accepted meanwhile waits for one of these, which takes a few milliseconds. */
const BATCH = 500;
/** Rows whose children are removed together. */
const PARENTS_A_BATCH = 100;
const BLOBS_AT_ONCE = 8;
const LEASE_MS = 60_000;
/** The job ends before its next run; other jobs of the node take turns with it. */
const RUN_MS = 20_000;
/** Longer than any program keeps a row in memory before it writes it. */
const SETTLING_MS = 60_000;
/** For so long the records of the team's domains are removed at their DNS providers; then they are forgotten. */
const DNS_MS = 7 * 24 * 3_600_000;

/** Numbers of removed rows by table; `accounts` and `files` count people and owners of files. */
export type RemovalCounts = Readonly<Record<string, number>>;

export type RemovalEnd =
  /** Nothing of the team is left but its name, its plans and its counts, which go once its open month is billed. */
  | { kind: 'removed'; counts: RemovalCounts }
  /** Something is not over yet; the service continues every minute. */
  | { kind: 'waiting'; reason: 'deliveries' | 'dns' | 'another_process' | 'time' };

/** The lease was lost, because another process took over. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

interface Removal {
  store: Store;
  deletion: DeletionRow;
  shapes: Shapes;
  paths: readonly TeamPath[];
  owner: string;
  counts: Record<string, number>;
  isOver(): boolean;
}

class OutOfTime extends Error {
  override readonly name = 'OutOfTime';
}

/** Removes the teams whose deletion is due, each on one node at a time, for a part of a minute. */
export async function removeDueTeams(store: Store, stopping?: AbortSignal): Promise<void> {
  // The files of an unconfirmed copy are also those of its original.
  if (await createCopyCheck(store)()) return;
  const elapsed = stopwatch();
  const isOver = (): boolean => stopping?.aborted === true || elapsed() > RUN_MS;
  for (const { team_id: teamId } of await dueDeletions(store.db, store.clock.now())) {
    if (isOver()) return;
    await removeTeam(store, teamId, isOver);
  }
}

/**
 * Removes everything of a team whose deletion is due, in small transactions that contain their progress: it may be
 * interrupted anywhere, and the next call continues.
 */
export async function removeTeam(store: Store, teamId: string, isOver = (): boolean => false): Promise<RemovalEnd> {
  const owner = store.ids.uuid();
  const now = store.clock.now();
  const deletion = await claimDeletion(store.db, teamId, { owner, now, until: now + LEASE_MS });
  if (!deletion) return { kind: 'waiting', reason: 'another_process' };
  const shapes = await loadShapes(store.db);
  const unknown = listUnknownTables([...shapes.values()]);
  if (unknown.length > 0) throw new Error(`nothing is known about the tables ${unknown.join(', ')}`);
  const { dialect } = store.db;
  const removal: Removal = {
    store,
    deletion,
    shapes,
    paths: pathsOn(dialect, [...TEAM_PATHS, ...PERSON_PATHS]),
    owner,
    counts: JSON.parse(deletion.removed) as Record<string, number>,
    isOver,
  };
  try {
    return await removeAll(removal);
  } catch (error) {
    if (error instanceof OutOfTime) return { kind: 'waiting', reason: 'time' };
    if (error instanceof LeaseLost) return { kind: 'waiting', reason: 'another_process' };
    throw error;
  } finally {
    await releaseDeletion(store.db, teamId, owner);
  }
}

async function removeAll(removal: Removal): Promise<RemovalEnd> {
  const { store, deletion, counts } = removal;
  if (deletion.removed_at === null) {
    await begin(removal);
    const waitsFor = await removeUntilNothingIsFound(removal);
    if (waitsFor !== undefined) return { kind: 'waiting', reason: waitsFor };
    await finish(removal);
    return { kind: 'removed', counts };
  }
  // Programs write some rows behind their answers, such as request logs: the last pass comes after them.
  const isSettled = store.clock.now() - deletion.removed_at >= SETTLING_MS;
  const at = deletion.started_at ?? deletion.removed_at;
  if (isSettled && !(await awaitsInvoice(store, deletion.team_id, at))) {
    await removeUntilNothingIsFound(removal);
    await removeBilled(removal);
  }
  return { kind: 'removed', counts };
}

/** Repeats until a pass finds nothing: something may be written until its writer notices that the team is gone. */
async function removeUntilNothingIsFound(removal: Removal): Promise<Pass['waitsFor']> {
  for (;;) {
    const { removed, waitsFor } = await removeOnce(removal);
    if (waitsFor !== undefined || removed === 0) return waitsFor;
  }
}

async function begin({ store, deletion }: Removal): Promise<void> {
  const { team_id: teamId } = deletion;
  const now = store.clock.now();
  await store.db.tx(async (tx) => {
    // A plan without a name has no price, so that days after this one cost nothing.
    if (await beginDeletion(tx, teamId, now))
      await insertTeamPlan(tx, { id: store.ids.uuid(), teamId, code: '', since: now });
    await leaveTeam(tx, teamId);
  });
}

interface Pass {
  removed: number;
  waitsFor?: 'deliveries' | 'dns';
}

async function removeOnce(removal: Removal): Promise<Pass> {
  const { deletion, paths } = removal;
  const before = total(removal);
  for (const path of paths.filter(({ parent }) => parent === undefined)) {
    // The report is the last entry of the team.
    if (path.table === 'audit_log' && deletion.removed_at !== null) continue;
    if (path.table === 'team_members') await removeMembers(removal);
    else if (path.table === 'domains') await removeDomains(removal);
    else if (path.table === 'dns_setups') await giveUpDns(removal);
    else if (path.table === 'deliveries') {
      if (!(await removeDeliveries(removal))) return { removed: total(removal) - before, waitsFor: 'deliveries' };
    } else await removeRows(removal, path, [`${path.prefix ?? ''}${deletion.team_id}`]);
  }
  const removed = total(removal) - before;
  return (await countSetups(removal.store.db, deletion.team_id)) > 0 ? { removed, waitsFor: 'dns' } : { removed };
}

const total = ({ counts }: Removal): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Removes all rows that these values own, and before each row everything below it. */
async function removeRows(removal: Removal, path: TeamPath, values: readonly Value[]): Promise<void> {
  const { store, shapes, paths } = removal;
  const shape = findShape(shapes, path.table);
  const owned = { path, shape, values };
  const below = paths.filter(({ parent }) => parent === path.table);
  if (below.length === 0) {
    while ((await change(removal, path.table, (tx) => removeOwnedRows(tx, owned, BATCH))) >= BATCH) await nextTurn();
    return;
  }
  const columns = [...new Set(['id', ...below.map(({ from = 'id' }) => from)])].filter((name) =>
    shape.columns.some((column) => column.name === name),
  );
  for (;;) {
    const rows = await pickOwnedRows(store.db, owned, { columns, limit: PARENTS_A_BATCH });
    if (rows.length === 0) return;
    const [key = 'id'] = columns;
    const keys = valuesIn(rows, key);
    if (path.files !== undefined) await removeFiles(removal, path, keys.map(String));
    await removeBelow(removal, below, rows);
    await change(removal, path.table, (tx) => removeRowsAmong(tx, owned, key, keys));
    await nextTurn();
  }
}

async function removeBelow(removal: Removal, below: readonly TeamPath[], rows: readonly Row[]): Promise<void> {
  for (const child of below) {
    if (child.isRemovedElsewhere) continue;
    const values = valuesIn(rows, child.from ?? 'id');
    if (values.length > 0) await removeRows(removal, child, values);
  }
}

const valuesIn = (rows: readonly Row[], column: string): Value[] => [
  ...new Set(rows.map((row) => row[column] ?? null).filter((value) => value !== null)),
];

/** Removes the files before the rows that name them, so that none is left if the process is killed in between. */
async function removeFiles({ store }: Removal, { files }: TeamPath, ids: readonly string[]): Promise<void> {
  const recorded = async () => [...new Set((await filesOfOwners(store.db, ids)).map((file) => file.owner_id))];
  const owners = files === 'recorded' ? await recorded() : ids;
  await eachLimit(owners, BLOBS_AT_ONCE, (owner) => store.blobs.remove(owner));
}

/** Runs one transaction of the removal of rows of a table, with its progress. */
async function change(removal: Removal, table: string, work: (tx: Executor) => Promise<number>): Promise<number> {
  const removed = await changeTables(removal, async (tx) => ({ [table]: await work(tx) }));
  return removed[table] ?? 0;
}

/** Runs one transaction of the removal, with its progress; `work` returns how many rows of each table it removed. */
async function changeTables(removal: Removal, work: (tx: Executor) => Promise<RemovalCounts>): Promise<RemovalCounts> {
  const { store, deletion, owner, counts } = removal;
  if (removal.isOver()) throw new OutOfTime('the removal continues with the next run');
  const removed = await store.db.tx(async (tx) => {
    const here = await work(tx);
    if (Object.values(here).every((count) => count === 0)) return {};
    const progress = { team_id: deletion.team_id, removed: JSON.stringify(addCounts(counts, here)) };
    const lease = { owner, until: store.clock.now() + LEASE_MS };
    if ((await noteRemoved(tx, progress, lease)) === 0) throw new LeaseLost('another process continues the removal');
    return here;
  });
  Object.assign(counts, addCounts(counts, removed));
  return removed;
}

function addCounts(counts: RemovalCounts, more: RemovalCounts): Record<string, number> {
  const sum: Record<string, number> = { ...counts };
  for (const [table, count] of Object.entries(more)) if (count > 0) sum[table] = (sum[table] ?? 0) + count;
  return sum;
}

/** Removes the members, and the accounts of those who are in no other team. */
async function removeMembers(removal: Removal): Promise<void> {
  const { store, deletion } = removal;
  for (;;) {
    const found = await membersToRemove(store.db, deletion.team_id, PARENTS_A_BATCH);
    if (found.length === 0) return;
    for (const member of found) {
      await changeTables(removal, (tx) => removeMember(tx, removal, member));
      await nextTurn();
    }
  }
}

/**
 * Removes a member in one transaction, in which nobody can add the person to a team: an account loses everything or
 * nothing.
 */
async function removeMember(
  tx: Executor,
  { deletion, shapes, paths }: Removal,
  { userId, emailKey }: { userId: string; emailKey: string },
): Promise<RemovalCounts> {
  const counts: Record<string, number> = {};
  const isAlone = !(await lockUserInOtherTeam(tx, userId, deletion.team_id));
  const owned = { path: findRoot(paths, 'team_members'), shape: findShape(shapes, 'team_members') };
  if (isAlone) {
    const user = { id: userId, email_key: emailKey };
    for (const path of paths.filter(({ parent }) => parent === 'users'))
      await removeWithin(tx, { shapes, paths, counts }, path, valuesIn([user], path.from ?? 'id'));
  }
  counts.team_members = await removeRowsAmong(tx, { ...owned, values: [deletion.team_id] }, 'user_id', [userId]);
  const users: TeamPath = { table: 'users', by: 'id' };
  if (isAlone) await removeWithin(tx, { shapes, paths: [], counts }, users, [userId]);
  return counts;
}

/** Removes the few rows that these values own, and everything below them, within a transaction. */
async function removeWithin(
  tx: Executor,
  removing: Pick<Removal, 'shapes' | 'paths' | 'counts'>,
  path: TeamPath,
  values: readonly Value[],
): Promise<void> {
  const { shapes, paths, counts } = removing;
  const owned = { path, shape: findShape(shapes, path.table), values };
  for (const child of paths.filter(({ parent }) => parent === path.table)) {
    const from = child.from ?? 'id';
    const rows = await pickOwnedRows(tx, owned, { columns: [from], limit: Number.MAX_SAFE_INTEGER });
    if (rows.length > 0) await removeWithin(tx, removing, child, valuesIn(rows, from));
  }
  counts[path.table] = (counts[path.table] ?? 0) + (await removeOwnedRows(tx, owned, Number.MAX_SAFE_INTEGER));
}

function findRoot(paths: readonly TeamPath[], table: string): TeamPath {
  const path = paths.find((one) => one.table === table && one.parent === undefined);
  if (!path) throw new Error(`no path leads from a team to ${table}`);
  return path;
}

/** Removes the domains like a call of the API: policies are withdrawn, and published records removed. */
async function removeDomains(removal: Removal): Promise<void> {
  const { store, deletion, paths, shapes } = removal;
  const { team_id: teamId } = deletion;
  const below = paths.filter(({ parent }) => parent === 'domains');
  const published: TeamPath = { table: 'dns_published', by: 'domain_id' };
  const ctx = { store, teamId, actor: { kind: 'job' as const, name: 'delete-teams' }, requestId: store.ids.uuid() };
  for (;;) {
    const domains = await domainsOfTeam(store.db, teamId, PARENTS_A_BATCH);
    if (domains.length === 0) return;
    await removeBelow(removal, below, domains);
    for (const { id } of domains) {
      if (removal.isOver()) throw new OutOfTime('the removal continues with the next run');
      // Nobody can remove these records any more: the token that published them was not kept.
      const stranded = { path: published, shape: findShape(shapes, 'dns_published'), values: [id] };
      if (!(await hasSetup(store.db, id)))
        await change(removal, 'dns_published', (tx) => removeOwnedRows(tx, stranded, BATCH));
      await deleteDomain(ctx, id);
      removal.counts.domains = (removal.counts.domains ?? 0) + 1;
    }
  }
}

/** Forgets what is published at DNS providers that do not accept its removal for days. */
async function giveUpDns(removal: Removal): Promise<void> {
  const { store, deletion, paths } = removal;
  if (store.clock.now() - (deletion.started_at ?? store.clock.now()) < DNS_MS) return;
  await removeRows(removal, findRoot(paths, 'dns_setups'), [deletion.team_id]);
}

/** Removes what waits in the queue; returns whether nothing of the team is being delivered any more. */
async function removeDeliveries(removal: Removal): Promise<boolean> {
  const { store, deletion } = removal;
  const { team_id: teamId } = deletion;
  const remove = (tx: Executor) => removeIdleDeliveries(tx, teamId, store.clock.now(), BATCH);
  while ((await change(removal, 'deliveries', remove)) >= BATCH) await nextTurn();
  return !(await hasDeliveries(store.db, teamId));
}

/** Writes the report to the audit log, and frees the name of the team. */
async function finish({ store, deletion, counts }: Removal): Promise<void> {
  const { team_id: teamId, reason, requested_by: requestedBy } = deletion;
  const team = await findTeam(store.db, teamId);
  const details = { name: team?.name, slug: team?.slug, reason, removed: counts };
  const { store: watched } = audited(store, {
    action: 'team.deleted',
    team_id: teamId,
    subject_id: teamId,
    details: JSON.stringify(details),
    actor_kind: requestedBy === null ? 'system' : 'command',
    actor_id: null,
    actor_name: requestedBy ?? 'delete-teams',
    address: null,
    user_agent: null,
    request_id: null,
  });
  await watched.db.tx(async (tx) => {
    await finishDeletion(tx, teamId, store.clock.now());
    await changeTeam(tx, teamId, {
      slug: `deleted-${teamId}`,
      admin_emails: null,
      sender_name: null,
      postal_address: null,
      risk_reason: null,
      logo_url: null,
      page_headline: null,
      page_intro: null,
      page_goodbye: null,
      marketing_cap: null,
      archive_enabled: 0,
      archive_indexed: 0,
      archive_token: null,
    });
  });
}

async function removeBilled(removal: Removal): Promise<void> {
  const { store, deletion, shapes } = removal;
  const values = [deletion.team_id];
  // The rows are few: some for each day of a year.
  await store.db.tx(async (tx) => {
    for (const path of BILLED_PATHS) {
      const owned = { path, shape: findShape(shapes, path.table), values };
      while ((await removeOwnedRows(tx, owned, BATCH)) >= BATCH);
    }
  });
}
