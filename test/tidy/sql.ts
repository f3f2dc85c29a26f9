import ts from 'typescript';
import { readSources, type Problem, type SourceFile } from './tree.ts';

const sources = (root: string): SourceFile[] =>
  readSources(root, (file) => /^(src|bin|cli|console)\/.*(?<!\.test|\.gen)\.tsx?$/.test(file));

/** Files below this folder have what both databases share, and no table of ours. */
const isDatabaseItself = (file: string): boolean => file.startsWith('src/platform/db/');
const isStore = (file: string): boolean => file.endsWith('.store.ts');

// Each needs two words of the language in order, so that a sentence that begins with "select" does not match.
const STATEMENTS = [
  /^\s*(\(\s*)?select\s[\s\S]*\sfrom\s/,
  /^\s*select\s\S+\s+as\s+\w+\s*$/,
  /\(\s*select\s[\s\S]*\sfrom\s/i,
  /\bexists\s*\(\s*select\b/i,
  /^\s*insert\s+(or\s+\w+\s+)?into\s+\S+\s*(\(|select\b|values\b|default\b|$)/i,
  /^\s*update\s+(only\s+)?\S+\s+(as\s+\S+\s+)?set\s/i,
  /^\s*delete\s+from\s+\S+\s*(where\b|using\b|returning\b|$)/i,
  /^\s*with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+(not\s+)?(materialized\s+)?\(/i,
  /^\s*(create|alter|drop)\s+(unique\s+|temp\s+|virtual\s+)*(table|index|view|trigger|sequence)\s/i,
  /^\s*lock\s+table\s/i,
  /^\s*truncate\s+(table\s+)?\w+\s*$/i,
  /^\s*pragma\s+\w+/i,
  /^\s*vacuum\s+into\s/i,
  /^\s*begin\s+(immediate|exclusive|deferred)\b/i,
];

/** Folders that write SQL for the stores that call them, with the reason. */
const rendersSql: Record<string, string> = {
  'src/protocol/contact-filter/':
    'a filter becomes a condition by pure rules, beside the evaluator that must agree with it',
};

/** Wrappers of a database, which pass on an insertMany of any caller. */
const handsOnInserts = ['src/mail/events/without-webhooks.ts', 'src/tenancy/audit/audited-store.ts'];

export function findSqlOutsideStores(root: string): Problem[] {
  return sources(root)
    .filter(({ path }) => !isStore(path) && !isDatabaseItself(path))
    .filter(({ path }) => !Object.keys(rendersSql).some((folder) => path.startsWith(folder)))
    .flatMap(({ path, text }) => {
      const statements = textsIn(path, text).filter((part) => STATEMENTS.some((one) => one.test(part.text)));
      const inserts = handsOnInserts.includes(path) ? [] : insertsIn(path, text);
      return [...statements, ...inserts].map(({ line }) => ({
        at: `${path}:${line}`,
        says:
          'has SQL. Statements, and insertMany, stand in *.store.ts alone, where both databases are thought of. Write a function ' +
          'named by intent in the store of this folder, and call that.',
      }));
    });
}

/** Tables that another folder may write too, with the reason. Whoever adds one says what the owner cannot do for it. */
export const alsoWrittenBy: Record<string, { folder: string; why: string }[]> = {
  webhook_events: [
    {
      folder: 'src/mail/events',
      why: 'the outbox is filled in the transaction that records the event, and events know no resource',
    },
  ],
  team_invitations: [
    {
      folder: 'src/tenancy/members',
      why: 'invitations end with the role of the person who sent them, and are accepted into members, which know no invitation',
    },
  ],
  automation_runs: [
    {
      folder: 'src/mail/events',
      why: 'a run begins in the transaction that records the event, and events know no resource',
    },
  ],
  automation_entries: [{ folder: 'src/mail/events', why: 'who enters is decided where runs begin' }],
  webhook_listener_events: [
    {
      folder: 'src/mail/events',
      why: 'the outbox is filled in the transaction that records the event, and events know no stage',
    },
  ],
};

/** Writes to a table whose name is a parameter, with the reason. */
const writesAnyTable: Record<string, string> = {
  'src/platform/work-loop/leases.store.ts': 'the two columns of a lease, in the tables that its type LeasedTable names',
  'src/tenancy/instance/instance.store.ts': 'a new instance key seals the sealed columns of every table anew',
  'src/features/customers/erased-mail.store.ts':
    'an address is erased from every table of mail, in transactions that contain all rows of an email',
  'src/features/customers/team-rows.store.ts':
    'the deletion of a team removes its rows from every table, which team-tables.ts lists and a test compares with the database',
  'src/features/audience/contacts/values.store.ts':
    'one of contact_texts and contact_numbers, which are written nowhere else',
};

/** `insert into`, `update … set` and `delete from` in SQL; insertMany is found as a call. */
const WRITES = [
  /\binsert\s+(?:or\s+\w+\s+)?into\s+([\w$]+)/gi,
  /\bdelete\s+from\s+([\w$]+)/gi,
  /\bupdate\s+(?:only\s+)?(?!set\b|of\b)([\w$]+)(?:\s+as\s+\w+)?\s+(?:set\s|\$)/gi,
];

/** The database notifies listeners and caches of a write by the table in its first words (`platform/db/memo.ts`). */
const NAMES_ITS_TABLE = /^\s*(?:insert\s+into|update|delete\s+from)\s+(?!only\b)[\w$]/i;

/** Finds writes in the middle of a statement, or in words that no listener matches. */
export function findUnheardWrites(root: string): Problem[] {
  return sources(root)
    .filter(({ path }) => isStore(path))
    .flatMap(({ path, text }) => textsIn(path, text).map((part) => ({ path, ...part })))
    .filter(({ text }) => WRITES.some((pattern) => text.search(pattern) >= 0))
    .filter(({ text }) => !NAMES_ITS_TABLE.test(text))
    .map(({ path, line }) => ({
      at: `${path}:${line}`,
      says:
        'writes to a table that is not named in its first words, so that nobody hears of it and what is remembered of the table ' +
        'goes on being answered. Begin with "insert into", "update" or "delete from" and the table.',
    }));
}

export function findSecondWriters(root: string): Problem[] {
  // There is no SQL at all outside stores.
  const writes = sources(root)
    .filter(({ path }) => isStore(path))
    .flatMap(({ path, text }) => writesIn(path, text));
  const nameless = writes
    .filter(({ table, path }) => table.includes('$') && !(path in writesAnyTable))
    .map(({ path, line }) => ({
      at: `${path}:${line}`,
      says: 'writes a table whose name is a parameter, so that nobody can say whose it is. Name the table.',
    }));
  const byTable = Map.groupBy(
    writes.filter(({ table }) => !table.includes('$')),
    ({ table }) => table,
  );
  const shared = [...byTable].flatMap(([table, all]) => {
    const allowed = (alsoWrittenBy[table] ?? []).map(({ folder }) => folder);
    const owners = [...new Set(all.map(({ folder }) => folder))].filter((folder) => !allowed.includes(folder));
    if (owners.length < 2) return [];
    const places = owners.map((folder) => {
      const files = all.filter((one) => one.folder === folder).map(({ path, line }) => `${path}:${line}`);
      return { folder, files: files.join(', ') };
    });
    return [
      {
        at: table,
        says:
          `is written by ${places.map(({ folder, files }) => `${folder} (${files})`).join(' and by ')}. A table is written by the ` +
          'stores of one folder, so that its rules stand in one place: export a function from the owner and call that, or say in ' +
          'test/tidy/sql.ts why both must.',
      },
    ];
  });
  const idle = Object.entries(alsoWrittenBy).flatMap(([table, others]) =>
    others
      .filter(({ folder }) => byTable.get(table)?.some((one) => one.folder === folder) === false)
      .map(({ folder }) => ({
        at: folder,
        says: `does not write ${table} any more; take it out of the exceptions in test/tidy/sql.ts.`,
      })),
  );
  return [...nameless, ...shared, ...idle];
}

interface Write {
  path: string;
  line: number;
  folder: string;
  table: string;
}

function writesIn(path: string, source: string): Write[] {
  const folder = toFolder(path);
  const statements = textsIn(path, source).flatMap(({ text, line }) =>
    WRITES.flatMap((pattern) => [...text.matchAll(pattern)]).map((match) => ({ line, table: match[1] ?? '' })),
  );
  return [...statements, ...insertsIn(path, source)].map(({ line, table }) => ({
    path,
    line,
    folder,
    table: table.toLowerCase(),
  }));
}

/** Returns the folder that owns a table when this file writes it: a feature, or a module of tenancy or mail. */
function toFolder(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 3).join('/');
}

/** Returns every text of a file, with a $ in place of each expression of a template. */
const textsIn = (path: string, source: string): { text: string; line: number }[] =>
  listNodes(path, source).flatMap(({ node, line }) => {
    const text = readText(node);
    return text === undefined ? [] : [{ text, line }];
  });

/** Returns every call of insertMany; a table that is not plain text is a $. */
function insertsIn(path: string, source: string): { table: string; line: number }[] {
  if (!source.includes('insertMany')) return [];
  return listNodes(path, source).flatMap(({ node, line }) => {
    if (!ts.isCallExpression(node) || !/(^|\.)insertMany$/.test(node.expression.getText())) return [];
    const [table] = node.arguments;
    return [{ table: table && ts.isStringLiteralLike(table) ? table.text : '$', line }];
  });
}

function listNodes(path: string, source: string): { node: ts.Node; line: number }[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: { node: ts.Node; line: number }[] = [];
  const visit = (node: ts.Node): void => {
    found.push({ node, line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1 });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function readText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return (
    node.head.text +
    node.templateSpans.map(({ expression, literal }) => `$${readName(expression)}${literal.text}`).join('')
  );
}

/** Returns the name of an expression, so that a table whose name is a parameter can be recognized. */
const readName = (expression: ts.Expression): string => (ts.isIdentifier(expression) ? expression.text : '');
