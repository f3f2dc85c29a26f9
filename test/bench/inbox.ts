import Sqlite from 'better-sqlite3';
import path from 'node:path';
import { systemClock } from '../../src/platform/clock.ts';
import { openDb } from '../../src/platform/db/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { indexInboxes } from '../../src/features/inbox/threads/search-threads.ts';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';

const SMALL = 10_000;
const LARGE = 1_000_000;
const EMAILS_A_THREAD = 10;
const CALLS = 60;
const WARM_UP = 4;
const ROWS = 20;
const BEGINS_AT = Date.UTC(2026, 0, 1);
const STEP_MS = 1000;
const INBOX = '019b7c5e-7c00-7000-8000-000000000001';
const LABEL = '019b7c5e-7c00-7000-8000-000000000002';
const ADDRESS = 'support@bench.test';

interface Side {
  appliance: Appliance;
  threads: number;
}

/** Calls in an inbox by number of threads, with the number of rows in the answer. */
const CALLED: readonly { name: string; rows: number; ask: (threads: number, turn: number) => string }[] = [
  { name: 'a page of threads', rows: ROWS, ask: () => `/threads?limit=${ROWS}` },
  {
    name: 'a page from the middle on',
    rows: ROWS,
    ask: (threads) => `/threads?limit=${ROWS}&after=${buildThreadId(threads / 2)}`,
  },
  { name: 'a page of unread, one in fifty', rows: ROWS, ask: () => `/threads?limit=${ROWS}&folders=inbox&read=false` },
  { name: 'a page of a label, one in forty', rows: ROWS, ask: () => `/threads?limit=${ROWS}&labels=${LABEL}` },
  {
    name: 'opening a thread',
    rows: EMAILS_A_THREAD,
    ask: (threads, turn) => `/threads/${buildThreadId((threads / CALLS) * turn)}/emails?limit=${ROWS}`,
  },
  {
    name: 'a search for one order',
    rows: 1,
    ask: (threads, turn) => `/threads/search?query=order-${threads - 1 - turn}x`,
  },
  {
    name: 'a search for a word, one in twenty',
    rows: ROWS,
    ask: () => `/threads/search?limit=${ROWS}&query=refund`,
  },
  {
    name: 'a search for a customer',
    rows: 1,
    ask: (threads, turn) => `/threads/search?from=${buildCustomer((threads / CALLS) * turn)}`,
  },
];

/** Measures an inbox with a hundred times the mail: its pages, its searches, and opening a thread. */
export async function benchInbox(bench: Bench): Promise<void> {
  const emails = bench.quick ? LARGE / 5 : LARGE;
  const begin = performance.now();
  const small = await makeSide(bench, SMALL);
  const large = await makeSide(bench, emails);
  bench.say(`filled in ${Math.round((performance.now() - begin) / 1000)} s`);
  for (const called of CALLED) {
    const times = { small: [] as number[], large: [] as number[] };
    for (let turn = -WARM_UP; turn < CALLS; turn++) {
      const ms = { small: await time(small, called, turn), large: await time(large, called, turn) };
      if (turn < 0) continue;
      times.small.push(ms.small);
      times.large.push(ms.large);
    }
    bench.add({
      name: `inbox of ${bench.quick ? '200 thousand' : '1 million'} emails, ${called.name}`,
      value: median(times.large),
      unit: 'ms',
      baseline: { name: 'ms at 10 thousand', value: median(times.small) },
      target: { is: 'at most', value: 1.5, of: 'ratio' },
    });
  }
}

async function time(side: Side, called: (typeof CALLED)[number], turn: number): Promise<number> {
  const asked = called.ask(side.threads, Math.abs(turn));
  const begin = performance.now();
  const page = (await side.appliance.call('GET', `/inboxes/${INBOX}${asked}`)) as { data: unknown[] };
  const ms = performance.now() - begin;
  if (page.data.length !== called.rows) throw new Error(`${asked} answers ${page.data.length} rows`);
  return ms;
}

async function makeSide(bench: Bench, emails: number): Promise<Side> {
  const dataDir = bench.folder('inbox');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  const file = path.join(dataDir, 'rasket.db');
  const threads = emails / EMAILS_A_THREAD;
  fill(file, teamId, { emails, threads });
  // This is what a server does after mail has arrived, minute by minute.
  const db = await openDb({ driver: 'better-sqlite3', file, url: '', poolMax: 1 });
  const store = { db, clock: systemClock } as Store;
  while ((await indexInboxes(store)) > 0);
  await db.close();
  const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key, roles: 'http' });
  bench.stopLater(() => appliance.kill());
  return { appliance, threads };
}

/** Writes one email a second, in turn between the threads, so that the emails of a thread are far apart. */
function fill(file: string, teamId: string, { emails, threads }: { emails: number; threads: number }): void {
  const database = new Sqlite(file);
  database.pragma('synchronous = off');
  database
    .prepare(
      `insert into inboxes (id, team_id, domain_id, address, address_key, channel, agent_actions, created_at, updated_at)
        values (?, ?, ?, ?, ?, 'open', '[]', ?, ?)`,
    )
    .run(INBOX, teamId, INBOX, ADDRESS, ADDRESS, BEGINS_AT, BEGINS_AT);
  database
    .prepare(
      `insert into inbox_labels (id, inbox_id, name, name_key, color, created_at) values (?, ?, 'A', 'a', 'red', ?)`,
    )
    .run(LABEL, INBOX, BEGINS_AT);
  const insertThread = fillThread(database, teamId, { emails, threads });
  const insertEmail = fillEmail(database, teamId, threads);
  database.transaction(() => {
    for (let t = 0; t < threads; t++) insertThread(t);
    for (let n = 0; n < emails; n++) insertEmail(n);
  })();
  database.exec('analyze');
  database.close();
}

function fillThread(
  database: Sqlite.Database,
  teamId: string,
  { emails, threads }: { emails: number; threads: number },
): (t: number) => void {
  const thread = database.prepare(
    `insert into inbox_threads (id, team_id, inbox_id, subject, subject_key, folder, is_read, sort_id, email_count,
      has_attachment, last_at, sender, to_list, cc_list, bcc_list, snippet, created_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, '[]', '[]', 'Hello, the parcel has not come.', ?)`,
  );
  const labelled = database.prepare(
    'insert into inbox_thread_labels (thread_id, label_id, folder, is_read, sort_id) values (?, ?, ?, ?, ?)',
  );
  const taking = database.prepare('insert into inbox_participants (inbox_id, address_key, thread_id) values (?, ?, ?)');
  return (t) => {
    const id = buildThreadId(t);
    const sortId = buildId(emails - threads + t);
    const folder = t % 4 === 0 ? 'archive' : 'inbox';
    const isRead = t % 50 === 1 ? 0 : 1;
    const lastAt = BEGINS_AT + (emails - threads + t) * STEP_MS;
    const subject = `Where is my parcel order-${t}x?`;
    const to = JSON.stringify([ADDRESS]);
    const head = [id, teamId, INBOX, subject, subject.toLowerCase(), folder, isRead, sortId, EMAILS_A_THREAD];
    thread.run(...head, lastAt, buildCustomer(t), to, BEGINS_AT + t * STEP_MS);
    taking.run(INBOX, buildCustomer(t), id);
    if (t % 40 === 1) labelled.run(id, LABEL, folder, isRead, sortId);
  };
}

function fillEmail(database: Sqlite.Database, teamId: string, threads: number): (n: number) => void {
  const received = database.prepare(
    `insert into received_emails (id, team_id, sender, to_list, cc_list, bcc_list, reply_to_list, subject, message_id,
      received_for, attachment_count, has_raw, stored_bytes, mail_from, client_address, client_name, created_at)
      values (?, ?, ?, ?, '[]', '[]', '[]', ?, ?, ?, 0, 0, 1000, ?, '192.0.2.1', 'mx.example', ?)`,
  );
  const body = database.prepare(
    `insert into received_bodies (received_id, text, headers, html_in_blob, text_in_blob, headers_in_blob)
      values (?, ?, '{}', 0, 0, 0)`,
  );
  const filed = database.prepare(
    `insert into inbox_emails (inbox_id, email_id, thread_id, team_id, direction, is_read, has_attachment, from_text, to_text,
      cc_text, bcc_text, body_text) values (?, ?, ?, ?, 'inbound', 1, 0, ?, ?, '', '', ?)`,
  );
  const addresses = JSON.stringify([ADDRESS]);
  return (n) => {
    const t = n % threads;
    const id = buildId(n);
    const customer = buildCustomer(t);
    const subject = `Where is my parcel order-${t}x?`;
    const text = `Hello, it is number ${n * 7919} and has not come since ${n % 28}.${n % 12}. ${n % 20 === 0 ? 'I would like a refund. ' : ''}Could you look where it is? `;
    const at = BEGINS_AT + n * STEP_MS;
    received.run(id, teamId, customer, addresses, subject, `<${n}@reader.test>`, addresses, customer, at);
    body.run(id, text.repeat(4));
    filed.run(INBOX, id, buildThreadId(t), teamId, customer, ADDRESS, `${subject}\n${text}`.toLowerCase());
  };
}

const buildCustomer = (t: number): string => `customer${Math.floor(t)}x@reader.test`;

/** A thread has the id of its first email, a little earlier. */
const buildThreadId = (t: number): string => buildId(t).replace('-7000-8000-', '-7000-8001-');

function buildId(n: number): string {
  const time = (BEGINS_AT + Math.floor(n) * STEP_MS).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${Math.floor(n).toString(16).padStart(12, '0')}`;
}
