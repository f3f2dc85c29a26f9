import type { Executor } from './db.ts';

/**
 * A fence makes every table reject writes by every client: a process with open connections, one that starts, another
 * program. It consists of triggers, because a setting of the database only applies to new sessions and any of them may
 * reset it. The triggers exist only while the fence does, so there is no cost before.
 */
const NAME = 'refuses_writes';
/** A code that PostgreSQL itself does not use. */
const PG_CODE = 'MOVED';
const SAYS = 'this database was moved to another one and is not written to any more';
/** A writer that has not ended by then is a node that still uses the database. */
const LOCK_WAIT_MS = 10_000;

export interface FenceOptions {
  /** Tables that stay writable: the records about the fence itself. */
  except: readonly string[];
}

/**
 * Raises the fence within a transaction; on PostgreSQL it waits for open writers, and blocks all others from then on.
 */
export async function raiseFence(tx: Executor, options: FenceOptions): Promise<void> {
  await lowerFence(tx);
  await (tx.dialect === 'pg' ? raiseOnPg(tx, options) : raiseOnSqlite(tx, options));
}

export async function lowerFence(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') {
    // The triggers are dropped with the function.
    await tx.run(`drop function if exists ${NAME}() cascade`);
    return;
  }
  const triggers = await tx.all<{ name: string }>(
    `select name from sqlite_master where type = 'trigger' and name like '${NAME}%'`,
  );
  for (const { name } of triggers) await tx.run(`drop trigger "${name}"`);
}

async function raiseOnPg(tx: Executor, { except }: FenceOptions): Promise<void> {
  await tx.run(`set local lock_timeout = ${LOCK_WAIT_MS}`);
  await tx.run(`create function ${NAME}() returns trigger language plpgsql as $fence$
    begin raise exception using errcode = '${PG_CODE}', message = '${SAYS}'; end $fence$`);
  const tables = await tx.all<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace order by relname`,
  );
  for (const { name } of tables) {
    if (except.includes(name)) continue;
    // For each statement, so that one that matches no row is rejected, too, and a node that looks for work notices at
    // once.
    await tx.run(`create trigger ${NAME} before insert or update or delete or truncate on "${name}"
      for each statement execute function ${NAME}()`);
  }
}

async function raiseOnSqlite(tx: Executor, { except }: FenceOptions): Promise<void> {
  // A virtual table cannot have triggers; only its module writes the tables that store its data.
  const tables = await tx.all<{ name: string }>(
    `select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name`,
  );
  for (const { name } of tables) {
    if (except.includes(name)) continue;
    for (const verb of ['insert', 'update', 'delete'])
      await tx.run(`create trigger "${NAME}_${verb}_${name}" before ${verb} on "${name}"
        begin select raise(abort, '${SAYS}'); end`);
  }
}

/** Reports whether a write was rejected by a fence. */
export function isFenced(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === PG_CODE) return true;
  return String(code).startsWith('SQLITE_CONSTRAINT') && String(message).includes(SAYS);
}
