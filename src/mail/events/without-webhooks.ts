import { overlaid, type Db, type Executor } from '../../platform/db/index.ts';

/** The tables in which subscribers find their events. */
const OUTBOX: readonly string[] = [
  'webhook_events',
  'webhook_listener_events',
  'automation_runs',
  'automation_refusals',
];

/**
 * Returns a database that records and counts events, and queues them for no endpoint except `but`, no listener and no
 * automation: for sample data.
 */
export const withoutWebhooks = (db: Db, but?: string): Db =>
  overlaid(db, {
    tx: (work) => db.tx((tx) => work(withoutOutbox(tx, but))),
    txUnsynced: (work) => db.txUnsynced((tx) => work(withoutOutbox(tx, but))),
  });

const withoutOutbox = (tx: Executor, but: string | undefined): Executor =>
  overlaid(tx, {
    async insertMany(table, columns, rows, conflict) {
      if (!OUTBOX.includes(table)) return tx.insertMany(table, columns, rows, conflict);
      const kept = rows.filter((row) => but !== undefined && row[columns.indexOf('webhook_id')] === but);
      return kept.length === 0 ? 0 : tx.insertMany(table, columns, kept, conflict);
    },
  });
