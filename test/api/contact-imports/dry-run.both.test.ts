import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tableShapes } from '../../../src/platform/db/index.ts';
import { buildForm } from '../../rig/forms.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const preview = (team: Team, file: string | Uint8Array, fields: Record<string, unknown> = {}) =>
  scene.api('POST', '/contacts/imports?dry_run=true', { key: team.key, ...buildForm(file, fields) });
const call = (team: Team, method: string, target: string, body?: unknown) =>
  scene.api(method, target, { key: team.key, ...(body === undefined ? {} : { body }) });

/** Counts the rows of each table, without what every request writes, and the files in the data folder. */
async function countEverything(): Promise<Record<string, number>> {
  const { db } = scene.app.world;
  const counts: Record<string, number> = {};
  for (const { name } of await tableShapes(db)) {
    if (['request_logs', 'rate_limits'].includes(name)) continue;
    counts[name] = Number((await db.get<{ n: number }>(`select count(*) as n from ${name}`))?.n);
  }
  const files = readdirSync(path.join(scene.dataDir), { recursive: true, withFileTypes: true });
  counts['files'] = files.filter((one) => one.isFile() && !/\.db(-wal|-shm)?$/.test(one.name)).length;
  return counts;
}

const FILE = [
  'E-Mail;Vorname;Plätze;Umsatz;VIP;PLZ;Notizen;leer',
  'a@example.org;Ada;3;1.234;ja;01234;x;',
  'b@example.org;Bob;4;3,5;nein;10115;y;',
  'A@example.org;Eve;viele;7;ja;20095;;',
  'nonsense;Kim;5;8;nein;80331;;',
].join('\n');

it('POST /contacts/imports?dry_run=true judges every column by its values, and says what is recognized', async () => {
  const team = await scene.team();
  await call(team, 'POST', '/contacts', { email: 'b@example.org' });
  const { status, body } = await preview(team, FILE);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    object: 'contact_import_preview',
    rows: 4,
    is_whole_file: true,
    file: { encoding: 'utf-8', delimiter: ';' },
    addresses: { usable: 3, unusable: 1, repeated: 1, existing: 1 },
    failed: 1,
    failures: [{ row: 5, value: 'nonsense' }],
    skipped_values: 0,
  });
  const summary = body.columns.map((one: Record<string, unknown>) =>
    ['name', 'field', 'proposal', 'type', 'values', 'fitting'].map((key) => one[key]),
  );
  expect(summary).toEqual([
    ['E-Mail', 'email', null, 'address', 4, 3],
    ['Vorname', 'first_name', null, 'name', 4, 4],
    ['Plätze', null, 'properties.plaetze', 'string', 4, 4],
    ['Umsatz', null, 'properties.umsatz', 'number', 4, 4],
    ['VIP', null, 'properties.vip', 'boolean', 4, 4],
    ['PLZ', null, 'properties.plz', 'string', 4, 4],
    ['Notizen', null, 'properties.notizen', 'string', 2, 2],
    ['leer', null, null, 'string', 0, 0],
  ]);
  expect(body.columns[0].misfits).toEqual([{ row: 5, reason: expect.stringContaining('@'), value: 'nonsense' }]);
});

it('a dry run judges mapped columns by the types of the map, and counts failed rows or skipped values', async () => {
  const team = await scene.team();
  const column_map = { properties: { seats: { column: 'Plätze', type: 'number' } } };
  const failing = (await preview(team, FILE, { column_map })).body;
  expect(failing).toMatchObject({ failed: 2, skipped_values: 0 });
  expect(failing.columns[2]).toMatchObject({
    field: 'properties.seats',
    type: 'number',
    fitting: 3,
    misfits: [{ row: 4, value: 'viele', reason: 'the value must be a number' }],
  });
  const skipping = (await preview(team, FILE, { column_map, on_bad_value: 'skip_value' })).body;
  expect(skipping).toMatchObject({ failed: 1, skipped_values: 1 });
});

it('a dry run of the file of failed rows does not propose its row numbers and reasons as properties', async () => {
  const team = await scene.team();
  const file = 'email,Seats,rasket_row,rasket_reason\na@example.org,3,2,seats must be a number\n';
  const { body } = await preview(team, file);
  const proposals = body.columns.map(({ name, field, proposal }: Record<string, unknown>) => [name, field, proposal]);
  expect(proposals).toEqual([
    ['email', 'email', null],
    ['Seats', null, 'properties.seats'],
    ['rasket_row', null, null],
    ['rasket_reason', null, null],
  ]);
});

it('a dry run proposes the column whose values are addresses, if no name says so', async () => {
  const team = await scene.team();
  const { status, body } = await preview(team, 'Name,Kontakt\nAda,a@example.org\nBob,b@example.org\n');
  expect([status, body.addresses.usable]).toEqual([200, 2]);
  expect(body.columns[1]).toMatchObject({ name: 'Kontakt', field: null, proposal: 'email', type: 'address' });
  expect((await preview(team, 'Name,Kontakt\nAda,none\n')).status).toBe(422);
});

it('a dry run writes nothing: no contact, property, import, audit entry or file', async () => {
  const team = await scene.team();
  const segment = (await call(team, 'POST', '/segments', { name: 'S' })).body.id;
  const fields = {
    column_map: { properties: { fresh: { column: 'Plätze' } } },
    segments: [{ id: segment }],
    on_conflict: 'upsert',
    start_automations: 'true',
  };
  const before = await countEverything();
  expect((await preview(team, FILE, fields)).status).toBe(200);
  expect((await preview(team, '<html>', fields)).status).toBe(422);
  await scene.settled();
  expect(await countEverything()).toEqual(before);
});

it('a dry run reads the first thousand rows of a longer file, and at most 4 MB', async () => {
  const team = await scene.team();
  const rows = Array.from({ length: 1500 }, (_, i) => `n${i}@example.org,${i}`);
  const long = (await preview(team, ['email,n', ...rows].join('\n'))).body;
  expect(long).toMatchObject({ rows: 1000, is_whole_file: false, addresses: { usable: 1000 }, failed: 0 });
  const wide = Array.from({ length: 500 }, (_, i) => `n${i}@example.org,${'x'.repeat(20_000)}`);
  const cut = (await preview(team, ['email,n', ...wide].join('\n'))).body;
  expect(cut).toMatchObject({ is_whole_file: false, failed: 0 });
  expect(cut.rows).toBeGreaterThan(150);
  expect(cut.rows).toBeLessThan(250);
});

it('a dry run refuses what the import refuses', async () => {
  const team = await scene.team();
  await call(team, 'POST', '/contact-properties', { key: 'vip', type: 'string' });
  const map = { properties: { vip: { column: 'VIP', type: 'boolean' } } };
  for (const fields of [
    { column_map: map },
    { column_map: { first_name: 'nowhere' } },
    { segments: [{ id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31' }] },
    { on_bad_value: 'drop' },
  ]) {
    const real = await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(FILE, fields) });
    expect(real.status).toBeGreaterThanOrEqual(400);
    expect(await preview(team, FILE, fields)).toMatchObject({ status: real.status, body: real.body });
  }
});
