import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Role } from '../../../src/app.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { importedIn, uploadIn } from './importing.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const imported = (team: Team, file: string, fields?: Record<string, unknown>) => importedIn(scene, team, file, fields);
const fetchImport = async (team: Team, id: string) => (await call(team, 'GET', `/contacts/imports/${id}`)).body;
const fetchFailures = async (team: Team, id: string) =>
  (await call(team, 'GET', `/contacts/imports/${id}/failures`)).body;
const fetchContact = async (team: Team, email: string) => (await call(team, 'GET', `/contacts/${email}`)).body;
const listTypes = async (team: Team): Promise<Record<string, string>> => {
  const { data } = (await call(team, 'GET', '/contact-properties')).body;
  return Object.fromEntries(data.map(({ key, type }: { key: string; type: string }) => [key, type]));
};

describe('an import with on_bad_value', () => {
  const file = [
    'email,first_name,Seats,VIP,unsubscribed',
    'a@example.org,Ada,3,yes,no',
    'b@example.org,Bob,k.A.,yes,no',
    `c@example.org,${'x'.repeat(201)},4,VIP,no`,
    'd@example.org,Dan,5,no,perhaps',
    'nonsense,Eve,many,no,no',
    'A@example.org,Again,many,no,no',
  ].join('\n');
  const column_map = {
    properties: { seats: { column: 'Seats', type: 'number' }, vip: { column: 'VIP', type: 'boolean' } },
  };

  it('skip_value imports a row without the values that do not fit, and reports each of them', async () => {
    const team = await scene.team();
    const { id, counts } = await imported(team, file, { column_map, on_bad_value: 'skip_value' });
    expect(counts).toEqual({ total: 6, created: 3, updated: 0, skipped: 1, failed: 2 });
    expect(await fetchImport(team, id)).toMatchObject({ on_bad_value: 'skip_value', skipped_values: 3 });
    const { data, skipped_values: skipped } = await fetchFailures(team, id);
    expect(data.map(({ row, reason }: { row: number; reason: string }) => [row, reason])).toEqual([
      [5, 'unsubscribed must be true or false'],
      [6, expect.stringContaining('@')],
    ]);
    expect(skipped).toEqual([
      { row: 3, column: 3, name: 'Seats', reason: 'seats must be a number', value: 'k.A.' },
      {
        row: 4,
        column: 2,
        name: 'first_name',
        reason: expect.stringContaining('201 characters'),
        value: 'x'.repeat(200),
      },
      { row: 4, column: 4, name: 'VIP', reason: 'vip must be true or false', value: 'VIP' },
    ]);
    expect(await fetchContact(team, 'b@example.org')).toMatchObject({ first_name: 'Bob', properties: { vip: true } });
    expect(await fetchContact(team, 'c@example.org')).toMatchObject({ first_name: null, properties: { seats: 4 } });
  });

  it('fail_row, the default, imports nothing of a row with a value that does not fit', async () => {
    const team = await scene.team();
    for (const fields of [{ column_map }, { column_map, on_bad_value: 'fail_row' }]) {
      const { id, counts } = await imported(team, file, fields);
      expect(counts['failed']).toBe(5);
      expect(await fetchImport(team, id)).toMatchObject({ on_bad_value: 'fail_row', skipped_values: 0 });
      expect((await fetchFailures(team, id)).skipped_values).toEqual([]);
    }
    expect((await call(team, 'GET', '/contacts/b@example.org')).status).toBe(404);
  });

  it('keeps the first thousand skipped values, and deletes their texts with the file', async () => {
    const team = await scene.team();
    const rows = Array.from({ length: 1100 }, (_, i) => `n${i}@example.org,none`);
    const fields = {
      column_map: { properties: { seats: { column: 'Seats', type: 'number' } } },
      on_bad_value: 'skip_value',
    };
    const { id, counts } = await imported(team, ['email,Seats', ...rows].join('\n'), fields);
    expect(counts).toMatchObject({ created: 1100, failed: 0 });
    expect((await fetchImport(team, id)).skipped_values).toBe(1100);
    const { skipped_values: skipped } = await fetchFailures(team, id);
    expect([skipped.length, skipped.at(-1)]).toMatchObject([1000, { row: 1001, value: 'none' }]);
    scene.clock.advance(8 * 86_400_000);
    await scene.app.jobs.find(({ name }) => name === 'remove-import-files')?.run();
    expect((await fetchFailures(team, id)).skipped_values[0]).toMatchObject({ row: 2, value: null });
  });

  it('any other word is refused', async () => {
    const team = await scene.team();
    const refused = await uploadIn(scene, team, file, { on_bad_value: 'drop' });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'on_bad_value' }] } });
  });

  it('skipped values that contain an address are erased with it', async () => {
    const team = await scene.team();
    const text = 'email,Seats\na@example.org,from gone@example.net\n';
    const map = { properties: { seats: { column: 'Seats', type: 'number' } } };
    const { id } = await imported(team, text, { column_map: map, on_bad_value: 'skip_value' });
    expect((await fetchFailures(team, id)).skipped_values).toHaveLength(1);
    await call(team, 'POST', '/contacts/erase', { email: 'gone@example.net', with_mail: true });
    expect((await fetchFailures(team, id)).skipped_values).toEqual([]);
  });
});

describe('the values of an import', () => {
  it('are read with a decimal comma if the column shows one, however far from the ambiguous value', async () => {
    const team = await scene.team();
    const rows = Array.from({ length: 3000 }, (_, i) => `n${i}@example.org;${i === 0 ? '1.234' : '7'};1.234`);
    const file = ['email;Umsatz;Punkte', ...rows, 'last@example.org;3,5;2'].join('\n');
    const properties = {
      umsatz: { column: 'Umsatz', type: 'number' },
      punkte: { column: 'Punkte', type: 'number' },
    };
    expect((await imported(team, file, { column_map: { properties } })).counts).toMatchObject({ created: 3001 });
    const first = { umsatz: 1234, punkte: 1.234 };
    expect((await fetchContact(team, 'n0@example.org')).properties).toEqual(first);
    expect((await fetchContact(team, 'last@example.org')).properties).toEqual({ umsatz: 3.5, punkte: 2 });
  });

  it('fail if they could be read in two ways and their column does not tell', async () => {
    const team = await scene.team();
    const file = 'email;A;B\na@example.org;1,234;1\nb@example.org;1;1.234\nc@example.org;2;3,5\nd@example.org;2;4.5\n';
    const properties = { a: { column: 'A', type: 'number' }, b: { column: 'B', type: 'number' } };
    const { failures } = await imported(team, file, { column_map: { properties } });
    expect(failures).toMatchObject([
      { row: 2, value: '1,234', reason: expect.stringContaining('its column does not tell') },
      { row: 3, value: '1.234', reason: expect.stringContaining('its column does not tell') },
    ]);
  });

  it('are read as yes and no in ten languages', async () => {
    const team = await scene.team();
    const pairs = [
      'yes no',
      'Ja Nein',
      'oui non',
      'sí no',
      'sì no',
      'sim não',
      'ja nee',
      'tak nie',
      'ja nej',
      'はい いいえ',
    ];
    const rows = pairs.flatMap((pair, i) =>
      pair.split(' ').map((word, at) => `n${i}${'yn'[at]}@example.org,${word},${word}`),
    );
    const map = { unsubscribed: 'Out', properties: { vip: { column: 'VIP', type: 'boolean' } } };
    const { counts, failures } = await imported(team, ['email,Out,VIP', ...rows].join('\n'), { column_map: map });
    expect([counts['created'], failures]).toEqual([20, []]);
    for (const i of pairs.keys()) {
      for (const [end, is] of Object.entries({ y: true, n: false })) {
        const contact = await fetchContact(team, `n${i}${end}@example.org`);
        expect(contact).toMatchObject({ unsubscribed: is, properties: { vip: is } });
      }
    }
  });
});

describe('the columns of an import', () => {
  it('are recognized beside those that the map names, and the answer says what was recognized', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contact-properties', { key: 'timezone', type: 'string' });
    const file =
      'E-Mail-Adresse;Vorname;Nachname;Zeitzone;Tarif;Telefon\nada@example.org;Ada;Lovelace;Europe/Berlin;pro;1\n';
    const { id } = await imported(team, file, { column_map: { properties: { plan: 'Tarif' } } });
    expect(await fetchImport(team, id)).toMatchObject({
      columns: [
        { column: 1, name: 'E-Mail-Adresse', field: 'email', recognized: true },
        { column: 2, name: 'Vorname', field: 'first_name', recognized: true },
        { column: 3, name: 'Nachname', field: 'last_name', recognized: true },
        { column: 4, name: 'Zeitzone', field: 'properties.timezone', recognized: true },
        { column: 5, name: 'Tarif', field: 'properties.plan', recognized: false },
      ],
      ignored_columns: [{ column: 6, name: 'Telefon' }],
    });
    expect(await fetchContact(team, 'ada@example.org')).toMatchObject({
      first_name: 'Ada',
      last_name: 'Lovelace',
      properties: { timezone: 'Europe/Berlin', plan: 'pro' },
    });
  });

  it('are not imported for a field that is null in the map', async () => {
    const team = await scene.team();
    const file = 'メール,名,姓\nada@example.org,エイダ,ラブレス\n';
    const { id } = await imported(team, file, { column_map: { last_name: null } });
    expect(await fetchContact(team, 'ada@example.org')).toMatchObject({ first_name: 'エイダ', last_name: null });
    expect((await fetchImport(team, id)).ignored_columns).toEqual([{ column: 3, name: '姓' }]);
    const refused = await uploadIn(scene, team, file, { column_map: { email: null } });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'column_map.email' }] } });
  });
});

describe('the properties that a column map names', () => {
  const asBoolean = { properties: { vip: { column: 'VIP', type: 'boolean' } } };
  const file = 'email,VIP\na@example.org,gold\nb@example.org,silver\n';

  it('are not declared by an import whose rows all fail, so that a corrected import gives them another type', async () => {
    const team = await scene.team();
    expect((await imported(team, file, { column_map: asBoolean })).counts).toMatchObject({ failed: 2 });
    expect(await listTypes(team)).toEqual({});
    const corrected = await imported(team, file, { column_map: { properties: { vip: 'VIP' } } });
    expect(corrected.counts).toMatchObject({ created: 2, failed: 0 });
    expect(await listTypes(team)).toEqual({ vip: 'string' });
  });

  it('are not declared by an import that only skips contacts', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contacts', { email: 'a@example.org' });
    const skipped = await imported(team, 'email,VIP\na@example.org,yes\n', { column_map: asBoolean });
    expect(skipped.counts).toMatchObject({ skipped: 1, created: 0 });
    expect(await listTypes(team)).toEqual({});
  });

  it('are declared as soon as one row changes a contact, even if it has no value for them', async () => {
    const team = await scene.team();
    await call(team, 'POST', '/contacts', { email: 'a@example.org' });
    const fields = { column_map: asBoolean, on_conflict: 'upsert' };
    expect((await imported(team, 'email,VIP\na@example.org,\n', fields)).counts).toMatchObject({ updated: 1 });
    expect(await listTypes(team)).toEqual({ vip: 'boolean' });
  });

  it('end the import with the reason if they were declared with another type after it was submitted', async () => {
    const roles: Role[] = ['http'];
    await using quiet = await startScene({ roles });
    const team = await quiet.team();
    const { id } = (await uploadIn(quiet, team, file, { column_map: asBoolean })).body;
    await quiet.api('POST', '/contact-properties', { key: team.key, body: { key: 'vip', type: 'string' } });
    roles.push('delivery');
    await quiet.restart();
    await quiet.settled();
    const { body } = await quiet.api('GET', `/contacts/imports/${id}`, { key: team.key });
    expect(body).toMatchObject({ status: 'failed', counts: { total: 0 } });
    const failures = (await quiet.api('GET', `/contacts/imports/${id}/failures`, { key: team.key })).body.data;
    expect(failures).toMatchObject([{ reason: expect.stringContaining('the property has the type string') }]);
  });

  it('are used by two imports at once, which declare them once', async () => {
    const team = await scene.team();
    const map = { properties: { vip: { column: 'VIP' } } };
    const ids: string[] = [];
    for (const name of ['a', 'b']) {
      const rows = Array.from({ length: 300 }, (_, i) => `${name}${i}@example.org,${name}`);
      ids.push((await uploadIn(scene, team, ['email,VIP', ...rows].join('\n'), { column_map: map })).body.id);
    }
    await scene.settled();
    for (const id of ids) expect((await fetchImport(team, id)).counts).toMatchObject({ created: 300, failed: 0 });
    expect(await listTypes(team)).toEqual({ vip: 'string' });
    expect((await fetchContact(team, 'b299@example.org')).properties).toEqual({ vip: 'b' });
  });

  it('are never more than 200, however many imports declare them at once', async () => {
    const team = await scene.team();
    for (let n = 0; n < 197; n++) await call(team, 'POST', '/contact-properties', { key: `p${n}`, type: 'string' });
    const uploads = Array.from({ length: 8 }, (_, n) => {
      const map = { properties: { [`new${n}`]: { column: 'VIP', type: 'string' } } };
      return uploadIn(scene, team, `email,VIP\nc${n}@example.org,gold\n`, { column_map: map });
    });
    const ids = (await Promise.all(uploads)).map(({ body }) => body.id as string);
    await scene.settled();
    const imports = await Promise.all(ids.map((id) => fetchImport(team, id)));
    expect(imports.filter(({ status }) => status === 'completed')).toHaveLength(3);
    expect((await call(team, 'POST', '/contact-properties', { key: 'more', type: 'string' })).status).toBe(422);
    const refused = imports.find(({ status }) => status === 'failed');
    const { data } = await fetchFailures(team, refused?.id as string);
    expect(data).toMatchObject([{ reason: expect.stringContaining('at most 200 properties') }]);
  });
});
