import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Desk, expectOneLine } from './desk.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let desk: Desk;
beforeAll(async () => {
  desk = new Desk();
  await desk.serve(['dev', '--data', 'data']);
});
afterAll(() => desk.clear());

const data = ['--data', 'data'];
const contacts = (...words: string[]) => desk.rasket(['contacts', ...words, ...data]);
const json = async (...words: string[]) => {
  const { code, stdout, stderr } = await desk.rasket([...words, '--json', ...data]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};

it('rasket contacts import reports the result of the rows, and which of them failed and why', async () => {
  const { id: segment } = await json('segments', 'create', 'Picked');
  const rows = [
    'Mail;Vorname;Plätze;Listen',
    `ada@example.org;Ada;3;${segment}`,
    'nobody;N;1;',
    'bob@example.org;B;x;',
  ];
  desk.write('people.csv', rows.join('\n'));
  const columns = ['--column', 'email=Mail', '--column', 'first_name=Vorname', '--column', 'segment_ids=Listen'];
  const words = [...columns, '--property', 'seats:number=Plätze'];
  const { code, stdout, stderr } = await contacts('import', 'people.csv', ...words);
  expect([code, stderr]).toEqual([0, '']);
  const [said = '', ...table] = stdout.trimEnd().split('\n');
  expect(said).toMatch(/^completed\s.*1 created.*2 failed/);
  expect(table.slice(1).map((line) => line.split('\t')[0])).toEqual(['3', '4']);
  expect(stdout).toContain('seats must be a number');
  expect((await json('segments', 'contacts', segment)).data).toMatchObject([{ email: 'ada@example.org' }]);
  const { data: imports } = await json('contacts', 'imports');
  expect(await json('contacts', 'import-failures', imports[0].id)).toMatchObject({ data: [{ row: 3 }, { row: 4 }] });
  const again = await json('contacts', 'import', 'people.csv', '--upsert', ...words);
  expect(again).toMatchObject({ status: 'completed', counts: { updated: 1, failed: 2 } });
});

it('rasket contacts import names the columns it ignores, and why rows are skipped, with the remedy', async () => {
  desk.write('again.csv', 'email,Phone,,first_name\neve@example.org,1,2,Eve\neve@example.org,1,2,Eve\n');
  const { code, stdout, stderr } = await contacts('import', 'again.csv');
  expect([code, stdout]).toEqual([0, 'completed  2 rows: 1 created, 0 updated, 1 skipped, 0 failed\n']);
  const [ignored, skipped] = stderr.trimEnd().split('\n');
  expect(ignored).toBe('rasket: Not imported: "Phone", column 3 (without a name).');
  expect(skipped).toMatch(/^rasket: Skipped: these contacts exist already.* import the file again with --upsert\.$/);
  expect((await contacts('import', 'again.csv', '--upsert')).stderr).toBe(`${ignored}\n`);
  const { data: imports } = await json('contacts', 'imports');
  expect((await contacts('import-status', imports[0].id)).stdout).toContain('"Phone", column 3 (without a name)');
});

it('rasket contacts import --dry-run shows the types of the columns, writes nothing, and proposes the import', async () => {
  const rows = [
    'Kontakt;Vorname;Plätze;VIP',
    'dry@example.org;Ada;3,5;ja',
    'nobody;N;4;nein',
    'dry2@example.org;B;x;ja',
  ];
  desk.write('dry.csv', rows.join('\n'));
  const { code, stdout, stderr } = await contacts('import', 'dry.csv', '--dry-run');
  expect([code, stderr.includes('Nothing was written')], stderr).toEqual([0, true]);
  expect(stdout).toContain(
    'all 3 rows: 1 would fail; 2 usable addresses, 1 unusable, 0 repeated, 0 are contacts already',
  );
  expect(stdout).toMatch(/Vorname\tfirst_name\tname\t3\t100 %/);
  expect(stdout).toContain('row 3 "nobody"');
  const proposed = /Import the file with: rasket (.*)/.exec(stderr)?.[1] ?? '';
  expect(proposed).toBe(
    "contacts import dry.csv --data data --column email=Kontakt --property 'plaetze=Plätze' --property vip:boolean=VIP",
  );
  expect((await contacts('get', 'dry@example.org')).code).toBe(66);
  expect((await json('contact-properties', 'list')).data.map((one: { key: string }) => one.key)).not.toContain('vip');
  expect((await desk.type(`rasket ${proposed}`)).code).toBe(0);
  expect((await json('contacts', 'get', 'dry@example.org')).properties).toMatchObject({ vip: true, plaetze: '3,5' });
});

it('rasket contacts import-failures --output saves the failed rows, which can be imported once they are fixed', async () => {
  desk.write('broken.csv', 'email;first_name;Tage\nmend@example.org;Ada;viele\nwhole@example.org;Bob;3\n');
  const property = ['--property', 'tage:number=Tage'];
  expect((await contacts('import', 'broken.csv', ...property)).code).toBe(0);
  const [{ id }] = (await json('contacts', 'imports')).data;
  const saved = await contacts('import-failures', id, '--output', 'failed.csv');
  expect([saved.code, saved.stdout]).toEqual([0, 'failed.csv\n']);
  const text = fs.readFileSync(desk.at('failed.csv'), 'utf8');
  expect(text).toBe(
    'email,first_name,Tage,rasket_row,rasket_reason\r\nmend@example.org,Ada,viele,2,tage must be a number\r\n',
  );
  expectOneLine(await contacts('import-failures', id, '--output', 'failed.csv'), /--force/, 1);
  desk.write('failed.csv', text.replace('viele', '7'));
  const mended = await contacts('import', 'failed.csv', ...property);
  expect([mended.stdout, mended.stderr]).toEqual([
    'completed  1 rows: 1 created, 0 updated, 0 skipped, 0 failed\n',
    '',
  ]);
  const again = (await json('contacts', 'imports')).data[0].id;
  const none = await contacts('import-failures', again, '--output', 'none.csv');
  expect([none.code, fs.existsSync(desk.at('none.csv'))]).toEqual([0, false]);
});

it('rasket contacts import --on-bad-value skip_value reports the values that it skipped', async () => {
  desk.write('skip.csv', 'E-Mail,Vorname,Tage\nskip@example.org,Ada,viele\n');
  const words = ['--property', 'tage:number=Tage', '--on-bad-value', 'skip_value'];
  const { code, stdout, stderr } = await contacts('import', 'skip.csv', ...words);
  expect([code, stdout.split('\n')[0]]).toEqual([0, 'completed  1 rows: 1 created, 0 updated, 0 skipped, 0 failed']);
  expect(stdout).toMatch(/2\tTage\tviele\ttage must be a number/);
  expect(stderr.split('\n').slice(0, 2)).toEqual([
    'rasket: Recognized: "E-Mail" as email, "Vorname" as first_name.',
    'rasket: Imported without 1 values that do not fit.',
  ]);
  const bare = await contacts('import', 'skip.csv', '--column', 'first_name=', '--upsert');
  expect(bare.stderr).toContain('Not imported: "Vorname".');
});

it('rasket contacts export-person writes a document that only its account can read, with texts by choice', async () => {
  const email = 'person@example.org';
  await json('contacts', 'create', email, '--first-name', 'Pat');
  await json('send', '--from', 'shop@example.com', '--to', email, '--subject', 'Receipt', '--text', 'Thank you');
  const saved = await contacts('export-person', email, '--output', 'person.json');
  expect([saved.code, saved.stdout, saved.stderr]).toEqual([0, 'person.json\n', '']);
  expect(fs.statSync(desk.at('person.json')).mode & 0o777).toBe(0o600);
  const text = fs.readFileSync(desk.at('person.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({
    contact: { first_name: 'Pat' },
    emails: [{ subject: 'Receipt' }],
    complete: true,
  });
  expect(text).not.toContain('Thank you');
  expectOneLine(await contacts('export-person', email, '--output', 'person.json'), /--force/, 1);
  const whole = await contacts('export-person', email, '--bodies');
  expect(JSON.parse(whole.stdout)).toMatchObject({ emails: [{ text: 'Thank you' }] });
  expectOneLine(await contacts('export-person', 'nobody'), /<email>: The address "nobody" has no @/, 65);
});

it('rasket contacts import starts automations only with --start-automations', async () => {
  const trigger = { key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.created' } };
  const steps = ['--steps', JSON.stringify([trigger]), '--connections', '[]'];
  const { id } = await json('automations', 'create', 'Welcome', '--status', 'enabled', ...steps);
  desk.write('quiet.csv', 'email\nquiet@example.org\n');
  desk.write('loud.csv', 'email\nloud@example.org\n');
  await json('contacts', 'import', 'quiet.csv');
  expect((await json('automations', 'runs', id)).data).toEqual([]);
  await json('contacts', 'import', 'loud.csv', '--start-automations');
  expect((await json('automations', 'runs', id)).data).toHaveLength(1);
});

it('an unusable import file is reported in one line with an exit code', async () => {
  desk.write('page.html', '<html><body>x</body></html>');
  expectOneLine(await contacts('import', 'page.html'), /HTML/, 65);
  expectOneLine(await contacts('import', 'nowhere.csv'), /there is no such file/, 1);
  expectOneLine(await contacts('import', '.'), /not a regular file/, 1);
  const misused = await contacts('import', 'page.html', '--column', 'phone=Tel');
  expect([misused.code, misused.stderr.includes('segment_ids')]).toEqual([64, true]);
  desk.write('none.csv', 'email\nnobody\nno one\n');
  const none = await contacts('import', 'none.csv');
  expect([none.code, none.stdout.startsWith('completed')]).toEqual([1, true]);
  desk.write('open.csv', 'email\ncut@example.org\n"open\n');
  const cut = await contacts('import', 'open.csv');
  expect([cut.code, cut.stdout.startsWith('failed'), cut.stdout.includes('never closed')]).toEqual([1, true, true]);
});

// skipped because `script`, which makes a terminal for a command, is not on every machine
it.skipIf(spawnSync('script', ['--version']).status !== 0)(
  'rasket contacts import shows a progress bar at a terminal',
  async () => {
    desk.write('many.csv', `email\n${Array.from({ length: 20_000 }, (_, i) => `n${i}@example.org`).join('\n')}\n`);
    const line = 'script -qec "rasket contacts import many.csv --data data" /dev/null';
    const { code, stdout } = await desk.type(line, { env: { TERM: 'xterm' } });
    expect([code, stdout.includes('20000 created')]).toEqual([0, true]);
    expect(stdout).toMatch(/\r\u001B\[K\[#* *\] \d+\/20001 {2}0 failed/);
  },
);

it('an export goes to standard output or to a file, and can be imported again', async () => {
  const whole = await contacts('export');
  expect(whole.stdout.split('\r\n')[0]).toContain(
    'email,first_name,last_name,unsubscribed,segment_ids,opted_in_topic_ids,opted_out_topic_ids,',
  );
  expect((await contacts('export', '--output', 'out.csv')).stdout.trim()).toBe('out.csv');
  expect(fs.readFileSync(desk.at('out.csv'), 'utf8')).toBe(whole.stdout);
  expectOneLine(await contacts('export', '--output', 'out.csv'), /--force/, 1);
  expect((await contacts('export', '--output', 'out.csv', '--force')).code).toBe(0);
  const { stdout } = await contacts('export', '--ndjson');
  const [first] = stdout.split('\n');
  expect(JSON.parse(first ?? '')).toHaveProperty('email');
  const rows = whole.stdout.trimEnd().split('\r\n').length - 1;
  const again = await json('contacts', 'import', 'out.csv', '--upsert');
  expect(again.counts).toMatchObject({ total: rows, updated: rows, failed: 0 });
});
