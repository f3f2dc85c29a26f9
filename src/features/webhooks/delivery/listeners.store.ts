import { textsIn, uuidsIn, type Db, type Executor } from '../../../platform/db/index.ts';

export interface ListenerRow {
  id: string;
  team_id: string;
  events: string;
  secret_sealed: string;
  last_batch: number;
}

/**
 * Counts the streams other than `but` that were alive since `since`, so that a stream whose process died soon counts no
 * more.
 */
export async function countOpen(tx: Executor, teamId: string, since: number, but: string): Promise<number> {
  const sql = `select count(*) as open from webhook_listeners
    where team_id = ? and holder is not null and seen_at > ? and id <> ?`;
  return Number((await tx.get<{ open: number }>(sql, [teamId, since, but]))?.open);
}

export const findListener = (tx: Executor, teamId: string, id: string): Promise<ListenerRow | undefined> =>
  tx.get<ListenerRow>(
    'select id, team_id, events, secret_sealed, last_batch from webhook_listeners where team_id = ? and id = ?',
    [teamId, id],
  );

export async function insertListener(tx: Executor, row: ListenerRow, holder: string, at: number): Promise<void> {
  const columns = ['id', 'team_id', 'events', 'secret_sealed', 'last_batch', 'holder', 'seen_at', 'created_at'];
  const { id, team_id, events, secret_sealed, last_batch } = row;
  await tx.insertMany('webhook_listeners', columns, [[id, team_id, events, secret_sealed, last_batch, holder, at, at]]);
}

/**
 * Assigns a listener to another stream. Events that the client reports not to have seen wait again; if a power cut
 * undid our batch number, the client's counts.
 */
export async function resumeListener(
  tx: Executor,
  id: string,
  seen: { batch: number; eventId: string },
  to: { events: string; holder: string; at: number },
): Promise<void> {
  const { batch, eventId } = seen;
  await tx.run(
    `update webhook_listeners set events = ?, holder = ?, seen_at = ?,
       last_batch = case when last_batch < ? then ? else last_batch end where id = ?`,
    [to.events, to.holder, to.at, batch, batch, id],
  );
  await tx.run(
    `update webhook_listener_events set batch = null, sent_at = null
      where listener_id = ? and (batch > ? or (batch = ? and event_id > ?))`,
    [id, batch, batch, eventId],
  );
}

export interface WaitingEvent {
  eventId: string;
  type: string;
  at: number;
}

/** Takes the next events for a stream, oldest first; undefined if the listener no longer belongs to this stream. */
export async function takeNext(
  db: Db,
  listener: { id: string; holder: string },
  limit: number,
  at: number,
): Promise<{ batch: number; events: WaitingEvent[] } | undefined> {
  const { id, holder } = listener;
  // A power cut may undo this: the events are then sent once more.
  return db.txUnsynced(async (tx) => {
    const mine = await tx.run(
      'update webhook_listeners set last_batch = last_batch + 1, seen_at = ? where id = ? and holder = ?',
      [at, id, holder],
    );
    if (mine === 0) return undefined;
    const row = await tx.get<{ last_batch: number }>('select last_batch from webhook_listeners where id = ?', [id]);
    const batch = Number(row?.last_batch);
    const rows = await tx.all<{ event_id: string; type: string; created_at: number }>(
      `select event_id, type, created_at from webhook_listener_events
        where listener_id = ? and batch is null order by event_id limit ?`,
      [id, limit],
    );
    if (rows.length === 0) return { batch, events: [] };
    const among = uuidsIn(
      tx.dialect,
      'event_id',
      rows.map((event) => event.event_id),
    );
    await tx.run(`update webhook_listener_events set batch = ?, sent_at = ? where listener_id = ? and ${among.sql}`, [
      batch,
      at,
      id,
      among.value,
    ]);
    return { batch, events: rows.map((row) => ({ eventId: row.event_id, type: row.type, at: row.created_at })) };
  });
}

/** Returns those of the listeners that have events to send. */
export async function withEvents(db: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = textsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string }>(
    `select id from webhook_listeners where ${among.sql} and exists (select 1 from webhook_listener_events
      where listener_id = webhook_listeners.id and batch is null)`,
    [among.value],
  );
  return new Set(rows.map((row) => row.id));
}

/** Records that these streams are alive; returns those that still have their listener. */
export async function keepAlive(db: Executor, holders: readonly string[], at: number): Promise<Set<string>> {
  const among = textsIn(db.dialect, 'holder', holders);
  await db.run(`update webhook_listeners set seen_at = ? where ${among.sql}`, [at, among.value]);
  const rows = await db.all<{ holder: string }>(`select holder from webhook_listeners where ${among.sql}`, [
    among.value,
  ]);
  return new Set(rows.map((row) => row.holder));
}

export async function releaseListener(db: Executor, holder: string, at: number): Promise<void> {
  await db.run('update webhook_listeners set holder = null, seen_at = ? where holder = ?', [at, holder]);
}

/** Lists listeners whose clients have not come back. */
export async function listAbandoned(db: Executor, seenBefore: number, limit: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>('select id from webhook_listeners where seen_at < ? limit ?', [
    seenBefore,
    limit,
  ]);
  return rows.map((row) => row.id);
}

/** Returns the listeners of a team without an open stream, the most recently left first. */
export async function listIdle(tx: Executor, teamId: string): Promise<string[]> {
  const rows = await tx.all<{ id: string }>(
    'select id from webhook_listeners where team_id = ? and holder is null order by seen_at desc, id desc',
    [teamId],
  );
  return rows.map((row) => row.id);
}

/** Returns listeners with more than `most` events waiting. */
export async function listOverfull(db: Executor, most: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from webhook_listeners where exists (select 1 from webhook_listener_events
      where listener_id = webhook_listeners.id and batch is null order by event_id limit 1 offset ?)`,
    [most],
  );
  return rows.map((row) => row.id);
}

/**
 * Removes listeners, so that no more events are recorded for them; `removeEventsOfNobody` removes those recorded so
 * far.
 */
export async function removeListeners(tx: Executor, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const among = textsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from webhook_listeners where ${among.sql}`, [among.value]);
}

/** Removes up to `limit` events of listeners that are gone; returns how many. */
export const removeEventsOfNobody = (db: Executor, limit: number): Promise<number> =>
  db.run(
    `delete from webhook_listener_events where (listener_id, event_id) in (
       select listener_id, event_id from webhook_listener_events
        where not exists (select 1 from webhook_listeners where id = listener_id) limit ?)`,
    [limit],
  );

/** Removes up to `limit` events that were sent before `before`; returns how many. */
export const removeSent = (db: Executor, before: number, limit: number): Promise<number> =>
  db.run(
    `delete from webhook_listener_events where (listener_id, event_id) in (
       select listener_id, event_id from webhook_listeners join webhook_listener_events on listener_id = id
        where sent_at is not null and sent_at < ? limit ?)`,
    [before, limit],
  );

/**
 * Waits for older transactions: one that looked for listeners before this one was committed would miss it when it
 * records events later. Resolves when none is left or `isTooLong` returns true. SQLite has one writer, so none can be
 * in progress.
 */
export async function olderTransactionsOver(db: Db, isTooLong: () => boolean): Promise<void> {
  if (db.dialect !== 'pg') return;
  const now = await db.get<{ next: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  for (;;) {
    const oldest = await db.get<{ is_over: boolean }>(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= ?::xid8 as is_over',
      [now?.next ?? '0'],
    );
    if (oldest?.is_over || isTooLong()) return;
    // Sleeps in the database: it needs no clock of ours, and keeps no connection beyond this.
    await db.all('select pg_sleep(0.02)');
  }
}
