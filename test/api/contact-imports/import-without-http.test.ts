import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importContacts, type ImportPart } from '../../../src/features/audience/import-runner/receive-import.ts';
import { Refusal } from '../../../src/platform/refusal.ts';
import type { Ctx } from '../../../src/tenancy/access/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const CSV = 'email\na@example.org\n';

type Part = { name: string; text: string } | { name: string; file: string };

const buildCtx = ({ id }: Team): Ctx => ({
  store: scene.app.world,
  teamId: id,
  actor: { kind: 'job', name: 'test' },
  requestId: 'req_test',
});

/** Passes the parts to the operation, the file piece by piece. */
async function handIn(team: Team, parts: readonly Part[]): Promise<{ object: string; id: string }> {
  async function* streamContent(file: string): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < file.length; at += 5) yield Buffer.from(file.slice(at, at + 5));
  }
  const given = parts.map((part): ImportPart =>
    'text' in part ? part : { name: part.name, content: streamContent(part.file) },
  );
  return importContacts(buildCtx(team), given);
}

/** Sends the same parts as a form. */
function send({ key }: Team, parts: readonly Part[]) {
  const written = parts.map((part) => {
    const [content, more] = 'text' in part ? [part.text, ''] : [part.file, '; filename="a.csv"'];
    return `--b1\r\ncontent-disposition: form-data; name="${part.name}"${more}\r\n\r\n${content}\r\n`;
  });
  const headers = { 'content-type': 'multipart/form-data; boundary=b1' };
  return scene.api('POST', '/contacts/imports', { key, body: Buffer.from(`${written.join('')}--b1--\r\n`), headers });
}

/** Returns files that belong to no import. */
async function leftFiles(): Promise<string[]> {
  const left: string[] = [];
  for await (const owner of scene.app.world.blobs.owners(Infinity)) left.push(owner);
  const known = await scene.app.world.db.all<{ id: string }>('select id from contact_imports');
  return left.filter((id) => !known.some((row) => row.id === id));
}

describe('a contact import that does not come over HTTP', () => {
  it('is read with its fields in any order', async () => {
    const team = await scene.team();
    const { key } = team;
    const made = await handIn(team, [
      { name: 'column_map', text: '{"email":"Mail"}' },
      { name: 'file', file: 'Mail,x\nada@example.org,1\nnobody,2\n' },
      { name: 'on_conflict', text: 'upsert' },
    ]);
    expect(made).toEqual({ object: 'contact_import', id: made.id });
    await scene.settled();
    expect((await scene.api('GET', `/contacts/imports/${made.id}`, { key })).body).toMatchObject({
      status: 'completed',
      counts: { total: 2, created: 1, failed: 1 },
    });
    expect((await scene.api('GET', '/contacts/ada@example.org', { key })).status).toBe(200);
  });

  const file = { name: 'file', file: CSV };
  it.each<[string, Part[], status: number, message: string]>([
    ['two files', [file, file], 400, 'file is sent more than once; send one file.'],
    ['no file', [{ name: 'on_conflict', text: 'skip' }], 422, 'Missing required field: file.'],
    [
      'a file as a text',
      [{ name: 'file', text: CSV }],
      400,
      'file must be a file; give its part a filename, such as contacts.csv.',
    ],
    [
      'a text as a file',
      [{ name: 'column_map', file: '{}' }, file],
      400,
      'column_map must be a text field; omit the filename of its part.',
    ],
    [
      'an unknown file',
      [{ name: 'upload', file: CSV }],
      400,
      'upload is not a field of this form; known are file, column_map, on_conflict, on_bad_value, segments, topics, start_automations',
    ],
    [
      'an unknown text',
      [file, { name: 'x'.repeat(120), text: '' }],
      400,
      `${'x'.repeat(100)} is not a field of this form; known are file, column_map, on_conflict, on_bad_value, segments, topics, start_automations`,
    ],
    [
      'a text that stands twice',
      [file, { name: 'on_conflict', text: 'skip' }, { name: 'on_conflict', text: 'skip' }],
      400,
      'on_conflict is sent more than once in the form.',
    ],
    [
      'a large text',
      [{ name: 'topics', text: ' '.repeat(256 * 1024 + 1) }, file],
      400,
      'topics is larger than 256 KB.',
    ],
    [
      'a text that says something else',
      [{ name: 'on_conflict', text: 'replace' }, file],
      400,
      'on_conflict must be upsert or skip.',
    ],
    [
      'a file of something else',
      [{ name: 'file', file: '<html>' }],
      422,
      'file: the file is an HTML page, not a CSV file.',
    ],
    [
      'a file without addresses',
      [{ name: 'file', file: 'name\nAda\n' }],
      422,
      'file: no column has email addresses; name one "email" or set it in column_map; the columns are "name".',
    ],
  ])('is refused as over HTTP, and stores nothing, with %s', async (_, parts, status, message) => {
    const team = await scene.team();
    const refusal = await handIn(team, parts).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    const { status: said, message: text, errorName } = refusal as Refusal;
    expect([said, text]).toEqual([status, message]);
    expect(await send(team, parts)).toMatchObject({ status, body: { name: errorName, message } });
    expect((await scene.api('GET', '/contacts/imports', { key: team.key })).body.data).toEqual([]);
    expect(await leftFiles()).toEqual([]);
  });

  it('is not read while its team has twenty open imports', async () => {
    await using idle = await startScene({ roles: ['http'] });
    const team = await idle.team();
    const ctx = { ...buildCtx(team), store: idle.app.world };
    const columns = ['id', 'team_id', 'status', 'options', 'created_at'];
    const open = Array.from({ length: 20 }, () => [ctx.store.ids.uuid(), team.id, 'queued', '{}', 0]);
    await ctx.store.db.insertMany('contact_imports', columns, open);
    let isRead = false;
    async function* parts(): AsyncGenerator<ImportPart> {
      isRead = true;
      yield { name: 'on_conflict', text: 'skip' };
    }
    await expect(importContacts(ctx, parts())).rejects.toThrow('A team may have at most 20 imports');
    expect(isRead).toBe(false);
  });
});
