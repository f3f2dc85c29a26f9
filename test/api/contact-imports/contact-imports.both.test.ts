import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLeases } from '../../../src/platform/work-loop/index.ts';
import { claimImports } from '../../../src/features/audience/contact-imports/contact-imports.store.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { importedIn, uploadIn, type Given } from './importing.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { plans: { tiny: { name: 'Tiny', contact_limit: 3 } } } });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const upload = (...given: Given) => uploadIn(scene, ...given);
const imported = (...given: Given) => importedIn(scene, ...given);
const fetchContacts = async (team: Team) =>
  (await call(team, 'GET', '/contacts?limit=100')).body.data.toReversed() as {
    email: string;
    first_name: string | null;
    unsubscribed: boolean;
  }[];
const loadEmails = async (team: Team) => (await fetchContacts(team)).map(({ email }) => email);

describe('POST /contacts/imports', () => {
  it('reports the columns that are not imported and what happens to existing contacts', async () => {
    const team = await scene.team();
    const file = 'email,Phone,first_name,,Notes \nada@example.org,1,Ada,2,x\n';
    const read = async (id: string) => (await call(team, 'GET', `/contacts/imports/${id}`)).body;
    expect(await read((await imported(team, file)).id)).toMatchObject({
      on_conflict: 'skip',
      ignored_columns: [
        { column: 2, name: 'Phone' },
        { column: 4, name: null },
        { column: 5, name: 'Notes' },
      ],
    });
    const mapped = { email: 'email', properties: { phone: { column: 'Phone' } } };
    const { id, counts } = await imported(team, file, { column_map: mapped, on_conflict: 'upsert' });
    expect(counts).toMatchObject({ updated: 1, skipped: 0 });
    const { on_conflict: onConflict, ignored_columns: ignored } = await read(id);
    expect([onConflict, ignored.map(({ column }: { column: number }) => column)]).toEqual(['upsert', [4, 5]]);
  });

  it('reads a file by obvious column names, and reports the outcome', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
    const file =
      'E-Mail,First Name,last_name,PLAN,Notes\nada@Example.org,Ada,Lovelace,pro,x\r\n\r\n bob@example.org ,,,,\n';
    const { id, counts, status, failures } = await imported(team, file);
    expect([status, counts, failures]).toEqual([
      'completed',
      { total: 2, created: 2, updated: 0, skipped: 0, failed: 0 },
      [],
    ]);
    expect((await call(team, 'GET', '/contacts/ada@example.org')).body).toMatchObject({
      email: 'ada@example.org',
      first_name: 'Ada',
      last_name: 'Lovelace',
      unsubscribed: false,
      properties: { plan: 'pro' },
    });
    expect((await call(team, 'GET', '/contacts/bob@example.org')).body).toMatchObject({
      first_name: null,
      properties: {},
    });
    const at = new Date(scene.clock.now()).toISOString();
    const item = {
      id,
      status: 'completed',
      created_at: at,
      completed_at: at,
      counts,
      skipped_values: 0,
      on_conflict: 'skip',
      on_bad_value: 'fail_row',
      start_automations: false,
      columns: [
        { column: 1, name: 'E-Mail', field: 'email', recognized: true },
        { column: 2, name: 'First Name', field: 'first_name', recognized: true },
        { column: 3, name: 'last_name', field: 'last_name', recognized: true },
        { column: 4, name: 'PLAN', field: 'properties.plan', recognized: true },
      ],
      ignored_columns: [{ column: 5, name: 'Notes' }],
    };
    expect((await call(team, 'GET', `/contacts/imports/${id}`)).body).toEqual({ object: 'contact_import', ...item });
    for (const list of ['/contacts/imports', '/contacts/imports?status=completed']) {
      expect((await call(team, 'GET', list)).body).toEqual({ object: 'list', has_more: false, data: [item] });
    }
    expect((await call(team, 'GET', '/contacts/imports?status=queued')).body.data).toEqual([]);
    const { body } = await call(team, 'GET', '/contacts/ada@example.org');
    expect(await scene.events(body.id)).toEqual([]);
    expect((await call(team, 'GET', '/usage')).body.contacts.used).toBe(2);
  });

  it('reads a file by its column map, and declares the properties it names', async () => {
    const team = await scene.team();
    const file =
      'Mail;Vorname;Tarif;Plätze;VIP;weg\nada@example.org;Ada;Pro;k.A.;yes;no\nbob@example.org;Bob;;4;0;true\n';
    const column_map = {
      email: 'mail',
      first_name: 'Vorname',
      unsubscribed: 'weg',
      properties: {
        plan: 'Tarif',
        seats: { column: 'Plätze', type: 'number' },
        vip: { column: 'VIP', type: 'boolean' },
      },
    };
    const { counts, failures, file: read } = await imported(team, file, { column_map });
    expect(read).toEqual({ encoding: 'utf-8', delimiter: ';' });
    expect(failures).toEqual([{ row: 2, reason: 'seats must be a number', value: 'k.A.' }]);
    expect(counts).toEqual({ total: 2, created: 1, updated: 0, skipped: 0, failed: 1 });
    const bob = (await call(team, 'GET', '/contacts/bob@example.org')).body;
    expect(bob).toMatchObject({ first_name: 'Bob', unsubscribed: true, properties: { seats: 4, vip: false } });
    const types = (await call(team, 'GET', '/contact-properties')).body.data.map((one: { type: string }) => one.type);
    expect(types.sort()).toEqual(['boolean', 'number', 'string']);
    const filter = { all: [{ field: 'properties.vip', op: 'eq', value: false }] };
    expect((await call(team, 'POST', '/segments/preview', { filter })).body.contacts).toBe(1);
    expect((await scene.app.world.db.all('select 1 from consent_records where contact_id = ?', [bob.id])).length).toBe(
      1,
    );
  });

  it('takes ids of segments and topics from the columns that the map names', async () => {
    const team = await scene.team();
    const segment = (await call(team, 'POST', '/segments', { name: 'S' })).body.id;
    const topics: string[] = [];
    for (const [name, default_subscription] of [
      ['In', 'opt_out'],
      ['Out', 'opt_in'],
    ]) {
      topics.push((await call(team, 'POST', '/topics', { name, default_subscription })).body.id);
    }
    const file = `Mail,Lists,Yes,No,segment_ids\na@example.org,${segment},${topics[0]},${topics[1]},nonsense\n`;
    const column_map = { email: 'Mail', segment_ids: 'lists', opted_in_topic_ids: 'Yes', opted_out_topic_ids: 'No' };
    const { counts, failures } = await imported(team, file, { column_map });
    expect([counts['created'], failures]).toEqual([1, []]);
    expect((await call(team, 'GET', '/contacts/a@example.org/segments')).body.data).toMatchObject([{ id: segment }]);
    const chosen = (await call(team, 'GET', '/contacts/a@example.org/topics')).body.data;
    expect(chosen.map((one: { name: string; subscription: string }) => [one.name, one.subscription]).sort()).toEqual([
      ['In', 'opt_in'],
      ['Out', 'opt_out'],
    ]);
    const unnamed = await imported(team, file, { column_map: { email: 'Mail' }, on_conflict: 'upsert' });
    expect(unnamed.counts).toMatchObject({ updated: 1, failed: 0 });
  });

  it('writes one audit entry, and none if it is refused', async () => {
    const team = await scene.team();
    const { id } = await imported(team, 'email\na@example.org\nb@example.org\n');
    expect((await upload(team, '<html>')).status).toBe(422);
    const { data } = (await call(team, 'GET', '/audit')).body;
    const action = 'contact_import.created';
    expect(data.filter((entry: { action: string }) => entry.action === action)).toMatchObject([
      { action, subject_id: id, team_id: team.id, actor: { kind: 'api_key' }, address: '127.0.0.1' },
    ]);
  });

  it('skips or updates existing contacts, and never resubscribes anyone', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'plan', type: 'string' });
    await call(team, 'POST', '/contacts', {
      email: 'a@example.org',
      first_name: 'Old',
      unsubscribed: true,
      properties: { plan: 'x' },
    });
    const file =
      'email,first_name,unsubscribed,plan\nA@example.org,New,false,\nb@example.org,B,,y\nB@example.org,B2,true,\n';
    const skipped = await imported(team, file);
    expect(skipped.counts).toEqual({ total: 3, created: 1, updated: 0, skipped: 2, failed: 0 });
    expect((await fetchContacts(team)).map(({ first_name }) => first_name)).toEqual(['Old', 'B']);
    const upserted = await imported(team, file, { on_conflict: 'upsert' });
    expect(upserted.counts).toEqual({ total: 3, created: 0, updated: 3, skipped: 0, failed: 0 });
    expect((await fetchContacts(team)).map(({ first_name, unsubscribed }) => [first_name, unsubscribed])).toEqual([
      ['New', true],
      ['B2', true],
    ]);
    const updated = (await call(team, 'GET', '/contacts/a@example.org')).body;
    expect(updated.properties).toEqual({ plan: 'x' });
    // Rows cause no event for endpoints.
    expect((await scene.events(updated.id)).map(({ type }) => type)).toEqual(['contact.created']);
    const again = await scene.team();
    const fresh = await imported(again, 'email,first_name\nx@example.org,One\nX@example.org,Two\n', {
      on_conflict: 'upsert',
    });
    expect(fresh.counts).toMatchObject({ created: 1, updated: 1 });
    expect((await fetchContacts(again)).map(({ first_name }) => first_name)).toEqual(['Two']);
  });

  it('adds contacts to segments and sets topics', async () => {
    const team = await scene.team();
    const segment = (await call(team, 'POST', '/segments', { name: 'S' })).body.id;
    const topic = (await call(team, 'POST', '/topics', { name: 'T', default_subscription: 'opt_out' })).body.id;
    await imported(team, 'email\na@example.org\nb@example.org\n', {
      segments: [{ id: segment }],
      topics: [{ id: topic, subscription: 'opt_in' }],
    });
    expect((await call(team, 'GET', `/segments/${segment}/metrics`)).body.contacts).toBe(2);
    expect((await call(team, 'GET', '/contacts/a@example.org/topics')).body.data[0].subscription).toBe('opt_in');
  });

  it.each<[string, string, number]>([
    ['line feeds', '\n\n', 3],
    ['CRLF', '\r\n\r\n\r\n', 4],
    ['a byte order mark and CR', '\uFEFF\r', 2],
    ['blanks and a tab', '  \n\t\n', 3],
    ['rows of empty cells', ';;\r\n"";"";""\r\n', 3],
  ])('uses the first row with content as the header after %s', async (_, start, header) => {
    const team = await scene.team();
    const end = start.includes('\r') ? '\r\n' : '\n';
    const lines = ['email;first_name;x', 'a@example.org;Ada;1', 'nobody;;2', ''];
    const { counts, failures, status } = await imported(team, start + lines.join(end));
    expect([status, counts]).toEqual(['completed', { total: 2, created: 1, updated: 0, skipped: 0, failed: 1 }]);
    expect(failures).toMatchObject([{ row: header + 2, value: 'nobody' }]);
    expect(await fetchContacts(team)).toMatchObject([{ email: 'a@example.org', first_name: 'Ada' }]);
  });

  it.each<[string, (text: string) => Uint8Array, string]>([
    ['UTF-8', (text) => Buffer.from(text), 'utf-8'],
    ['UTF-8 with its mark', (text) => Buffer.from(`\uFEFF${text}`), 'utf-8'],
    ['UTF-16, little end first', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'), 'utf-16le'],
    ['UTF-16 without its mark', (text) => Buffer.from(text, 'utf16le'), 'utf-16le'],
    ['UTF-16, big end first', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(), 'utf-16be'],
    ['Windows-1252', (text) => Buffer.from(text, 'latin1'), 'windows-1252'],
  ])('detects and reads %s', async (_, encode, encoding) => {
    const team = await scene.team();
    const { file, counts } = await imported(team, encode('email\tfirst_name\r\na@example.org\tZoë Müßig\r\n'));
    expect([file.encoding, file.delimiter, counts['created']]).toEqual([encoding, '\t', 1]);
    expect((await fetchContacts(team))[0]?.first_name).toBe('Zoë Müßig');
  });

  it.each<[string, string, string | null]>([
    ['behind its mark', '\uFEFF', null],
    ['in most of its characters', '', 'Zoë Müßig'],
  ])('reads UTF-8 %s as UTF-8 despite broken bytes in values, and fails their rows', async (_, mark, name) => {
    const team = await scene.team();
    const head = `${mark}email,first_name,notes\na@example.org,${name ?? 'Zoe'},`;
    const broken = Buffer.from([0x4d, 0xc3]);
    const file = Buffer.concat([
      Buffer.from(head),
      broken,
      Buffer.from('\nb@example.org,'),
      broken,
      Buffer.from(',\n'),
    ]);
    const { file: read, counts, failures } = await imported(team, file);
    expect([read.encoding, counts['created'], counts['failed']]).toEqual(['utf-8', 1, 1]);
    expect(failures).toMatchObject([{ row: 3, reason: expect.stringContaining('not UTF-8'), value: 'M\uFFFD' }]);
    expect((await fetchContacts(team))[0]?.first_name).toBe(name ?? 'Zoe');
  });

  it('fails a row with a stray quote, without shifting values to other rows', async () => {
    const team = await scene.team();
    const rows = ['a@example.org,A', 'b@example.org,"B"b', 'c@example.org,"C"', 'd@example.org,D'];
    const { counts, failures } = await imported(team, `email,first_name\n${rows.join('\n')}\n`);
    expect(counts).toMatchObject({ created: 2, failed: 1 });
    expect(failures).toMatchObject([{ row: 3, reason: expect.stringContaining('quote') }]);
    expect(await loadEmails(team)).toEqual(['a@example.org', 'd@example.org']);
  });

  it('accepts names as long as the API does, and decimal numbers', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
    const numbers = [
      '7',
      ' +7.5 ',
      '.5',
      '1e3',
      '-2.',
      '1,5',
      '0x10',
      '0b1',
      'Infinity',
      '1_000',
      '--1',
      '1'.repeat(500_000) + 'x',
    ];
    const rows = numbers.map((number, i) => `n${i}@example.org,${'😀'.repeat(200)},"${number}"`);
    const { counts, failures } = await imported(team, `email,first_name,seats\n${rows.join('\n')}\n`);
    expect(counts).toMatchObject({ created: 6, failed: 6 });
    expect(failures.map(({ value }) => value)).toEqual([...numbers.slice(6, -1), expect.stringMatching(/^1+/)]);
  });

  it('reads double and single quotes, and every kind of line end', async () => {
    const team = await scene.team();
    await imported(team, 'email,first_name\r"a@example.org","O""Neil, ""A""\r\nB"\r\n');
    await imported(team, "'email'|'first_name'\n'b@example.org'|'a|b'\n");
    expect((await fetchContacts(team)).map(({ first_name }) => first_name)).toEqual(['O"Neil, "A"\nB', 'a|b']);
  });

  it('counts failed rows with row, reason and value, and continues', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'seats', type: 'number' });
    const rows = [
      'good@example.org,G,1',
      'nonsense,N,1',
      ',Nobody,1',
      'Name <n@example.org>,N,1',
      'a b@example.org,S,1',
      'seats@example.org,S,many',
      `long@example.org,${'x'.repeat(201)},1`,
      'wide@example.org,W,1,2,3',
      'short@example.org',
      'nul\0@example.org,N,1',
      'huge@example.org,H,1e300',
      'last@example.org,L,2',
    ];
    const { counts, failures } = await imported(team, `email,first_name,seats\n${rows.join('\n')}`);
    expect(counts).toEqual({ total: 12, created: 3, updated: 0, skipped: 0, failed: 9 });
    expect(await loadEmails(team)).toEqual(['good@example.org', 'short@example.org', 'last@example.org']);
    expect(failures.map(({ row }) => row)).toEqual([3, 4, 5, 6, 7, 8, 9, 11, 12]);
    expect(failures.map(({ value }) => value)).toEqual([
      'nonsense',
      null,
      'Name <n@example.org>',
      'a b@example.org',
      'many',
      'x'.repeat(200),
      '2',
      'nul\uFFFD@example.org',
      '1e300',
    ]);
    for (const { reason } of failures) expect(reason.length).toBeGreaterThan(5);
  });

  it('fails rows beyond the plan limit, and stores a thousand failures', async () => {
    const team = await scene.team();
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['tiny', team.id]);
    const file = `email\n${Array.from({ length: 1300 }, (_, i) => `n${i}@example.org`).join('\n')}\n`;
    const { counts, failures } = await imported(team, file);
    expect(counts).toEqual({ total: 1300, created: 3, updated: 0, skipped: 0, failed: 1297 });
    expect([failures.length, failures[0]?.row, failures[999]?.row]).toEqual([1000, 5, 1004]);
    expect(failures[0]?.reason).toContain('limit of 3 contacts');
  });
});

describe('after a contact import', () => {
  it('the file and the texts of failed rows are deleted after seven days, while the counts stay', async () => {
    const team = await scene.team();
    const { id, counts } = await imported(team, 'email\na@example.org\nsomebody’s secret\n');
    const { blobs } = scene.app.world;
    const sweep = () => scene.app.jobs.find(({ name }) => name === 'remove-import-files')?.run();
    scene.clock.advance(7 * 86_400_000 - 1000);
    await sweep();
    expect(await blobs.open(`${id}/file.csv`).then((file) => file?.content.destroy() !== undefined)).toBe(true);
    scene.clock.advance(2000);
    await sweep();
    expect(await blobs.open(`${id}/file.csv`)).toBeUndefined();
    expect((await call(team, 'GET', `/contacts/imports/${id}`)).body.counts).toEqual(counts);
    expect((await call(team, 'GET', `/contacts/imports/${id}/failures`)).body.data).toMatchObject([
      { row: 3, value: null },
    ]);
  });

  it('the next sweep deletes the texts of failed rows that could not be deleted', async () => {
    const team = await scene.team();
    const { id } = await imported(team, 'email\na@example.org\nsomebody’s secret\n');
    const { db } = scene.app.world;
    const sweep = () => scene.app.jobs.find(({ name }) => name === 'remove-import-files')?.run();
    const fetchValue = async () => (await call(team, 'GET', `/contacts/imports/${id}/failures`)).body.data[0].value;
    await using refusing = await refuseToForget(db);
    scene.clock.advance(8 * 86_400_000);
    await expect(sweep()).rejects.toThrow('the disk is full');
    expect(await fetchValue()).toBe('somebody’s secret');
    await refusing[Symbol.asyncDispose]();
    await sweep();
    expect(await fetchValue()).toBeNull();
  });

  it('an interrupted import continues where it stopped', async () => {
    const team = await scene.team();
    const file = `email\n${Array.from({ length: 3000 }, (_, i) => `n${i}@example.org`).join('\n')}\nn0@example.org\n`;
    const { id } = (await upload(team, file)).body;
    await scene.restart();
    await scene.settled();
    const { body } = await call(team, 'GET', `/contacts/imports/${id}`);
    expect(body).toMatchObject({
      status: 'completed',
      counts: { total: 3001, created: 3000, updated: 0, skipped: 1, failed: 0 },
    });
  });
});

it('a lease of an import is held and renewed by one owner, and taken by another once it expires', async () => {
  await using quiet = await startScene({ roles: ['http'] });
  const team = await quiet.team();
  const { db } = quiet.app.world;
  const id = (await uploadIn(quiet, team, 'email\na@b.example\n')).body.id as string;
  const one = quiet.app.world.ids.uuid();
  const other = quiet.app.world.ids.uuid();
  const claim = async (owner: string, now: number): Promise<number> =>
    (await claimImports(db, { owner, now, until: now + 1000 }, [id])).length;
  expect(await claim(one, 1000)).toBe(1);
  expect(await claim(other, 1999)).toBe(0);
  const { renew } = createLeases(db, 'contact_imports');
  expect(await renew([id], { owner: one, now: 1999, until: 3000 })).toEqual(new Set([id]));
  expect(await renew([id], { owner: other, now: 1999, until: 9000 })).toEqual(new Set());
  expect(await claim(other, 2999)).toBe(0);
  expect(await claim(other, 3000)).toBe(1);
});

/** Makes the database refuse to change failed rows of imports. */
async function refuseToForget(db: Scene['app']['world']['db']): Promise<AsyncDisposable> {
  const table = 'contact_import_failures';
  if (db.dialect === 'sqlite') {
    await db.run(`create trigger refuse before update on ${table} begin select raise(abort, 'the disk is full'); end`);
    return { [Symbol.asyncDispose]: async () => void (await db.run('drop trigger if exists refuse')) };
  }
  await db.run(
    "create function refuse() returns trigger as $$ begin raise 'the disk is full'; end $$ language plpgsql",
  );
  await db.run(`create trigger refuse before update on ${table} for each row execute function refuse()`);
  return { [Symbol.asyncDispose]: async () => void (await db.run('drop function if exists refuse cascade')) };
}
