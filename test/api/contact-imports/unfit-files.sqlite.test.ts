import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildForm } from '../../rig/forms.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { importedIn, uploadIn, type Given } from './importing.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const upload = (...given: Given) => uploadIn(scene, ...given);
const imported = (...given: Given) => importedIn(scene, ...given);
const fetchEmails = async (team: Team) =>
  (await call(team, 'GET', '/contacts?limit=100')).body.data.map((one: { email: string }) => one.email).toReversed();

describe('the file of a contact import', () => {
  const xlsx = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(3000, 7)]);
  it.each<[string, string | Uint8Array, string]>([
    ['an XLSX file', xlsx, 'XLSX'],
    ['an HTML page', '\n<!DOCTYPE html><html><body>email,x</body></html>', 'HTML'],
    ['an RTF document', '{\\rtf1 email}', 'RTF'],
    ['JSON', '[{"email":"a@example.org"}]', 'JSON'],
    ['XML', '<?xml version="1.0"?><a/>', 'XML'],
    ['a picture', Buffer.from('89504e470d0a1a0a0000', 'hex'), 'PNG'],
    ['bytes', Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 37) % 256)), 'binary'],
    ['nothing', '', 'empty'],
    ['blank lines', '\n\n  \n', 'empty'],
    ['no column of addresses', 'name,phone\nAda,7\n', 'no column has email addresses'],
    ['two columns of one name', 'email,Email,x\na@example.org,b@example.org,1\n', 'two columns'],
    ['a million columns', `email${',c'.repeat(1_000_000)}\n`, 'longer than 64 KB'],
    ['a first row of little more than 64 KB', `email,${'c'.repeat(65_600)}\na@example.org,x\n`, 'longer than 64 KB'],
    ['a name with line feeds, of 70 KB', `email,"${'line\n'.repeat(14_000)}"\na@example.org,x\n`, 'longer than 64 KB'],
    ['a name whose quote stays open', `email,"name\n${'a@example.org,x\n'.repeat(5000)}`, 'longer than 64 KB'],
    ['tabs behind a cell in single quotes', `'email'${'\t'.repeat(60_000)}x\na@example.org\n`, 'at most 1000'],
    ['tabs behind a cell in single quotes', `'email'${'\t'.repeat(60_000)}x\na@example.org\n`, 'at most 1000'],
    ['two thousand columns', `email${',c'.repeat(2000)}\na@example.org\n`, 'at most 1000'],
  ])('is refused with its fault named: %s', async (_, file, word) => {
    const team = await scene.team();
    const answer = await upload(team, file);
    expect(answer, answer.text).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining(word) },
    });
    expect((await call(team, 'GET', '/contacts/imports')).body.data).toEqual([]);
  });

  it.each(['\n', '\r\n', '\r'])(
    'may have a first row of 64 KB with the line end %j, and the rows after it are read',
    async (end) => {
      const team = await scene.team();
      const header = `email,${'c'.repeat(64 * 1024 - 'email,'.length - 1)}`;
      const done = await imported(team, `${header}${end}a@example.org,x${end}b@example.org,y${end}`);
      expect(done).toMatchObject({ status: 'completed', counts: { total: 2, created: 2, failed: 0 } });
      expect((await fetchEmails(team)).toSorted()).toEqual(['a@example.org', 'b@example.org']);
    },
  );

  it('may have a quoted value across the end of the first 64 KB, which is read whole', async () => {
    const team = await scene.team();
    const rows = `${'a@example.org,x\r\n'.repeat(3800)}b@example.org,"${'line\r\n'.repeat(30)}"\r\n`;
    const pad = 'p'.repeat(64 * 1024 - rows.length + 100);
    const done = await imported(team, `email,first_name,${pad}\r\n${rows}c@example.org,C\r\n`);
    expect(done).toMatchObject({ status: 'completed', counts: { total: 3802, created: 3, failed: 0 } });
    const [b] = (await call(team, 'GET', '/contacts?limit=100')).body.data.filter(
      (one: { email: string }) => one.email === 'b@example.org',
    );
    expect(b.first_name).toBe('line\n'.repeat(30).trim());
  });

  it.each<[Record<string, unknown>, string, number]>([
    [{ column_map: '{' }, 'column_map', 400],
    [{ column_map: JSON.stringify({ email: 'x'.repeat(300_000) }) }, 'column_map is larger than 256 KB', 400],
    [{ column_map: '[]' }, 'column_map', 400],
    [{ column_map: { phone: 'x' } }, 'column_map.phone', 400],
    [{ column_map: { email: 7 } }, 'column_map.email', 400],
    [{ column_map: { properties: { 'a b': 'x' } } }, 'column_map.properties', 400],
    [{ column_map: '{"properties":{"__proto__":"x"}}' }, 'column_map.properties.__proto__', 400],
    [{ column_map: { properties: { segment_ids: 'email' } } }, 'segment_ids', 422],
    [{ column_map: { segment_ids: 7 } }, 'column_map.segment_ids', 400],
    [{ column_map: { email: 'email', segment_ids: 'nowhere' } }, 'column_map.segment_ids', 422],
    [{ column_map: { properties: { a: { column: 'x', type: 'date' } } } }, 'column_map.properties.a.type', 400],
    [{ on_conflict: 'replace' }, 'on_conflict', 400],
    [{ segments: '[7]' }, 'segments.0', 400],
    [{ topics: '[{"id":"x"}]' }, 'topics.0', 400],
    [{ surprise: 'x' }, 'surprise', 400],
    [{ column_map: { email: 'nowhere' } }, 'column_map.email', 422],
    [{ column_map: { email: 'email', properties: { a: 'nowhere' } } }, 'column_map.properties.a', 422],
    [{ segments: [{ id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99' }] }, 'segments.0', 422],
  ])('is refused with the fields %j, and the error names %s', async (fields, word, status) => {
    const team = await scene.team();
    const answer = await upload(team, 'email\na@example.org\n', fields);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.text).toContain(word);
    expect((await call(team, 'GET', '/contact-properties')).body.data).toEqual([]);
  });

  it('is required: a form without a file, JSON and a broken form are refused', async () => {
    const team = await scene.team();
    const { headers } = buildForm('');
    const empty = { body: Buffer.from('------rasket-test-form--\r\n'), headers };
    expect(await scene.api('POST', '/contacts/imports', { key: team.key, ...empty })).toMatchObject({
      status: 422,
      body: { name: 'missing_required_field' },
    });
    expect(await call(team, 'POST', '/contacts/imports', { file: 'x' })).toMatchObject({ status: 400 });
    const once = buildForm('email\na@example.org\n', { on_conflict: 'skip', segments: 'upsert' });
    const twice = Buffer.from(once.body.toString('latin1').replace('"segments"', '"on_conflict"'), 'latin1');
    const repeated = await scene.api('POST', '/contacts/imports', { key: team.key, ...once, body: twice });
    expect(repeated).toMatchObject({ status: 400, body: { errors: [{ path: 'on_conflict' }] } });
    const cut = { ...buildForm('email\na@example.org\n') };
    const broken = await scene.api('POST', '/contacts/imports', {
      key: team.key,
      body: cut.body.subarray(0, cut.body.length - 30),
      headers: cut.headers,
    });
    expect(broken).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect((await call(team, 'GET', '/contacts/imports')).body.data).toEqual([]);
  });

  const part = (name: string, content: string, more = ''): string =>
    `--b1\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
  const csv = 'email\na@example.org\n';
  const file = part('file', csv, '; filename="a.csv"');
  it.each([
    ['two files', file + file, 'file is sent more than once'],
    ['a file without a name', part('file', csv), 'file must be a file; give its part a filename'],
    ['a field as a file', part('column_map', '{}', '; filename="m.json"') + file, 'column_map must be a text'],
    ['a file of another name', part('upload', csv, '; filename="a.csv"'), 'upload is not a field'],
    ['a form of hundreds of parts', file + part('x', '').repeat(300), 'x is not a field'],
  ])('is refused in a form with %s, which the error names', async (_, parts, word) => {
    const team = await scene.team();
    const headers = { 'content-type': 'multipart/form-data; boundary=b1' };
    const body = Buffer.from(`${parts}--b1--\r\n`);
    const answer = await scene.api('POST', '/contacts/imports', { key: team.key, body, headers });
    expect(answer, answer.text).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect(answer.body.message).toContain(word);
    expect((await call(team, 'GET', '/contacts/imports')).body.data).toEqual([]);
  });

  it('may come with fields marked as JSON, which are read like others', async () => {
    const team = await scene.team();
    const headers = { 'content-type': 'multipart/form-data; boundary=b1' };
    const named = part('column_map', '{"email":"email"}').replace(
      '\r\n\r\n',
      '\r\ncontent-type: application/json\r\n\r\n',
    );
    const body = Buffer.from(`${named}${file}--b1--\r\n`);
    const answer = await scene.api('POST', '/contacts/imports', { key: team.key, body, headers });
    expect(answer.status, answer.text).toBe(201);
    const broken = Buffer.from(body.toString().replace('"}', '"'));
    expect(await scene.api('POST', '/contacts/imports', { key: team.key, body: broken, headers })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('JSON') },
    });
  });

  it.each(['', 'boundary=', 'boundary=""', `boundary=${'b'.repeat(300)}`, `boundary="${'b'.repeat(9000)}"`])(
    'is refused in a form with the boundary parameter %j',
    async (said) => {
      const team = await scene.team();
      const headers = { 'content-type': `multipart/form-data; ${said}` };
      const body = Buffer.from(`${file}--b1--\r\n`);
      const answer = await scene.api('POST', '/contacts/imports', { key: team.key, body, headers });
      expect(answer, answer.text).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    },
  );

  it('is refused while it is read if it is over 50 MB', async () => {
    const team = await scene.team();
    const file = Buffer.alloc(50 * 1024 * 1024 + 1, 'a@example.org\n');
    file.write('email\n');
    expect(await upload(team, file)).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('50 MB') },
    });
    const left: string[] = [];
    for await (const owner of scene.app.world.blobs.owners(Infinity)) left.push(owner);
    const known = await scene.app.world.db.all<{ id: string }>('select id from contact_imports');
    expect(left.filter((id) => !known.some((row) => row.id === id))).toEqual([]);
  });

  it('is refused as too large even if the client sends all of it before it reads the answer', async () => {
    const team = await scene.team();
    const body = Buffer.from(`${file.replace(csv, csv + 'b@example.org\n'.repeat(5_000_000))}--b1--\r\n`);
    const { hostname, port } = new URL(scene.url);
    const socket = net.connect(Number(port), hostname).pause();
    const head = [
      'POST /contacts/imports HTTP/1.1',
      'host: x',
      'user-agent: test',
      `authorization: Bearer ${team.key}`,
      'content-type: multipart/form-data; boundary=b1',
      `content-length: ${body.length}`,
    ].join('\r\n');
    socket.write(`${head}\r\n\r\n`);
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.write(body, () => resolve());
    });
    let heard = '';
    for await (const chunk of socket) {
      heard += String(chunk);
      if (heard.includes('50 MB')) break;
    }
    expect(heard).toContain('HTTP/1.1 422 ');
  });

  it('ends its import at a row of 10 MB or an unclosed quote, and the rows before it count', async () => {
    const team = await scene.team();
    const long = await imported(
      team,
      `email,x\na@example.org,1\nb@example.org,${'y'.repeat(10_000_000)}\nc@example.org,1\n`,
    );
    expect([long.status, long.counts['created'], long.failures[0]?.row]).toEqual(['failed', 1, 3]);
    expect(long.failures[0]?.reason).toContain('1 MB');
    const open = await imported(team, 'email,x\nd@example.org,1\ne@example.org,"y\nf@example.org,1\n');
    expect([open.status, open.counts['created'], open.failures[0]?.row]).toEqual(['failed', 1, 3]);
    expect(await fetchEmails(team)).toEqual(['a@example.org', 'd@example.org']);
  });

  it('may have any number of failed rows, and the reason why the import ended is still reported', async () => {
    const team = await scene.team();
    const { status, failures } = await imported(team, `email\n${'nobody\n'.repeat(1100)}"open\n`);
    expect([status, failures.length, failures[998]?.row, failures[999]?.row]).toEqual(['failed', 1000, 1000, 1102]);
    expect(failures[999]?.reason).toContain('never closed');
  });
});
