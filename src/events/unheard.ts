import type { Db, Executor } from '../platform/db/index.ts';

/** Where what endpoints and listeners are told of waits. */
const OUTBOX: readonly string[] = ['webhook_events', 'webhook_listener_events'];

/**
 * A database in which what happens is recorded and counted, and no webhook and no listener is told of it, but for the one
 * that is named: for what was made up.
 */
export const unheard = (db: Db, but?: string): Db =>
  overlaid(db, {
    tx: (work) => db.tx((tx) => work(untold(tx, but))),
    txUnsynced: (work) => db.txUnsynced((tx) => work(untold(tx, but))),
  });

const untold = (tx: Executor, but: string | undefined): Executor =>
  overlaid(tx, {
    async insertMany(table, columns, rows, conflict) {
      if (!OUTBOX.includes(table)) return tx.insertMany(table, columns, rows, conflict);
      const kept = rows.filter((row) => but !== undefined && row[columns.indexOf('webhook_id')] === but);
      return kept.length === 0 ? 0 : tx.insertMany(table, columns, kept, conflict);
    },
  });

/** What it does not do itself is done by the one beneath, on that one's own. */
const overlaid = <Held extends object>(held: Held, own: Partial<Held>): Held =>
  new Proxy(held, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' && !(name in own) ? value.bind(target) : value;
    },
  });
