import Sqlite from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { answerOrders } from './children.ts';

/** Writes the rows of run steps with a synced commit for each: the disk speed for a program that does nothing else. */
export interface StepsOrder {
  file: string;
  runs: number;
  steps: number;
}

answerOrders<StepsOrder>(({ file, runs, steps }) => {
  const database = new Sqlite(file);
  database.pragma('journal_mode = WAL');
  database.exec(`create table runs (id text primary key, status text, step text, due_at integer);
    create index due on runs (due_at) where status = 'running';
    create table steps (run_id text, step text, status text, output text, at integer, primary key (run_id, step));
    create table events (id integer primary key, type text, data text);
    create table contacts (id text primary key, name text)`);
  const ids = Array.from({ length: runs }, () => randomUUID());
  const fill = database.prepare("insert into runs values (?, 'running', null, 1)");
  const contact = database.prepare('insert into contacts values (?, null)');
  database.transaction(() => ids.forEach((id) => (fill.run(id), contact.run(id))))();
  database.pragma('synchronous = FULL');
  const move = database.prepare('update runs set status = ?, step = ?, due_at = ? where id = ?');
  const note = database.prepare("insert into steps values (?, ?, 'completed', ?, ?)");
  const tell = database.prepare('insert into events (type, data) values (?, ?)');
  const read = database.prepare('select * from contacts where id = ?');
  const write = database.prepare('update contacts set name = ? where id = ?');
  const said = 'x'.repeat(200);
  const take = database.transaction((id: string, at: number) => {
    const isLast = at === steps - 1;
    move.run(isLast ? 'completed' : 'running', `s${at + 1}`, Date.now(), id);
    note.run(id, `s${at}`, '{}', Date.now());
    if (at === 0) tell.run('started', said);
    else read.get(id);
    if (!isLast) return;
    write.run('Reached', id);
    tell.run('contact.updated', said);
    tell.run('completed', said);
  });
  const begin = performance.now();
  for (const id of ids) for (let at = 0; at < steps; at++) take(id, at);
  const perSecond = (runs * steps) / ((performance.now() - begin) / 1000);
  database.close();
  return perSecond;
});
