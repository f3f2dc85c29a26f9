import type { Executor, Value } from '../../../platform/db/index.ts';

/** Content that a row names: bytes in the table of contents, or a blob. */
export interface NamedContent {
  /** Key of the row that names it. */
  id: string;
  owner: string;
  name: string;
  /** Known only for images. */
  sha256: string | null;
}

interface Naming {
  table: string;
  /** Column by which the rows are ordered. */
  id: string;
  owner: string;
  /** Column, or a text in quotes. */
  name: string;
  where?: string;
  sha256?: string;
}

/** Every kind of row that names one content. */
const NAMINGS: readonly Naming[] = [
  ...['html', 'text'].map((part) => ({
    table: 'email_bodies',
    id: 'email_id',
    owner: 'email_id',
    name: `'${part}'`,
    where: `${part}_in_blob = 1`,
  })),
  { table: 'email_attachments', id: 'id', owner: 'email_id', name: 'id', where: 'message_start is null' },
  { table: 'email_messages', id: 'email_id', owner: 'email_id', name: "'message'", where: 'body is null' },
  ...['html', 'text', 'headers'].map((part) => ({
    table: 'received_bodies',
    id: 'received_id',
    owner: 'received_id',
    name: `'${part}'`,
    where: `${part}_in_blob = 1`,
  })),
  { table: 'received_emails', id: 'id', owner: 'id', name: "'raw.eml'", where: 'has_raw = 1' },
  { table: 'received_attachments', id: 'id', owner: 'received_id', name: 'id', where: 'is_stored = 1' },
  { table: 'images', id: 'id', owner: 'id', name: "'image'", sha256: 'content_hash' },
  { table: 'inbox_draft_files', id: 'id', owner: 'draft_id', name: 'id' },
  { table: 'playground_messages', id: 'id', owner: 'id', name: "'message.eml'" },
  { table: 'contact_imports', id: 'id', owner: 'id', name: "'file.csv'", where: 'file_removed_at is null' },
];

const PAGE = 500;

/** Yields all named contents, a page at a time, with the table that names them. */
export async function* namedContents(db: Executor): AsyncGenerator<{ table: string; named: NamedContent[] }> {
  for (const naming of NAMINGS) {
    let after: string | undefined;
    for (;;) {
      const named = await listPage(db, naming, after);
      if (named.length > 0) yield { table: naming.table, named };
      after = named.at(-1)?.id;
      if (named.length < PAGE) break;
    }
  }
}

function listPage(db: Executor, naming: Naming, after: string | undefined): Promise<NamedContent[]> {
  const { table, id, owner, name, where, sha256 } = naming;
  const conditions = [where, after === undefined ? undefined : `${id} > ?`].filter(Boolean);
  const values: Value[] = after === undefined ? [] : [after];
  return db.all<NamedContent>(
    `select ${id} as id, ${owner} as owner, ${name} as name, ${sha256 ?? 'null'} as sha256 from ${table}
      ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''} order by ${id} limit ?`,
    [...values, PAGE],
  );
}

/** Returns the contents of the owners that are stored in rows, as `owner/name`. */
export async function keysInRows(db: Executor, owners: readonly string[]): Promise<Set<string>> {
  const marks = owners.map(() => '?').join(', ');
  const sql = `select owner_id as owner, name from contents where owner_id in (${marks})`;
  const rows = owners.length === 0 ? [] : await db.all<{ owner: string; name: string }>(sql, owners);
  return new Set(rows.map(({ owner, name }) => `${owner}/${name}`));
}
