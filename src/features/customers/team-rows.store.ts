import {
  tableShapes,
  uuidsIn,
  type Dialect,
  type Executor,
  type Row,
  type TableShape,
  type Value,
} from '../../platform/db/index.ts';
import type { TeamPath } from './team-tables.ts';

/** The tables of a database by name. */
export type Shapes = ReadonlyMap<string, TableShape>;

export const loadShapes = async (db: Executor): Promise<Shapes> =>
  new Map((await tableShapes(db)).map((shape) => [shape.name, shape]));

export function findShape(shapes: Shapes, table: string): TableShape {
  const shape = shapes.get(table);
  if (!shape) throw new Error(`the database has no table ${table}`);
  return shape;
}

const quoted = (name: string): string => `"${name}"`;

/** Renders "the column has one of these values" with one parameter. */
function among(dialect: Dialect, shape: TableShape, column: string, values: readonly Value[]) {
  const [only = null] = values;
  // Read in the order of an index, which a list of values prevents.
  if (values.length === 1) return { sql: `${quoted(column)} = ?`, value: only };
  const list = { sql: `${quoted(column)} in (select value from json_each(?))`, value: JSON.stringify(values) };
  if (dialect === 'sqlite') return list;
  const type = shape.columns.find(({ name }) => name === column)?.type ?? 'text';
  return {
    sql: `${quoted(column)} = any(array(select value::${type} from jsonb_array_elements_text(?::jsonb) as t (value)))`,
    value: list.value,
  };
}

interface OwnedRows {
  path: TeamPath;
  shape: TableShape;
  /** Values of the column `path.by`. */
  values: readonly Value[];
}

function condition({ dialect }: Executor, { path, shape, values }: OwnedRows) {
  const { sql, value } = among(dialect, shape, path.by, values);
  return { sql: path.where === undefined ? sql : `${sql} and ${path.where}`, value };
}

/** Reads a page of the rows that these values own, in the order of the key. `columns` are those of the table. */
export async function readOwnedRows(
  db: Executor,
  owned: OwnedRows,
  { columns, after, limit }: { columns: readonly string[]; after: Row | undefined; limit: number },
): Promise<Row[]> {
  const { shape } = owned;
  const { sql, value } = condition(db, owned);
  const key = shape.key.map(quoted).join(', ');
  const read = columns.map((name) => {
    const isJson = db.dialect === 'pg' && shape.columns.find((one) => one.name === name)?.kind === 'json';
    return isJson ? `${quoted(name)}::text as ${quoted(name)}` : quoted(name);
  });
  const beyond = after === undefined ? '' : ` and (${key}) > (${shape.key.map(() => '?').join(', ')})`;
  return db.all(`select ${read.join(', ')} from ${quoted(shape.name)} where ${sql}${beyond} order by ${key} limit ?`, [
    value,
    ...(after === undefined ? [] : shape.key.map((name) => after[name] ?? null)),
    limit,
  ]);
}

/** Reads any of the rows that these values own; reading in an order would need an index for it. */
export function pickOwnedRows(
  db: Executor,
  owned: OwnedRows,
  { columns, limit }: { columns: readonly string[]; limit: number },
): Promise<Row[]> {
  const { sql, value } = condition(db, owned);
  const read = columns.map(quoted).join(', ');
  return db.all(`select ${read} from ${quoted(owned.shape.name)} where ${sql} limit ?`, [value, limit]);
}

/** Removes up to `limit` rows that these values own; returns how many. */
export function removeOwnedRows(tx: Executor, owned: OwnedRows, limit: number): Promise<number> {
  const { shape } = owned;
  const { sql, value } = condition(tx, owned);
  // An index of search has no key, and few rows for each owner.
  if (shape.key.length === 0) return tx.run(`delete from ${shape.name} where ${sql}`, [value]);
  const key = shape.key.map(quoted).join(', ');
  return tx.run(
    `delete from ${shape.name} where (${key}) in (select ${key} from ${quoted(shape.name)} where ${sql} limit ?)`,
    [value, limit],
  );
}

/** Removes those of the rows that have these values in another column. */
export function removeRowsAmong(
  tx: Executor,
  owned: OwnedRows,
  column: string,
  values: readonly Value[],
): Promise<number> {
  const { shape } = owned;
  const own = condition(tx, owned);
  const some = among(tx.dialect, shape, column, values);
  return tx.run(`delete from ${shape.name} where ${some.sql} and ${own.sql}`, [some.value, own.value]);
}

/** Removes up to `limit` deliveries of a team that no process is working on; returns how many. */
export const removeIdleDeliveries = (tx: Executor, teamId: string, now: number, limit: number): Promise<number> =>
  tx.run(
    `delete from ${DELIVERIES} where id in (select id from deliveries
      where team_id = ? and (lease_owner is null or due_at < ?) limit ?)`,
    [teamId, now, limit],
  );

const DELIVERIES = 'deliveries';

export async function hasDeliveries(db: Executor, teamId: string): Promise<boolean> {
  return (await db.get('select 1 as found from deliveries where team_id = ? limit 1', [teamId])) !== undefined;
}

/** Lists members of a team. */
export async function membersToRemove(
  db: Executor,
  teamId: string,
  limit: number,
): Promise<{ userId: string; emailKey: string }[]> {
  const rows = await db.all<{ user_id: string; email_key: string }>(
    'select m.user_id, u.email_key from team_members m join users u on u.id = m.user_id where m.team_id = ? limit ?',
    [teamId, limit],
  );
  return rows.map((row) => ({ userId: row.user_id, emailKey: row.email_key }));
}

/**
 * Locks an account until the end of the transaction, so that no membership of it is added meanwhile; returns whether it
 * is in another team.
 */
export async function lockUserInOtherTeam(tx: Executor, userId: string, teamId: string): Promise<boolean> {
  if (tx.dialect === 'pg') await tx.get('select id from users where id = ? for update', [userId]);
  const sql = 'select 1 as found from team_members where user_id = ? and team_id <> ? limit 1';
  return (await tx.get(sql, [userId, teamId])) !== undefined;
}

export const domainsOfTeam = (db: Executor, teamId: string, limit: number): Promise<{ id: string; name: string }[]> =>
  db.all('select id, name from domains where team_id = ? limit ?', [teamId, limit]);

/** Returns those of the domains whose records are still to be removed at a DNS provider. */
export async function countSetups(db: Executor, teamId: string): Promise<number> {
  return Number((await db.get<{ n: number }>('select count(*) as n from dns_setups where team_id = ?', [teamId]))?.n);
}

export async function hasSetup(db: Executor, domainId: string): Promise<boolean> {
  return (await db.get('select 1 as found from dns_setups where domain_id = ?', [domainId])) !== undefined;
}

/** Lists the names and sizes of the contents that these owners have in rows. */
export const contentsInRows = (
  db: Executor,
  owners: readonly string[],
): Promise<{ owner_id: string; name: string; size: number }[]> => {
  const theirs = uuidsIn(db.dialect, 'owner_id', owners);
  return db.all(
    `select owner_id, name, length(content) as size from contents where ${theirs.sql} order by owner_id, name`,
    [theirs.value],
  );
};
