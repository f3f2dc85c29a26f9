import { noteWrapper, type Db, type Executor, type Row, type Value } from '../../platform/db/index.ts';
import { creationTime } from '../../platform/ids.ts';
import type { Store } from '../../platform/store.ts';
import { insertAudit, readName, readRemoved, type AuditRow } from './audit.store.ts';

/** An action that is about to be done, with its actor and address. */
export type AuditNote = Omit<AuditRow, 'id' | 'created_at' | keyof AppColumns> & Partial<AppColumns>;

/** Set only for an app. */
type AppColumns = Pick<AuditRow, 'actor_app' | 'actor_grant_id'>;

export interface Audited<Held extends Store> {
  store: Held;
  /** Reports whether something was changed and its entry was written. */
  isWritten(): boolean;
  /** Writes the entry of a change that is made outside the database. */
  write(): Promise<void>;
  /** Writes a second entry with the outcome of the change, if there was one: what is written cannot be changed. */
  writeOutcome(details: string): Promise<void>;
}

/** Tables whose new rows are the subject of the entry. */
const SUBJECT_TABLES: ReadonlySet<string> = new Set([
  'api_keys',
  'automations',
  'contact_imports',
  'contact_properties',
  'custom_events',
  'domain_claims',
  'domains',
  'images',
  'inbound_rules',
  'inboxes',
  'inbox_labels',
  'operators',
  'queue_holds',
  'sign_up_forms',
  'segments',
  'broadcasts',
  'suppressions',
  'team_invitations',
  'team_members',
  'teams',
  'templates',
  'topics',
  'webhooks',
]);

/**
 * Wraps a store so that the first transaction that changes anything includes the entry. Later changes of the same call
 * belong to the same entry; if nothing changes, or the transaction is rolled back, there is none.
 */
export function audited<Held extends Store>(store: Held, given: AuditNote): Audited<Held> {
  const { db } = store;
  let isWritten = false;

  const enter = async (note: AuditNote, tx: Executor, made: Made | undefined, removed?: object): Promise<void> => {
    const id = store.ids.uuid();
    const subject_id = note.subject_id ?? made?.id ?? null;
    const known = removed ?? (await readName(tx, { action: note.action, subject_id }));
    return insertAudit(tx, {
      ...note,
      actor_app: note.actor_app ?? null,
      actor_grant_id: note.actor_grant_id ?? null,
      details: known === undefined ? note.details : withFields(note.details, known),
      id,
      created_at: creationTime(id, store.clock),
      team_id: made?.teamId ?? note.team_id,
      subject_id,
    });
  };

  async function inside<T>(begin: Db['tx'], change: (tx: Executor) => Promise<T>): Promise<T> {
    let isEntered = false;
    const value = await begin(async (tx) => {
      const watch = watched(tx);
      const removed = isWritten ? undefined : await readRemoved(tx, given);
      const result = await change(watch.executor);
      isEntered = !isWritten && watch.isChanged();
      if (isEntered) await enter(given, tx, watch.made(), removed);
      return result;
    });
    isWritten ||= isEntered;
    return value;
  }

  const auditedDb: Db = {
    ...delegates(db),
    tx: (change) => inside((begun) => db.tx(begun), change),
    txUnsynced: (change) => inside((begun) => db.txUnsynced(begun), change),
    run: (...call) =>
      inside(
        (begun) => db.tx(begun),
        (tx) => tx.run(...call),
      ),
    runEach: (...call) =>
      inside(
        (begun) => db.tx(begun),
        (tx) => tx.runEach(...call),
      ),
    insertMany: (...call) =>
      inside(
        (begun) => db.tx(begun),
        (tx) => tx.insertMany(...call),
      ),
  };
  return {
    store: { ...store, db: noteWrapper(auditedDb, db) },
    isWritten: () => isWritten,
    async write() {
      await db.tx((tx) => enter(given, tx, undefined));
      isWritten = true;
    },
    async writeOutcome(details) {
      if (!isWritten) return;
      await db.tx((tx) => enter({ ...given, details }, tx, undefined));
    },
  };
}

/** Combines the details of the request with the name of what was changed, or the former state of what was removed. */
const withFields = (details: string | null, before: object): string =>
  JSON.stringify({ ...before, ...(details === null ? {} : (JSON.parse(details) as object)) });

/** Delegates method by method, regardless of how the database object is made. */
const delegates = (db: Db): Db => ({
  dialect: db.dialect,
  all: (...call) => db.all(...call),
  get: (...call) => db.get(...call),
  run: (...call) => db.run(...call),
  runEach: (...call) => db.runEach(...call),
  insertMany: (...call) => db.insertMany(...call),
  tx: (work) => db.tx(work),
  txUnsynced: (work) => db.txUnsynced(work),
  memo: (...call) => db.memo(...call),
  onCommit: (...call) => db.onCommit(...call),
  announce: (name) => db.announce(name),
  onAnnounced: (...call) => db.onAnnounced(...call),
  onFenced: (fire) => db.onFenced(fire),
  onFault: (fire) => db.onFault(fire),
  hear: (options) => db.hear(options),
  cutUnusedPages: (pagesMax) => db.cutUnusedPages(pagesMax),
  lostFile: () => db.lostFile(),
  abandonInto: (file) => db.abandonInto(file),
  serverInUse: () => db.serverInUse(),
  rivalServers: () => db.rivalServers(),
  unsafeSettings: () => db.unsafeSettings(),
  withKnex: (work) => db.withKnex(work),
  close: () => db.close(),
});

const WRITES = /^\s*(?:insert|update|delete)\b/i;

interface Made {
  id: string;
  /** Set for a new team, and for a person who joins one: the caller may be in another. */
  teamId?: string;
}

interface Watch {
  executor: Executor;
  isChanged(): boolean;
  made(): Made | undefined;
}

/** Detects whether any row is written, and which audited thing is created. */
function watched(tx: Executor): Watch {
  let isChanged = false;
  let made: Made | undefined;
  const seen = <T>(count: number, answer: T): T => {
    isChanged ||= count > 0;
    return answer;
  };
  const executor: Executor = {
    dialect: tx.dialect,
    async all<T = Row>(sql: string, values?: readonly Value[]) {
      const rows = await tx.all<T>(sql, values);
      return seen(WRITES.test(sql) ? rows.length : 0, rows);
    },
    async get<T = Row>(sql: string, values?: readonly Value[]) {
      const row = await tx.get<T>(sql, values);
      return seen(WRITES.test(sql) && row !== undefined ? 1 : 0, row);
    },
    async run(sql, values) {
      const count = await tx.run(sql, values);
      return seen(count, count);
    },
    async runEach(sql, valueLists) {
      const counts = await tx.runEach(sql, valueLists);
      return seen(
        counts.reduce((sum, count) => sum + count, 0),
        counts,
      );
    },
    async insertMany(table, columns, rows, conflict) {
      const count = await tx.insertMany(table, columns, rows, conflict);
      const id = SUBJECT_TABLES.has(table) ? rows[0]?.[columns.indexOf('id')] : undefined;
      if (count > 0 && typeof id === 'string') {
        const teamId =
          table === 'teams' ? id : table === 'team_members' ? rows[0]?.[columns.indexOf('team_id')] : undefined;
        made ??= { id, ...(typeof teamId === 'string' ? { teamId } : {}) };
      }
      return seen(count, count);
    },
  };
  return { executor, isChanged: () => isChanged, made: () => made };
}
