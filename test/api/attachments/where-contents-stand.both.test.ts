import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openContent, readContent, sizeOfContent } from '../../../src/mail/contents/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sendOne } from '../shares/shared.ts';

const LIMIT = 2000;

describe('the contents of an email are rows of the database up to storage.row_bytes, and files above it', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene({ config: { storage: { inline_bytes: 100, row_bytes: LIMIT } } });
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const buildFile = (size: number, fill = 'x') => ({
    filename: `${size}.bin`,
    content: Buffer.alloc(size, fill).toString('base64'),
  });
  const hasFiles = (id: string): boolean => existsSync(path.join(scene.dataDir, 'blobs', id.slice(-2), id));
  async function inRows(id: string): Promise<number[]> {
    const sql = 'select length(content) as size from contents where owner_id = ? order by size';
    return (await scene.app.world.db.all<{ size: number }>(sql, [id])).map(({ size }) => size);
  }

  it.each([
    { what: 'a file of the limit', sizes: [LIMIT], text: 'short', rows: [LIMIT] },
    { what: 'a file above it', sizes: [LIMIT + 1], text: 'short', rows: [] },
    { what: 'two files that pass it together', sizes: [LIMIT / 2, LIMIT / 2 + 1], text: 'short', rows: [] },
    { what: 'an empty file', sizes: [0], text: 'short', rows: [0] },
    { what: 'a long text and a file', sizes: [900], text: 'x'.repeat(1100), rows: [900, 1100] },
    { what: 'a long text that passes it with a file', sizes: [900], text: 'x'.repeat(1101), rows: [] },
    { what: 'characters of several bytes', sizes: [], text: 'ü'.repeat(1001), rows: [] },
    { what: 'a short text', sizes: [], text: 'short', rows: [] },
  ])('this holds for $what', async ({ sizes, text, rows }) => {
    const { id } = await sendOne(scene, team, { text, attachments: sizes.map((size) => buildFile(size)) });
    await scene.settled();
    expect(await inRows(id)).toEqual(rows);
    expect(hasFiles(id)).toBe(rows.length === 0 && (sizes.length > 0 || text !== 'short'));
    const { body } = await scene.api('GET', `/emails/${id}`, { key: team.key });
    expect(body).toMatchObject({ last_event: 'delivered', text });
    const { data } = (await scene.api('GET', `/emails/${id}/attachments`, { key: team.key })).body;
    const got = await Promise.all(
      (data as { download_url: string }[]).map(async ({ download_url: url }) => {
        const { pathname, search } = new URL(url);
        return Buffer.from(await (await fetch(scene.url + pathname + search)).arrayBuffer()).length;
      }),
    );
    expect(got).toEqual(sizes);
  });

  it('a batch stores in rows only as much as one commit can take', async () => {
    await using large = await startScene({ roles: ['http'], config: { storage: { row_bytes: 300_000 } } });
    const sender = await large.team();
    const from = `a@${(await sender.domain()).name}`;
    const emails = Array.from({ length: 5 }, () => ({
      from,
      to: 'x@example.org',
      subject: 'Long',
      text: 'x'.repeat(300_000),
    }));
    const { body } = await large.api('POST', '/emails/batch', { key: sender.key, body: emails });
    const ids = (body.data as { id: string }[]).map(({ id }) => id);
    const rows = await large.app.world.db.all('select owner_id from contents');
    expect(rows.map((row) => row['owner_id']).sort()).toEqual(ids.slice(0, 3).sort());
    for (const id of ids) {
      const read = await large.api('GET', `/emails/${id}`, { key: sender.key });
      expect(read.body.text).toHaveLength(300_000);
    }
  });

  it('any bytes and any range of them are read back unchanged from rows and from files', async () => {
    const { world } = scene.app;
    const bytes = Buffer.from(Array.from({ length: 1500 }, (_, i) => i % 256));
    for (const more of [[], [buildFile(LIMIT)]]) {
      const attachments = [{ filename: 'any.bin', content: bytes.toString('base64') }, ...more];
      const { id } = await sendOne(scene, team, { attachments });
      expect(hasFiles(id)).toBe(more.length > 0);
      const sql = 'select id from email_attachments where email_id = ? and position = 0';
      const key = `${id}/${(await world.db.get<{ id: string }>(sql, [id]))?.id ?? ''}`;
      expect((await readContent(world, key)).equals(bytes)).toBe(true);
      expect(await sizeOfContent(world, key)).toBe(1500);
      for (const range of [undefined, { start: 0, end: 1 }, { start: 255, end: 300 }, { start: 1499, end: 1500 }]) {
        const opened = await openContent(world, key, { range });
        const read = Buffer.concat(((await opened?.content.toArray()) ?? []) as Buffer[]);
        expect([opened?.size, read.equals(bytes.subarray(range?.start, range?.end))]).toEqual([1500, true]);
      }
      expect(await openContent(world, `${id}/nothing`)).toBeUndefined();
      expect(await openContent(world, `${id}/nothing`, { range: { start: 0, end: 1 } })).toBeUndefined();
      await expect(readContent(world, `${id}/nothing`)).rejects.toMatchObject({ code: 'ENOENT' });
    }
  });
});
