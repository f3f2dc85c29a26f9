import type { QueryConfig } from 'pg';
import type { Value } from './types.ts';

export interface PgStatements {
  /** A statement with `?` for its values, as `pg` runs it. */
  of(sql: string, values: readonly Value[]): QueryConfig;
  /** After another process has changed the schema: what was prepared is prepared anew, under other names. */
  forget(): void;
}

/** Each connection keeps a plan for each name. The program has fewer statements than this that it runs all day. */
const NAMES_MAX = 300;
/** Statements that were met once; most of what is built of a caller's filters never comes again. */
const MET_MAX = 2000;

/**
 * A page depends on how many rows its values have: it is planned for them each time. A claim takes from the beginning of an
 * index, whatever its values are.
 */
const isPlannedEachTime = (sql: string): boolean => /\blimit\b/i.test(sql) && !/\bskip locked\b/i.test(sql);

/** Prepares what comes a second time, under a name of its own. */
export function createPgStatements(): PgStatements {
  const known = new Map<string, { text: string; name?: string }>();
  const met = new Map<string, string>();
  let names = 0;
  let made = 0;

  function meet(sql: string): { text: string; name?: string } {
    const before = met.get(sql);
    if (before === undefined) {
      if (met.size >= MET_MAX) met.clear();
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

/** `?` becomes `$1`, `$2` and so on. No text in a statement of ours holds a question mark. */
function numbered(sql: string): string {
  let n = 0;
  return sql.replaceAll('?', () => `$${++n}`);
}
