import { removeEvents, removeOtherEvents } from '../../../mail/events/index.ts';
import { nextTurn, pauseFor, stopwatch } from '../../../platform/clock.ts';
import { firstIdAt } from '../../../platform/ids.ts';
import type { Store } from '../../../platform/store.ts';
import { removeEmailDiagnoses } from '../../ai/index.ts';
import { removeHistoryBefore } from '../../audience/index.ts';
import { removeEndedRuns } from '../../automations/index.ts';
import { removeEmailAttempts, removeEmailRows } from '../../../mail/emails/index.ts';
import { removeInboxEmails } from '../../inbox/index.ts';
import { expiredReceivedIds, removeReceivedRows } from '../../../mail/received-emails/index.ts';
import { createCopyCheck } from '../../../tenancy/instance/index.ts';
import { removeUnusedBodies, removeSharedBody } from '../../../mail/shared-bodies/index.ts';
import { removeEmailShares } from '../../sharing/index.ts';
import { expiredEmailIds, teamsWithExpired } from './expired.store.ts';
import { removeCaptured } from '../../../mail/capture/index.ts';
import { listExpiries, type Expiry } from './expiries.ts';
import { removeLinks, removeRecipients, endedReport, forgetReport, markReportRemoved } from '../../campaigns/index.ts';
import {
  deletedWebhooks,
  halfParkedWebhooks,
  parkWhatIsDue,
  removeEmptyWebhook,
  removePayloads,
  removeWebhookEvents,
  teamsWithOldWebhookEvents,
  listWebhookIds,
} from '../../webhooks/index.ts';
import { planNamed } from '../../../platform/config/index.ts';
import { deleteLogsBefore, teamsWithLogsBefore } from '../../../tenancy/logs/index.ts';
import { listTeams } from '../../../tenancy/teams/index.ts';
import { removeAuditBefore } from '../../../tenancy/audit/index.ts';
import { deleteExpiredAnswers } from '../../../mail/accept/index.ts';
import { eachLimit } from '../../../platform/limits/index.ts';

/** Removes a batch of one team's data; returns whether there is more. */
type RemoveBatch<Team> = (team: Team) => Promise<boolean>;

/**
 * Runs one batch of each team after the other, round after round, until no team has more, `batchesMax` batches ran or,
 * after the first, `isOver` returns true. The next call begins after the team that this one ended with, even if it
 * failed: neither a long backlog nor a failing batch of one team delays the others.
 */
function createRoundRobin(batchesMax: number) {
  // A new process begins with the first team again, which loses nothing.
  let lastId = '';
  return async <Team extends { teamId: string }>(
    teams: readonly Team[],
    batch: RemoveBatch<Team>,
    isOver = (): boolean => false,
  ): Promise<void> => {
    const begin = Math.max(
      0,
      teams.findIndex(({ teamId }) => teamId > lastId),
    );
    const waiting = [...teams.slice(begin), ...teams.slice(0, begin)];
    for (let batches = 0; batches < batchesMax; batches++) {
      const team = waiting.shift();
      if (!team || (batches > 0 && isOver())) return;
      lastId = team.teamId;
      if (await batch(team)) waiting.push(team);
      await nextTurn();
    }
  };
}

const TEAMS_A_LOOK = 500;

/** Returns the teams that have something to remove according to `look`: one statement for hundreds of teams. */
async function pickTeams<Team extends { teamId: string }>(
  teams: readonly Team[],
  look: (some: readonly Team[]) => Promise<string[]>,
): Promise<Team[]> {
  const found: Team[] = [];
  for (let from = 0; from < teams.length; from += TEAMS_A_LOOK) {
    const some = teams.slice(from, from + TEAMS_A_LOOK);
    const ids = new Set(await look(some));
    found.push(...some.filter((team) => ids.has(team.teamId)));
    await nextTurn();
  }
  return found;
}

export interface Removed {
  emails: number;
  received: number;
  events: number;
  caught: number;
  /** Rows of broadcast reports. */
  reported: number;
  /** Automation runs that have ended. */
  runs: number;
  /** Pages of the database file returned to the system. */
  pages: number;
}

/**
 * Rows per transaction: mail that is accepted meanwhile waits for one of these, which takes a few milliseconds, and
 * some tens if all of it has large contents.
 */
const BATCH = 200;
/**
 * Batches per run, which starts every minute: ten thousand emails a minute are ten times what a million a day need, and
 * take a second.
 */
const BATCHES_MAX = 50;
const PAGES_A_CUT = 128;
const CUTS_MAX = 100;
const BLOBS_AT_ONCE = 8;

const NOTHING: Removed = { emails: 0, received: 0, events: 0, caught: 0, reported: 0, runs: 0, pages: 0 };

/**
 * Removes content and events that are older than the retention of their team's plan, oldest first, and never anything
 * that is not sent. A run does a part of it; it may be interrupted anywhere, and the next one continues.
 */
export function createRemoval(store: Store): () => Promise<Removed> {
  const remove = createUncheckedRemoval(store);
  const isCopy = createCopyCheck(store);
  // The rows of an unconfirmed copy stay with their contents, which are also those of the original.
  return async () => ((await isCopy()) ? { ...NOTHING } : remove());
}

function createUncheckedRemoval(store: Store): () => Promise<Removed> {
  // Positions of the walks over each team's expired emails: those that have to stay must not block the others.
  const positions = new Map<string, string>();
  const warned = new Set<string>();
  const roundRobin = createRoundRobin(BATCHES_MAX);

  return async () => {
    const removed = { ...NOTHING };
    const teams = await pickTeams(await listExpiries(store, warnOnce), (some) => teamsWithExpired(store.db, some));
    await roundRobin(teams, (team) => removeBatch(team, removed));
    removed.pages = await cutUnusedPages(store);
    return removed;
  };

  function warnOnce(teamId: string, plan: string): void {
    if (warned.has(teamId)) return;
    warned.add(teamId);
    store.log.warn({ teamId, plan }, 'nothing of this team expires: its plan is not in the configuration');
  }

  /** Removes a batch of this team's data; returns whether there may be more. */
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

  /** Removes expired received emails, which never wait for anything; returns how many there were. */
  async function removeReceived(team: Expiry, removed: Removed): Promise<number> {
    const ids = await expiredReceivedIds(store.db, team, BATCH);
    if (ids.length === 0) return 0;
    const { gone, events } = await store.db.tx(async (tx) => {
      const gone = await removeReceivedRows(tx, team.teamId, ids);
      return { gone, events: gone.length === 0 ? 0 : await removeEvents(tx, toIds(gone)) };
    });
    await removeBlobs(store, toIds(gone.filter(({ hasFiles }) => hasFiles)));
    removed.received += gone.length;
    removed.events += events;
    return ids.length;
  }

  async function removeEmails(team: Expiry, ids: string[], removed: Removed): Promise<void> {
    const { emails, events } = await store.db.tx(async (tx) => {
      const gone = await removeEmailRows(tx, team, ids);
      const goneIds = toIds(gone);
      await removeEmailShares(tx, goneIds);
      await removeEmailAttempts(tx, goneIds);
      await removeEmailDiagnoses(tx, goneIds);
      // Files of drafts that go with their thread are left to the daily sweep.
      await removeInboxEmails(tx, goneIds);
      return { emails: gone, events: goneIds.length === 0 ? 0 : await removeEvents(tx, goneIds) };
    });
    // Runs after the commit: a crash in between leaves blobs without a row, which the daily sweep finds.
    await removeBlobs(store, toIds(emails.filter(({ hasFiles }) => hasFiles)));
    removed.emails += emails.length;
    removed.events += events;
  }
}

/** A shared body has up to 2 MB. */
const BODIES_A_BATCH = 20;

/** Removes what automations, broadcasts and batches wrote besides emails, and the history of contacts. Returns whether there may be more. */
async function removeWritten(store: Store, team: Expiry, removed: Removed): Promise<boolean> {
  const report = await removeReport(store, team, BATCH);
  const runs = await store.db.tx((tx) => removeEndedRuns(tx, team, BATCH));
  const facts = await store.db.tx((tx) => removeHistoryBefore(tx, team, BATCH));
  const bodies = await removeUnusedBodies(store.db, team, BODIES_A_BATCH);
  removed.reported += report.rows;
  removed.runs += runs;
  return report.isMore || runs === BATCH || facts === BATCH || bodies === BODIES_A_BATCH;
}

const toIds = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

async function removeBlobs({ blobs }: Store, owners: string[]): Promise<void> {
  await eachLimit(owners, BLOBS_AT_ONCE, (owner) => blobs.remove(owner));
}

/** Cuts unused pages of the file; returns how many. */
async function cutUnusedPages({ db }: Store): Promise<number> {
  let cut = 0;
  for (let cuts = 0; cuts < CUTS_MAX; cuts++) {
    const pages = await db.cutUnusedPages(PAGES_A_CUT);
    if (pages === 0) break;
    cut += pages;
    await nextTurn();
  }
  return cut;
}

export interface WebhooksRemoved {
  /** Deleted endpoints that are now empty. */
  webhooks: number;
  events: number;
  payloads: number;
}

/** Rows per transaction: events recorded meanwhile wait for one of these, which takes a few milliseconds. */
const WEBHOOK_EVENTS_BATCH = 200;
/** Time limits of a run, which starts every minute, while there is something to remove. */
const BUDGETS = { deletedMs: 10_000, expiredMs: 40_000 };
/** A transaction that saw the endpoint before it was deleted may still add an event, and ends within seconds. */
const LATE_MS = 3_600_000;

/**
 * Removes webhook events, their attempts and their bodies that are older than the retention of their team's plan, and
 * everything of deleted endpoints, but never what is still due. A run removes what it can within its time, at half
 * speed so that new events can be recorded; it may be interrupted anywhere, and the next one continues.
 */
export function createWebhookRemoval(
  store: Store,
  budgets = BUDGETS,
): (stopping?: AbortSignal) => Promise<WebhooksRemoved> {
  const roundRobinTeams = createRoundRobin(Infinity);
  const roundRobinDeleted = createRoundRobin(Infinity);

  return async (stopping) => {
    const removed: WebhooksRemoved = { webhooks: 0, events: 0, payloads: 0 };
    for (const id of await halfParkedWebhooks(store.db)) await parkWhatIsDue(store, id);
    const deleted = (await deletedWebhooks(store.db)).map((id) => ({ teamId: id }));
    await roundRobinDeleted(
      deleted,
      ({ teamId: id }) => restingAfter(() => removeDeleted(id, removed)),
      within(budgets.deletedMs, stopping),
    );
    const teams = await pickTeams(await listExpiries(store), (some) => teamsWithOldWebhookEvents(store.db, some));
    await roundRobinTeams(
      teams,
      (team) => restingAfter(() => removeExpired(team, removed)),
      within(budgets.expiredMs, stopping),
    );
    return removed;
  };

  /** Removes a batch of a deleted webhook; returns whether there may be more. */
  async function removeDeleted(id: string, removed: WebhooksRemoved): Promise<boolean> {
    const events = await removeBatch(id, undefined);
    removed.events += events;
    if (events === WEBHOOK_EVENTS_BATCH) return true;
    if (await removeEmptyWebhook(store.db, id, store.clock.now() - LATE_MS)) removed.webhooks++;
    return false;
  }

  async function removeExpired(team: Expiry, removed: WebhooksRemoved): Promise<boolean> {
    for (const id of await listWebhookIds(store.db, team.teamId)) {
      const events = await removeBatch(id, team.beforeId);
      removed.events += events;
      if (events === WEBHOOK_EVENTS_BATCH) return true;
    }
    const payloads = await removePayloads(store.db, team, WEBHOOK_EVENTS_BATCH);
    removed.payloads += payloads;
    return payloads === WEBHOOK_EVENTS_BATCH;
  }

  function removeBatch(id: string, beforeId: string | undefined): Promise<number> {
    return store.db.tx((tx) => removeWebhookEvents(tx, id, { beforeId, limit: WEBHOOK_EVENTS_BATCH }));
  }
}

/** Returns a function that reports whether the budget, which starts now, is used up or the process is about to end. */
function within(budgetMs: number, stopping: AbortSignal | undefined): () => boolean {
  const elapsedMs = stopwatch();
  return () => stopping?.aborted === true || elapsedMs() >= budgetMs;
}

/** Runs a batch, then rests as long as it took. */
async function restingAfter(batch: () => Promise<boolean>): Promise<boolean> {
  const elapsedMs = stopwatch();
  const isMore = await batch();
  if (isMore) await pauseFor(elapsedMs());
  return isMore;
}

const LOG_BATCH_ROWS = 200;
/** Batches per run, which starts every minute: ten thousand logs a minute are ten times what a million a day need. */
const LOG_BATCHES_MAX = 50;
const DAY_MS = 24 * 3_600_000;

/**
 * Removes request logs after the shorter of the retention of the plan and of the setting, since a log is content too. A
 * run returns how many it removed, which may be a part of them; the next one continues.
 */
export function createLogRemoval(store: Store): () => Promise<number> {
  const roundRobin = createRoundRobin(LOG_BATCHES_MAX);

  return async () => {
    const { config, clock, db } = store;
    const now = clock.now();
    const all = (await listTeams(db)).map(({ id: teamId, plan_code: code }) => {
      const days = Math.min(config.logs.retention_days, planNamed(config, code).plan.retention_days);
      return { teamId, before: now - days * DAY_MS };
    });
    let removed = 0;
    await roundRobin(await pickTeams(all, (some) => teamsWithLogsBefore(db, some)), async ({ teamId, before }) => {
      const gone = await deleteLogsBefore(db, teamId, before, LOG_BATCH_ROWS);
      removed += gone;
      return gone === LOG_BATCH_ROWS;
    });
    return removed;
  };
}

const AUDIT_BATCH_ROWS = 500;

/** Removes audit entries older than the configured retention; returns how many. */
export async function removeOldAudit({ config, clock, db }: Store): Promise<number> {
  const before = clock.now() - config.audit.retention_days * DAY_MS;
  for (let removed = 0; ;) {
    const gone = await removeAuditBefore(db, before, AUDIT_BATCH_ROWS);
    removed += gone;
    if (gone < AUDIT_BATCH_ROWS) return removed;
  }
}

/** Forgets idempotency keys after 24 hours; returns how many. */
export const forgetIdempotencyKeys = (store: Store): Promise<number> =>
  deleteExpiredAnswers(store.db, store.clock.now());

/**
 * Removes part of the report of one broadcast whose emails are all gone, and with its last row the links and the shared
 * body; keeps its totals. Returns how many rows were removed, and whether there may be more.
 */
async function removeReport({ db }: Store, team: Expiry, limit: number): Promise<{ rows: number; isMore: boolean }> {
  const report = await endedReport(db, team);
  if (!report) return { rows: 0, isMore: false };
  const rows = await db.tx(async (tx) => {
    await markReportRemoved(tx, report.id);
    const gone = await removeRecipients(tx, report.id, limit);
    if (gone === limit) return gone;
    await removeLinks(tx, report.id);
    await removeSharedBody(tx, report.body_id);
    await forgetReport(tx, report.id);
    return gone;
  });
  return { rows, isMore: true };
}
