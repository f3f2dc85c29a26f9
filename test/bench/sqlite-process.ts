import Sqlite from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { answerOrders } from './children.ts';

/** Writes one row of that size per synced commit: the disk speed for a program that does not share commits. */
export interface SqliteOrder {
  file: string;
  seconds: number;
  rowBytes: number;
}

answerOrders<SqliteOrder>(({ file, seconds, rowBytes }) => {
  const database = new Sqlite(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('create table if not exists mail (id text primary key, team_id text, created_at integer, body text)');
  const insert = database.prepare('insert into mail values (?, ?, ?, ?)');
  const team = randomUUID();
  const body = 'x'.repeat(rowBytes);
  const begin = performance.now();
  const used = process.cpuUsage();
  const end = begin + seconds * 1000;
  let rows = 0;
  // Ids that only grow, like the product's.
  for (; performance.now() < end; rows++)
    insert.run(`${Date.now().toString(16)}-${rows.toString(16).padStart(8, '0')}`, team, rows, body);
  const perSecond = rows / ((performance.now() - begin) / 1000);
  const { user, system } = process.cpuUsage(used);
  database.close();
  return { perSecond, cpuMicros: (user + system) / rows };
});
