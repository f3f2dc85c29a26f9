import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertReceived } from '../../../src/mail/received-emails/index.ts';
import { driver } from '../../rig/database.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

async function fetchPage(team: Team, query: Record<string, string>) {
  const at = `/emails/receiving?${new URLSearchParams(query)}`;
  const { status, body } = await scene.api('GET', at, { key: team.key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as { has_more: boolean; data: { id: string; from: string; subject: string }[] };
}
const listSubjects = ({ data }: { data: { subject: string }[] }): string[] => data.map(({ subject }) => subject);

let count = 0;
/** Receives a message with this From in its header, or none. */
const receive = (team: Team, subject: string, from: string | undefined, mailFrom?: string) =>
  receiveMail(scene, team, {
    raw: [
      ...(from === undefined ? [] : [`From: ${from}`]),
      `Subject: ${subject}`,
      `Message-ID: <${++count}@example.org>`,
      '',
      'Hello',
    ].join('\r\n'),
    ...(mailFrom === undefined ? {} : { mailFrom }),
  });

describe('search of GET /emails/receiving', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await receive(team, 'named', 'Bob <Ada@Example.org>');
    await receive(team, 'bare', 'adam@example.org');
    await receive(team, 'quoted name', '"bob <x@y.example>" <zoe@example.org>');
    await receive(team, 'marks', 'a_b%c@example.org');
    await receive(team, 'no marks', 'axbyc@example.org');
    await receive(team, 'accent', '=?utf-8?q?=C3=89mile?= <émile@example.org>');
    await receive(team, 'domain', 'eva@bücher.example');
    await receive(team, 'quoted', '"b q"@example.org');
    await receive(team, 'no header', undefined, 'Silent@example.org');
    await receive(team, 'notice', undefined, '');
    await receive(team, 'envelope is another', 'header@example.org', 'bounces@example.org');
    await receive(team, 'two', 'first@example.org, second@example.org');
  });

  it.each([
    ['ada', ['bare', 'named']],
    ['ADA@EXAMPLE', ['named']],
    ['ada@example.org', ['named']],
    ['bob', []],
    ['x@y', []],
    ['zoe@', ['quoted name']],
    ['example.org', []],
    ['a_', ['marks']],
    ['a%', []],
    ['%', []],
    ['É', ['accent']],
    ['e\u0301mile@', ['accent']],
    ['EVA@BÜCHER.example', ['domain']],
    ['eva@xn--', ['domain']],
    ['"b', ['quoted']],
    ['silent@', ['no header']],
    ['header@', ['envelope is another']],
    ['bounces@', []],
    ['first@', ['two']],
    ["' or 1=1 --", []],
    ['\u{10ffff}', []],
  ])('finds the right emails for %j', async (search, found) => {
    expect(listSubjects(await fetchPage(team, { search }))).toEqual(found);
  });

  it('finds a sender by the start of an address that is longer than the index', async () => {
    // Characters of three bytes, all different, because PostgreSQL compresses repetition.
    const local = Array.from({ length: 950 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000))).join('');
    await receive(team, 'long', `${local}@example.org`);
    expect(listSubjects(await fetchPage(team, { search: local.slice(0, 200) }))).toEqual(['long']);
    expect(listSubjects(await fetchPage(team, { search: `${local.slice(0, 199)}x` }))).toEqual([]);
  });

  it('does not find deleted emails', async () => {
    const id = await receive(team, 'short-lived', 'gone@example.org');
    expect(listSubjects(await fetchPage(team, { search: 'gone@' }))).toEqual(['short-lived']);
    await scene.api('DELETE', `/emails/receiving/${id}`, { key: team.key });
    expect(listSubjects(await fetchPage(team, { search: 'gone@' }))).toEqual([]);
  });

  it('takes 1 to 200 characters, of which one is not a space', async () => {
    expect(listSubjects(await fetchPage(team, { search: '😀'.repeat(200) }))).toEqual([]);
    for (const search of ['', ' ', 'x'.repeat(201)]) {
      const at = `/emails/receiving?search=${encodeURIComponent(search)}`;
      expect(await scene.api('GET', at, { key: team.key })).toMatchObject({
        status: 422,
        body: {
          name: 'invalid_parameter',
          message: expect.stringMatching(/^search must be 1 to 200 characters long and not blank; got /),
        },
      });
    }
  });

  it('finds nothing of another team', async () => {
    expect(listSubjects(await fetchPage(await scene.team(), { search: 'ada' }))).toEqual([]);
  });
});

const FILLED = 14_000;
const FEW = 130;
const sender = (n: number): string => `${n < FEW ? 'few' : n % 2 === 0 ? 'many' : 'else'}-${n}@example.org`;

/** Writes emails, oldest first. */
async function fill(team: Team): Promise<void> {
  const { db, ids } = scene.app.world;
  const rows = Array.from({ length: FILLED }, (_, n) => {
    const id = ids.uuid();
    const email = {
      id,
      team_id: team.id,
      sender: sender(n),
      to_list: '[]',
      cc_list: null,
      bcc_list: null,
      reply_to_list: null,
      subject: '',
      message_id: '',
      received_for: '[]',
      dropped_reason: null,
      attachment_count: 0,
      has_raw: 0,
      stored_bytes: 0,
      mail_from: '',
      client_address: '',
      client_name: '',
      authentication: null,
      fingerprint: null,
      created_at: 0,
      not_forwarded: null,
    };
    const body = { received_id: id, html: null, text: null, headers: null };
    const places = { html_in_blob: 0, text_in_blob: 0, headers_in_blob: 0 };
    return { email, body: { ...body, ...places }, attachments: [], contents: [] };
  });
  await db.tx((tx) => insertReceived(tx, rows));
}

describe('search among many received emails', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await fill(team);
    const { db } = scene.app.world;
    await db.withKnex((knex) => knex.raw(driver === 'pg' ? 'vacuum analyze received_emails' : 'analyze'));
  });
  const listSenders = ({ data }: { data: { from: string }[] }): string[] => data.map(({ from }) => from);

  it.each(['few', 'many'])('pages in both directions: %s', async (search) => {
    const all = Array.from({ length: FILLED }, (_, n) => sender(FILLED - 1 - n)).filter((one) =>
      one.startsWith(search),
    );
    const first = await fetchPage(team, { search, limit: '100' });
    expect([first.has_more, listSenders(first)]).toEqual([true, all.slice(0, 100)]);
    const next = await fetchPage(team, { search, limit: '30', after: first.data.at(-1)?.id ?? '' });
    expect([next.has_more, listSenders(next)]).toEqual([all.length > 130, all.slice(100, 130)]);
    const back = await fetchPage(team, { search, limit: '7', before: next.data[0]?.id ?? '' });
    expect([back.has_more, listSenders(back)]).toEqual([true, all.slice(93, 100)]);
  });

  it.each([
    ['few', FEW],
    ['nobody', 0],
  ])('for %s reads only matches, by an index', async (search, found) => {
    const { db } = scene.app.world;
    const plans = await explainQueries(db, () => fetchPage(team, { search }), ' received_emails ', 'sender_key');
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toContain('received_emails_sender_start');
      expect(plan).not.toMatch(/Seq Scan on received_emails|SCAN received_emails|\(team_id=\?\)/);
      expect(rowsRead(plan)).toBeLessThanOrEqual(Math.max(found, 1));
    }
  });

  it('reads no more than a page when many match', async () => {
    const { db } = scene.app.world;
    const plans = await explainQueries(
      db,
      () => fetchPage(team, { search: 'many', limit: '10' }),
      ' received_emails ',
      'sender_key',
    );
    expect(plans).toHaveLength(2);
    // The number of matches decides: if half the table matches, PostgreSQL may read that much of the table instead.
    expect(plans[0]).toMatch(driver === 'pg' ? /Limit \(actual rows=5001/ : /received_emails_sender_start/);
    expect(plans[1]).not.toMatch(/Seq Scan|SCAN|Sort|TEMP B-TREE|sender_start/);
    expect(rowsRead(plans[1] ?? '')).toBeLessThanOrEqual(22);
  });
});
