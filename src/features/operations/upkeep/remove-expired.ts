import { removeEventsOf, removeOtherEvents } from '../../../mail/events/index.ts';
import { nextTurn } from '../../../platform/clock/index.ts';
import { firstIdAt } from '../../../platform/ids/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { removeDiagnosesOf } from '../../ai/requests/index.ts';
import { removeEndedRuns } from '../../automations/automation-runs/index.ts';
import { removeAttemptsOf, removeEmailRows } from '../../../mail/emails/index.ts';
import { removeInboxEmails } from '../../inbox/inbox-rows/index.ts';
import { expiredReceivedIds, removeReceivedRows } from '../../../mail/received-emails/index.ts';
import { createCopyCheck } from '../../../tenancy/instance/index.ts';
import { removeUnusedBodies } from '../../../mail/shared-bodies/index.ts';
import { removeSharesOf } from '../../sharing/index.ts';
import { expiredEmailIds, teamsWithExpired } from './expired.store.ts';
import { removeCaptured } from '../../../mail/capture/index.ts';
import { expiriesOf, type Expiry } from './expiries.ts';
import { removeReport } from './remove-reports.ts';
import { createRoundRobin, pickTeams } from './round-robin.ts';

export interface Removed {
  emails: number;
  received: number;
  events: number;
  caught: number;
  /** Rows of the reports of broadcasts. */
  reported: number;
  /** Runs of automations that have ended. */
  runs: number;
  /** Pages of the database file given back to the system. */
  pages: number;
}

/**
 * Rows a transaction takes: mail that is accepted meanwhile waits for one of these, which is a few milliseconds, and some
 * tens where all of it has large contents.
 */
const BATCH = 200;
/**
 * Batches a run takes, and it runs every minute: ten thousand emails a minute are ten times what a million a day need,
 * and are over in a second.
 */
const BATCHES_MAX = 50;
const PAGES_A_CUT = 128;
const CUTS_MAX = 100;
const BLOBS_AT_ONCE = 8;

const NOTHING: Removed = { emails: 0, received: 0, events: 0, caught: 0, reported: 0, runs: 0, pages: 0 };

/**
 * Removes content and events that are older than the plan of their team keeps them, oldest first and never anything that
 * is not sent. A run does a part of it; it may be interrupted anywhere, and the next one goes on.
 */
export function createRemoval(store: Store): () => Promise<Removed> {
  const [remove, isCopy] = [createRemovalOf(store), createCopyCheck(store)];
  // The rows of a copy that is not confirmed stay with their contents, which are those of the original as well.
  return async () => ((await isCopy()) ? { ...NOTHING } : remove());
}

function createRemovalOf(store: Store): () => Promise<Removed> {
  // Where the walk over each team's expired emails goes on: what has to stay must not stand in the way of the rest.
  const positions = new Map<string, string>();
  const warnedOf = new Set<string>();
  const roundRobin = createRoundRobin(BATCHES_MAX);

  return async () => {
    const removed = { ...NOTHING };
    const teams = await pickTeams(await expiriesOf(store, warnOf), (some) => teamsWithExpired(store.db, some));
    await roundRobin(teams, (team) => removeBatch(team, removed));
    removed.pages = await giveBack(store);
    return removed;
  };

  function warnOf(teamId: string, plan: string): void {
    if (warnedOf.has(teamId)) return;
    warnedOf.add(teamId);
    store.log.warn({ teamId, plan }, 'nothing of this team expires: its plan is not in the configuration');
  }

  /** Answers whether there may be more of this team's to remove. */
  async function removeBatch(team: Expiry, removed: Removed): Promise<boolean> {
    const after = positions.get(team.teamId) ?? firstIdAt(0);
    const ids = await expiredEmailIds(store.db, team, after, BATCH);
    const last = ids.at(-1);
    const isMore = ids.length === BATCH && last !== undefined;
    if (isMore) positions.set(team.teamId, last);
    else positions.delete(team.teamId);
    if (ids.length > 0) await removeEmails(team, ids, removed);
    const events = await removeOtherEvents(store.db, team, BATCH);
    const received = await removeReceived(team, removed);
    const caught = await removeCaptured(store.db, team, BATCH);
    await removeBlobs(store, caught);
    const isMoreWritten = await removeWritten(store, team, removed);
    removed.events += events;
    removed.caught += caught.length;
    return isMore || received === BATCH || events === BATCH || caught.length === BATCH || isMoreWritten;
  }

  /** What was received is done with from the first; answers how much there was. */
  async function removeReceived(team: Expiry, removed: Removed): Promise<number> {
    const ids = await expiredReceivedIds(store.db, team, BATCH);
    if (ids.length === 0) return 0;
    const { gone, events } = await store.db.tx(async (tx) => {
      const gone = await removeReceivedRows(tx, team.teamId, ids);
      return { gone, events: gone.length === 0 ? 0 : await removeEventsOf(tx, idsOf(gone)) };
    });
    await removeBlobs(store, idsOf(gone.filter(({ hasFiles }) => hasFiles)));
    removed.received += gone.length;
    removed.events += events;
    return ids.length;
  }

  async function removeEmails(team: Expiry, ids: string[], removed: Removed): Promise<void> {
    const { emails, events } = await store.db.tx(async (tx) => {
      const gone = await removeEmailRows(tx, team, ids);
      const goneIds = idsOf(gone);
      await removeSharesOf(tx, goneIds);
      await removeAttemptsOf(tx, goneIds);
      await removeDiagnosesOf(tx, goneIds);
      // Files of drafts that go with their thread are left to the daily sweep.
      await removeInboxEmails(tx, goneIds);
      return { emails: gone, events: goneIds.length === 0 ? 0 : await removeEventsOf(tx, goneIds) };
    });
    // After the commit: a crash in between leaves blobs without a row, which the daily sweep finds.
    await removeBlobs(store, idsOf(emails.filter(({ hasFiles }) => hasFiles)));
    removed.emails += emails.length;
    removed.events += events;
  }
}

/** A shared body has up to 2 MB. */
const BODIES_A_BATCH = 20;

/** Removes what automations, broadcasts and batches wrote besides emails. Returns whether there may be more. */
async function removeWritten(store: Store, team: Expiry, removed: Removed): Promise<boolean> {
  const report = await removeReport(store, team, BATCH);
  const runs = await store.db.tx((tx) => removeEndedRuns(tx, team, BATCH));
  const bodies = await removeUnusedBodies(store.db, team, BODIES_A_BATCH);
  removed.reported += report.rows;
  removed.runs += runs;
  return report.isMore || runs === BATCH || bodies === BODIES_A_BATCH;
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

async function removeBlobs({ blobs }: Store, owners: string[]): Promise<void> {
  for (let from = 0; from < owners.length; from += BLOBS_AT_ONCE) {
    await Promise.all(owners.slice(from, from + BLOBS_AT_ONCE).map((owner) => blobs.remove(owner)));
  }
}

/** Cuts what the file no longer needs; answers how many pages that were. */
async function giveBack({ db }: Store): Promise<number> {
  let cut = 0;
  for (let cuts = 0; cuts < CUTS_MAX; cuts++) {
    const pages = await db.cutUnusedPages(PAGES_A_CUT);
    if (pages === 0) break;
    cut += pages;
    await nextTurn();
  }
  return cut;
}
