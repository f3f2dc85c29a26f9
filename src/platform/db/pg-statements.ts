import type { QueryConfig } from 'pg';
import type { Value, Executor } from './db.ts';
import { BoundedMap } from '../limits/index.ts';

export interface PgStatements {
  /** Converts a statement with `?` for its values into the form that `pg` runs. */
  of(sql: string, values: readonly Value[]): QueryConfig;
  /** After another process has changed the schema: prepares statements again, under other names. */
  forget(): void;
}

/** Each connection keeps a plan for each name. The program has fewer frequent statements than this. */
const NAMES_MAX = 300;
/** Statements that were seen once; most statements built from a caller's filters never occur again. */
const MET_MAX = 2000;

/**
 * The best plan of a page depends on how many rows its values match, so it is planned each time. A claim reads from the
 * beginning of an index, whatever its values are.
 */
const isPlannedEachTime = (sql: string): boolean => /\blimit\b/i.test(sql) && !/\bskip locked\b/i.test(sql);

/** Prepares a statement when it occurs for the second time, under a name of its own. */
export function createPgStatements(): PgStatements {
  const known = new Map<string, { text: string; name?: string }>();
  const met = new BoundedMap<string, string>(MET_MAX);
  let names = 0;
  let made = 0;

  function meet(sql: string): { text: string; name?: string } {
    const before = met.get(sql);
    if (before === undefined) {
      const text = numbered(sql);
      met.set(sql, text);
      return { text };
    }
    if (names >= NAMES_MAX || isPlannedEachTime(sql)) return { text: before };
    const statement = { text: before, name: `rasket_${++made}` };
    names++;
    met.delete(sql);
    known.set(sql, statement);
    return statement;
  }

  return {
    of: (sql, values) => ({ ...(known.get(sql) ?? meet(sql)), values: values as Value[] }),
    forget() {
      known.clear();
      names = 0;
    },
  };
}

/** Replaces `?` by `$1`, `$2` and so on. No literal in our statements contains a question mark. */
function numbered(sql: string): string {
  let n = 0;
  return sql.replaceAll('?', () => `$${++n}`);
}

interface Insert {
  table: string;
  columns: readonly string[];
  rows: readonly (readonly Value[])[];
  /** The text of an ON CONFLICT clause. */
  conflict: string;
}

export type PgInsert = (on: Executor, insert: Insert) => Promise<number>;

const ROWS_MAX = 500;
/** PostgreSQL counts parameters in 16 bits. */
const PARAMETERS_MAX = 60_000;

/**
 * Inserts rows as one parameter of JSON, so that the statement is the same for any number of them and stays prepared.
 * Values that JSON cannot represent, bytes and invalid texts, are sent as a parameter each.
 */
export function createPgInsert(): PgInsert {
  const texts = new Map<string, Promise<string>>();

  function prepareText(on: Executor, { table, columns, conflict }: Insert): Promise<string> {
    const key = `${table} ${columns.join(',')} ${conflict}`;
    let text = texts.get(key);
    if (!text) {
      text = insertOfJson(on, { table, columns, conflict });
      texts.set(key, text);
      text.catch(() => texts.delete(key));
    }
    return text;
  }

  async function part(on: Executor, insert: Insert): Promise<number> {
    const { table, columns, rows, conflict } = insert;
    const json = rows.length > 1 ? toJson(rows) : undefined;
    if (json !== undefined) return on.run(await prepareText(on, insert), [json]);
    const mark = `(${columns.map(() => '?').join(',')})`;
    const marks = rows.map(() => mark).join(',');
    return on.run(`insert into ${table} (${columns.join(',')}) values ${marks} ${conflict}`, rows.flat());
  }

  return async (on, insert) => {
    const size = Math.min(ROWS_MAX, Math.floor(PARAMETERS_MAX / insert.columns.length));
    let changes = 0;
    for (let from = 0; from < insert.rows.length; from += size) {
      changes += await part(on, { ...insert, rows: insert.rows.slice(from, from + size) });
    }
    return changes;
  };
}

const toColumnName = (column: number): string => `c${column}`;

/** NUL and lone surrogates, which PostgreSQL rejects in JSON with a different error. */
const NOT_IN_TEXT = /\\u(?:0000|d[89a-f])/;

/** Returns undefined if a value cannot be represented. */
function toJson(rows: readonly (readonly Value[])[]): string | undefined {
  const records: Record<string, Value>[] = [];
  for (const row of rows) {
    const record: Record<string, Value> = {};
    for (const [i, value] of row.entries()) {
      if (Buffer.isBuffer(value)) return undefined;
      record[toColumnName(i)] = value;
    }
    records.push(record);
  }
  const json = JSON.stringify(records);
  return NOT_IN_TEXT.test(json) ? undefined : json;
}

/** Reads every value from JSON as text, and then casts it to the type of its column. */
async function insertOfJson(
  on: Executor,
  { table, columns, conflict }: Pick<Insert, 'table' | 'columns' | 'conflict'>,
): Promise<string> {
  const found = await on.all<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = to_regclass(?) and attnum > 0 and not attisdropped`,
    [table],
  );
  const types = new Map(found.map(({ name, type }) => [name, type]));
  const casts = columns.map((column, i) => {
    const type = types.get(column) ?? 'text';
    // A cast to varchar(n) would cut a text that is too long, which the insert rejects.
    return /^(?:text|character)/.test(type) ? toColumnName(i) : `${toColumnName(i)}::${type}`;
  });
  const fields = columns.map((_, i) => `${toColumnName(i)} text`).join(',');
  return `insert into ${table} (${columns.join(',')}) select ${casts.join(',')} from json_to_recordset(?::json) as rows(${fields}) ${conflict}`;
}
