import type { Erasure } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import type { Row } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import type { Store } from '../../platform/store.ts';
import { countConfirmationMails, countConsentsOfEmail } from '../audience/index.ts';
import { countErasedRecipients } from '../campaigns/index.ts';
import { findCommonPart, hasAddress } from './address-in-text.ts';
import { searchRows, searchTeamTable, SEARCHED, type SearchedTable } from './erased-mail.store.ts';
import { HASHED_TABLES, KEPT_TABLES_OF_PERSON, NOT_SEARCHED } from './person-tables.ts';
import { findShape, loadShapes } from './team-rows.store.ts';

/** Counts the rows of each table that an erasure removes or changes. A row that is changed twice counts once. */
export class ErasureCounts {
  readonly #removed = new Map<string, number>();
  readonly #changed = new Map<string, Map<string, number>>();

  remove(table: string, rows: number): void {
    this.#removed.set(table, (this.#removed.get(table) ?? 0) + rows);
  }

  change(table: string, key: Row, rows: number): void {
    const changed = this.#changed.get(table) ?? new Map<string, number>();
    changed.set(JSON.stringify(key), rows);
    this.#changed.set(table, changed);
  }

  /** Returns the counts that are not zero, by the name of the table. */
  list(): Erasure['erased'] {
    const tables = [...new Set([...this.#removed.keys(), ...this.#changed.keys()])].sort();
    return tables
      .map((table) => {
        const changed = [...(this.#changed.get(table)?.values() ?? [])].reduce((sum, rows) => sum + rows, 0);
        return { table, rows: (this.#removed.get(table) ?? 0) + changed };
      })
      .filter(({ rows }) => rows > 0);
  }
}

interface Person {
  store: Store;
  teamId: string;
  emailKey: string;
}

type Kept = Erasure['kept'];

/** Returns the rows that have the address or its hash after an erasure, with the reasons. */
export async function listKept(person: Person, { withMail }: { withMail: boolean }): Promise<Kept> {
  const hashed = await countHashed(person);
  const found = withMail ? await countByText(person) : await countSuppressions(person);
  return [...hashed, ...found].filter(({ rows }) => rows > 0).toSorted((a, b) => (a.table < b.table ? -1 : 1));
}

async function countHashed({ store: { db }, teamId, emailKey }: Person): Promise<Kept> {
  const counts: Record<string, number> = {
    consent_records: await countConsentsOfEmail(db, { teamId, emailKey }),
    topic_confirmation_mails: await countConfirmationMails(db, { teamId, emailKey }),
    broadcast_recipients: await countErasedRecipients(db, { teamId, emailKey }),
  };
  return Object.entries(HASHED_TABLES).map(([table, reason]) => ({ table, rows: counts[table] ?? 0, reason }));
}

const countSuppressions = (person: Person): Promise<Kept> => countInTables(person, ['suppressions']);

/** Searches the tables for the address: large ones row by row in the order of their ids, and small ones as a whole. */
async function countByText(person: Person): Promise<Kept> {
  const large = Object.keys(KEPT_TABLES_OF_PERSON).filter((table): table is SearchedTable => table in SEARCHED);
  const counted: Kept = [];
  for (const table of large) {
    let rows = 0;
    await eachRowWith(person, table, () => {
      rows += 1;
      return Promise.resolve();
    });
    counted.push({ table, rows, reason: KEPT_TABLES_OF_PERSON[table] ?? '' });
    // The payload of an event is written when it is sent.
    if (table === 'events') {
      counted.push({ table: 'webhook_payloads', rows, reason: KEPT_TABLES_OF_PERSON.webhook_payloads ?? '' });
    }
  }
  const done = new Set([...large, 'webhook_payloads']);
  const small = Object.keys(KEPT_TABLES_OF_PERSON).filter((table) => !done.has(table));
  return [...counted, ...(await countInTables(person, small))];
}

async function countInTables({ store, teamId, emailKey }: Person, tables: readonly string[]): Promise<Kept> {
  const shapes = await loadShapes(store.db);
  const text = findCommonPart(emailKey);
  const counted: Kept = [];
  for (const table of tables) {
    const rows = await searchTeamTable(store.db, findShape(shapes, table), { teamId, text });
    const holding = rows.filter((row) => isInRow(row, emailKey)).length;
    counted.push({ table, rows: holding, reason: KEPT_TABLES_OF_PERSON[table] ?? '' });
    await nextTurn();
  }
  return counted;
}

/** Reports whether a text of a row has the address, in any of its spellings. */
export const isInRow = (row: Row, emailKey: string): boolean =>
  Object.values(row).some((value) => typeof value === 'string' && hasAddress(value, emailKey));

/** Reads all rows of a team's table in whose texts the address is. */
export async function eachRowWith(
  { store, teamId, emailKey }: Person,
  table: SearchedTable,
  visit: (row: Row) => Promise<void>,
): Promise<void> {
  const text = findCommonPart(emailKey);
  for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
    const { rows, lastId } = await searchRows(store.db, table, { teamId, afterId, text });
    for (const row of rows) if (isInRow(row, emailKey)) await visit(row);
    afterId = lastId;
    await nextTurn();
  }
}

/** Says what an erasure does not search. */
export const listNotSearched = (): Erasure['not_searched'] =>
  Object.entries(NOT_SEARCHED).map(([table, reason]) => ({ table, reason }));
