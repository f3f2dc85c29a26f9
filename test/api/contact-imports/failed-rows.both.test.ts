import Papa from 'papaparse';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { importedIn } from './importing.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { plans: { tiny: { name: 'Tiny', contact_limit: 1 } } } });
});
afterAll(() => scene.close());

const fetchRows = (team: Team, id: string) =>
  scene.api('GET', `/contacts/imports/${id}/failed-rows`, { key: team.key });
const parse = (text: string): string[][] => (Papa.parse(text, { skipEmptyLines: true }) as { data: string[][] }).data;
const declare = (team: Team, key: string, type: string) =>
  scene.api('POST', '/contact-properties', { key: team.key, body: { key, type } });
const fetchContact = async (team: Team, email: string) =>
  (await scene.api('GET', `/contacts/${email}`, { key: team.key })).body;

it('GET /contacts/imports/{id}/failed-rows returns the original cells of the failed rows with number and reason', async () => {
  const team = await scene.team();
  await declare(team, 'seats', 'number');
  const rows = [
    'E-Mail;Vorname;seats;Notizen',
    'a@example.org;Ada;3;fine',
    'b@example.org;"Bob; ""B""";many;"two',
    'lines"',
    '',
    'nonsense;Eve;1;',
    'c@example.org;Cid',
    ' d@example.org ;D;x',
  ];
  const { id, counts } = await importedIn(scene, team, rows.join('\n'));
  expect(counts).toMatchObject({ created: 2, failed: 3 });
  const answer = await fetchRows(team, id);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="failed-rows.csv"');
  expect(parse(answer.text)).toEqual([
    ['E-Mail', 'Vorname', 'seats', 'Notizen', 'rasket_row', 'rasket_reason'],
    ['b@example.org', 'Bob; "B"', 'many', 'two\nlines', '3', 'seats must be a number'],
    ['nonsense', 'Eve', '1', '', '5', expect.stringContaining('@')],
    [' d@example.org ', 'D', 'x', '', '7', 'seats must be a number'],
  ]);
});

it('a file of failed rows is imported as it is, and each row counts once it is fixed', async () => {
  const team = await scene.team();
  await declare(team, 'seats', 'number');
  const file = 'E-Mail\tVorname\tseats\na@example.org\tAda\tmany\nb@example.org\tBob\tnone\n';
  const { id } = await importedIn(scene, team, file);
  const { text } = await fetchRows(team, id);
  expect((await importedIn(scene, team, text)).failures).toMatchObject([{ row: 2, value: 'many' }, { row: 3 }]);
  const fixed = await importedIn(scene, team, text.replace('many', '12').replace('none', ''));
  expect(fixed.counts).toEqual({ total: 2, created: 2, updated: 0, skipped: 0, failed: 0 });
  expect(await fetchContact(team, 'a@example.org')).toMatchObject({ first_name: 'Ada', properties: { seats: 12 } });
  const read = (await scene.api('GET', `/contacts/imports/${fixed.id}`, { key: team.key })).body;
  expect(read.ignored_columns).toEqual([]);
});

it('no cell of the failed rows is a formula for a spreadsheet, and the import reads each as the original', async () => {
  const team = await scene.team();
  const cells = ['=1+1', '+49 30 1', '-x', '@cmd', '\t=1', 'a;=1', "'=1", "O'Neil", '-5', 'x\n=2'];
  const names = cells.map((_, i) => `t${i}`);
  for (const key of [...names, 'seats']) await declare(team, key, key === 'seats' ? 'number' : 'string');
  const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const header = ['email', 'seats', ...names, '=HYPERLINK("x")'];
  const row = (email: string, seats: string) => [email, seats, ...cells.map(quote), '=2'].join(',');
  const file = [header.map(quote).join(','), row('kept@example.org', '1'), row('=bad@example.org', 'x')].join('\n');
  const { id } = await importedIn(scene, team, file);
  const { text } = await fetchRows(team, id);
  for (const cell of parse(text).flat()) {
    if (cell !== '-5') expect(cell).not.toMatch(/(?:^|[;\t\r\n])[" ]*[=+\-@]/);
  }
  const again = await importedIn(scene, team, text.replace(',x,', ',1,'));
  expect(again.failures).toEqual([]);
  const original = await fetchContact(team, 'kept@example.org');
  expect((await fetchContact(team, '=bad@example.org')).properties).toEqual(original.properties);
});

it('a row whose cells cannot be separated fails again until it is fixed, and so does one with too many cells', async () => {
  const team = await scene.team();
  const file = 'first_name,email\n"A"b,a@example.org\n"C",c@example.org\nB,b@example.org,1,2\n';
  const { id, counts } = await importedIn(scene, team, file);
  expect(counts).toMatchObject({ failed: 2 });
  const { text } = await fetchRows(team, id);
  const again = await importedIn(scene, team, text);
  expect([again.counts['created'], again.counts['failed']]).toEqual([0, 2]);
  expect(text).toContain('a@example.org');
  expect(parse(text)[2]).toEqual([
    'B',
    'b@example.org',
    '3',
    expect.stringContaining('4 values for 2 columns'),
    '1',
    '2',
  ]);
});

it('an import that ends at a row it cannot read has the reason as the last failed row', async () => {
  const team = await scene.team();
  const { id } = await importedIn(scene, team, 'email\nnobody\n"open\n');
  expect(parse((await fetchRows(team, id)).text)).toEqual([
    ['email', 'rasket_row', 'rasket_reason'],
    ['nobody', '2', expect.stringContaining('@')],
    ['', '3', 'a quote is never closed'],
  ]);
});

it('all failed rows are returned beyond the thousand that are listed, up to ten thousand', async () => {
  const team = await scene.team();
  await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['tiny', team.id]);
  const rows = Array.from({ length: 10_100 }, (_, i) => `n${i}@example.org`);
  const { id, failures } = await importedIn(scene, team, ['email', ...rows].join('\n'));
  const found = parse((await fetchRows(team, id)).text);
  expect([failures.length, found.length - 1, found[1]?.[0], found.at(-1)?.[0]]).toEqual([
    1000,
    10_000,
    'n1@example.org',
    'n10000@example.org',
  ]);
});

it('failed rows are gone with the uploaded file, and the error says so', async () => {
  const team = await scene.team();
  const rows = Array.from({ length: 1200 }, (_, i) => `nobody${i}`);
  const { id } = await importedIn(scene, team, ['email', ...rows].join('\n'));
  scene.clock.advance(8 * 86_400_000);
  await scene.app.jobs.find(({ name }) => name === 'remove-import-files')?.run();
  const gone = await fetchRows(team, id);
  expect(gone).toMatchObject({ status: 404, body: { name: 'not_found' } });
  expect(gone.body.message).toContain('seven days after its end');
  const { data } = (await scene.api('GET', `/contacts/imports/${id}/failures`, { key: team.key })).body;
  expect([data.length, data[999]]).toEqual([1000, { row: 1001, reason: expect.any(String), value: null }]);
});

it('failed rows are returned only to the team of the import, and to no sending key', async () => {
  const team = await scene.team();
  const { id } = await importedIn(scene, team, 'email\nnobody\n');
  expect((await fetchRows(await scene.team(), id)).body).toMatchObject({
    name: 'not_found',
    message: 'Import not found.',
  });
  expect((await scene.api('GET', `/contacts/imports/${id}/failed-rows`, { key: await team.sendingKey() })).status).toBe(
    401,
  );
});
