import type { Executor } from '../../platform/db/index.ts';

/** Neighboring emails of one team, from the first id to the last. */
export interface SearchBlock {
  id: number;
  first_id: string;
  last_id: string;
}

/** Returns the last email that is in a block. Newer emails have to be searched one by one. */
export async function indexedTo(db: Executor, teamId: string): Promise<string | undefined> {
  const sql = 'select last_id from email_search_blocks where team_id = ? order by last_id desc limit 1';
  return (await db.get<{ last_id: string }>(sql, [teamId]))?.last_id;
}

export async function insertBlock(
  tx: Executor,
  teamId: string,
  { first_id, last_id }: Omit<SearchBlock, 'id'>,
  grams: ReadonlySet<number>,
): Promise<void> {
  if (tx.dialect === 'pg') {
    const sql = 'insert into email_search_blocks (team_id, first_id, last_id, grams) values (?, ?, ?, ?::integer[])';
    await tx.run(sql, [teamId, first_id, last_id, `{${[...grams].join(',')}}`]);
    return;
  }
  const sql = 'insert into email_search_blocks (team_id, first_id, last_id) values (?, ?, ?) returning id';
  const row = await tx.get<{ id: number }>(sql, [teamId, first_id, last_id]);
  if (!row) throw new Error('search block id missing after insert');
  await tx.run('insert into email_search_grams (rowid, grams) values (?, ?)', [row.id, formatGrams([...grams])]);
}

export interface BlockSearch {
  teamId: string;
  /** Numbers that the block must all contain. */
  grams: readonly number[];
  order: 'desc' | 'asc';
  /** The edges of the requested range, both exclusive. */
  above: string | undefined;
  below: string | undefined;
  /** The last block of the previous result. */
  seen: number | undefined;
  limit: number;
}

/** Lists blocks that may contain a match, in the order of their emails. Blocks of a team are made oldest first. */
export function listBlocksToSearch(db: Executor, search: BlockSearch): Promise<SearchBlock[]> {
  const { teamId, grams, order, above, below, seen, limit } = search;
  const isPg = db.dialect === 'pg';
  const where = ['b.team_id = ?'];
  const values: (string | number)[] = [teamId];
  const narrow = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values.push(value);
  };
  if (isPg) narrow('b.grams @> ?::integer[]', `{${grams.join(',')}}`);
  else narrow('g.email_search_grams match ?', formatGrams(grams));
  narrow('b.last_id > ?', above);
  narrow('b.first_id < ?', below);
  narrow(`${isPg ? 'b.id' : 'g.rowid'} ${order === 'desc' ? '<' : '>'} ?`, seen);
  const from = isPg
    ? 'email_search_blocks b'
    : 'email_search_grams g cross join email_search_blocks b on b.id = g.rowid';
  const found = `select b.id, b.first_id, b.last_id from ${from} where ${where.join(' and ')}`;
  // Use the index alone: in the order of ids, PostgreSQL would unpack the contents of each block.
  const sql = isPg
    ? `with found as materialized (${found}) select * from found order by id ${order} limit ?`
    : `${found} order by g.rowid ${order} limit ?`;
  return db.all<SearchBlock>(sql, [...values, limit]);
}

/** Removes up to `limit` blocks whose emails are all gone; returns how many were removed. */
export async function removeBlocksBefore(
  tx: Executor,
  teamId: string,
  oldestId: string | undefined,
  limit: number,
): Promise<number> {
  const before = oldestId === undefined ? '' : 'and last_id < ?';
  const sql = `delete from email_search_blocks where id in
    (select id from email_search_blocks where team_id = ? ${before} order by last_id limit ?) returning id`;
  const gone = await tx.all<{ id: number }>(sql, [teamId, ...(oldestId === undefined ? [] : [oldestId]), limit]);
  if (tx.dialect === 'sqlite' && gone.length > 0) {
    await tx.runEach(
      'delete from email_search_grams where rowid = ?',
      gone.map(({ id }) => [id]),
    );
  }
  return gone.length;
}

/** Formats words for the full-text index, which knows letters and digits only. */
const formatGrams = (grams: readonly number[]): string => grams.map((gram) => `g${gram.toString(36)}`).join(' ');
