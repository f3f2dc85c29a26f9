import Sqlite from 'better-sqlite3';
import { randomBytes, randomUUID } from 'node:crypto';
import { answerOrders } from './children.ts';
import { COMMON_STATUS, RARE_STATUS, type Filled } from './list-filters.ts';

/** Fills a migrated database with emails directly: a million of them through the API would take all day. */
export interface FillOrder {
  file: string;
  emails: number;
  teamId: string;
  apiKeyId: string;
}

/** The same number at ten thousand and at a million, so that both answers have the same length and only the search differs. */
const RARE = 60;
/** The measured team has two fifths of all emails, another one as many, and many small ones the remainder. */
const OWN_SHARE = 0.4;
const DAYS = 30;

interface Index {
  name: string;
  sql: string;
}

answerOrders<FillOrder>((order): Filled => {
  const database = new Sqlite(order.file);
  database.pragma('journal_mode = MEMORY');
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -200000');
  // The indexes are those of the migrations; building them at the end takes a third of the time.
  const find =
    "select name, sql from sqlite_master where type = 'index' and tbl_name in ('emails', 'email_bodies') and sql is not null";
  const indexes = database.prepare(find).all() as Index[];
  for (const { name } of indexes) database.exec(`drop index ${name}`);
  const filled = fill(database, order);
  for (const { sql } of indexes) database.exec(sql);
  database.pragma('journal_mode = WAL');
  database.close();
  return filled;
});

function fill(database: Sqlite.Database, { emails, teamId, apiKeyId }: FillOrder): Filled {
  const domain = database.prepare('select id from domains limit 1').get() as { id: string } | undefined;
  const domainId = domain?.id ?? randomUUID();
  const rareKeyId = randomUUID();
  const otherKeyId = randomUUID();
  const others = [randomUUID(), ...Array.from({ length: 40 }, () => randomUUID())];
  const insertEmail = insertInto(database, 'emails', EMAIL_COLUMNS);
  const insertBody = insertInto(database, 'email_bodies', ['email_id', 'html', 'text', 'html_in_blob', 'text_in_blob']);
  const until = Date.now() - 60_000;
  const from = until - DAYS * 86_400_000;
  const own = Math.round(emails * OWN_SHARE);
  const spread: string[] = [];
  let ownSoFar = 0;
  const write = database.transaction((begin: number, end: number) => {
    for (let i = begin; i < end; i++) {
      const at = Math.round(from + ((until - from) * i) / emails);
      const id = uuidAt(at, i);
      const isOwn = Math.floor(((i + 1) * own) / emails) > Math.floor((i * own) / emails);
      const team = isOwn ? teamId : (others[i % 3 === 0 ? 0 : 1 + (i % 40)] ?? teamId);
      const which = isOwn ? ownSoFar++ : i;
      // The rare ones are spread evenly through the whole list: the worst place for a scan.
      const isRare = isOwn ? isOneOf(which, own, RARE, 0) : i % 100 === 0;
      const isRareKey = isOwn && isOneOf(which, own, RARE, 0.5);
      const key = !isOwn ? randomUUIDLike(i) : isRareKey ? rareKeyId : which % 10 < 3 ? otherKeyId : apiKeyId;
      insertEmail.run(emailRow({ id, team, key, domainId, at, i, status: isRare ? RARE_STATUS : chooseStatus(i) }));
      insertBody.run([id, buildBody(i, 420), buildBody(i, 160), 0, 0]);
      if (isOwn && which % Math.ceil(own / 400) === 0) spread.push(id);
    }
  });
  for (let begin = 0; begin < emails; begin += 50_000) write(begin, Math.min(emails, begin + 50_000));
  return { rareKeyId, otherKeyId, spread: spread.reverse(), from, until };
}

const EMAIL_COLUMNS = [
  'id', 'team_id', 'api_key_id', 'domain_id', 'sender', 'to_list', 'subject', 'message_id', 'tags', 'attachment_count',
  'last_event', 'created_at', 'search_text',
]; // oxfmt-ignore

function insertInto(database: Sqlite.Database, table: string, columns: readonly string[]): Sqlite.Statement {
  return database.prepare(`insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`);
}

interface Email {
  id: string;
  team: string;
  key: string;
  domainId: string;
  at: number;
  i: number;
  status: string;
}

function emailRow({ id, team, key, domainId, at, i, status }: Email): (string | number)[] {
  const to = `reader${(i * 7919) % 100_000}@mail${i % 50}.reader.test`;
  const subject = `Your order ${i} has left our house and will be with you on Thursday`;
  const sender = 'The Sender <hello@news.sender.test>';
  const tags = '[{"name":"kind","value":"order-sent"}]';
  const search = `${subject}\nhello@news.sender.test\n${to}`.toLowerCase();
  return [
    id,
    team,
    key,
    domainId,
    sender,
    JSON.stringify([to]),
    subject,
    `<${id}@news.sender.test>`,
    tags,
    0,
    status,
    at,
    search,
  ];
}

/** True for `count` of `among`, evenly spread and shifted by a part of their distance. */
function isOneOf(which: number, among: number, count: number, shift: number): boolean {
  const place = (n: number): number => Math.floor((n * count) / among + shift);
  return place(which + 1) > place(which);
}

function chooseStatus(i: number): string {
  const part = (i * 2_654_435_761) % 1000;
  if (part < 900) return COMMON_STATUS;
  if (part < 950) return 'opened';
  if (part < 970) return 'clicked';
  return part < 995 ? 'bounced' : 'suppressed';
}

const FILLER =
  'the order parcel left house today will arrive on thursday between noon and four please keep this number for your records ';

const buildBody = (i: number, bytes: number): string =>
  `<p>Order ${i}</p>${FILLER.repeat(Math.ceil(bytes / FILLER.length)).slice(0, bytes)}`;

const tails = randomBytes(4096).toString('hex');

/** Returns an id in the product's form: the millisecond, a counter, random digits. */
function uuidAt(ms: number, i: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const from = (i * 5) % 8000;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${(i & 0xfff).toString(16).padStart(3, '0')}-8${tails.slice(from, from + 3)}-${i.toString(16).padStart(12, '0')}`;
}

const randomUUIDLike = (i: number): string => `0199b000-0000-7000-8000-${(i % 90).toString(16).padStart(12, '0')}`;
