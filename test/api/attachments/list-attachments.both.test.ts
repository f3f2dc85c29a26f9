import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

describe('the attachments of an email', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  async function send(attachments: object[]): Promise<string> {
    const body = { from: `a@${domain}`, to: 'x@example.org', subject: 'Files', text: 'See below.', attachments };
    return (await scene.api('POST', '/emails', { key: team.key, body })).body.id;
  }
  const files = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      filename: `${i}.txt`,
      content: Buffer.from(`${i}`).toString('base64'),
    }));
  const list = (id: string, query = '', key = team.key) =>
    scene.api('GET', `/emails/${id}/attachments${query}`, { key });
  const get = (id: string, attachment: string, key = team.key) =>
    scene.api('GET', `/emails/${id}/attachments/${attachment}`, { key });

  it('have a download link each that expires in fifteen minutes', async () => {
    const id = await send([
      { filename: 'übung "1".txt', content: 'QQ==' },
      { filename: 'logo.png', content: Buffer.alloc(5000).toString('base64'), content_id: 'logo@here' },
      { filename: 'data', content: '', content_type: 'Application/X-Data; a="b c"' },
    ]);
    const seconds = Math.floor(scene.clock.now() / 1000) + 900;
    const expires_at = new Date(seconds * 1000).toISOString();
    const item = (fields: object) => ({ id: expect.stringMatching(/^att_[0-9a-f]{32}$/), expires_at, ...fields });
    const { status, body } = await list(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'list', has_more: false });
    expect(body.data.map(({ download_url: _, ...rest }: { download_url: string }) => rest)).toEqual([
      item({ filename: 'übung "1".txt', content_type: 'text/plain', content_disposition: 'attachment', size: 1 }),
      item({
        filename: 'logo.png',
        content_type: 'image/png',
        content_disposition: 'inline',
        content_id: 'logo@here',
        size: 5000,
      }),
      item({
        filename: 'data',
        content_type: 'Application/X-Data; a="b c"',
        content_disposition: 'attachment',
        size: 0,
      }),
    ]);
    for (const attachment of body.data) {
      const link = `${scene.url}/emails/${id}/attachments/${attachment.id}/download?expires=${seconds}&token=`;
      expect(attachment.download_url.slice(0, link.length)).toBe(link);
      expect(attachment.download_url.slice(link.length)).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect((await get(id, attachment.id)).body).toEqual({ object: 'attachment', ...attachment });
    }
    expect(new Set(body.data.map((attachment: { download_url: string }) => attachment.download_url)).size).toBe(3);
  });

  it('get a later link when they are read later', async () => {
    const id = await send(files(1));
    const [first] = (await list(id)).body.data;
    scene.clock.advance(60_000);
    const later = (await get(id, first.id)).body;
    expect(Date.parse(later.expires_at) - Date.parse(first.expires_at)).toBe(60_000);
    expect(later.download_url).not.toBe(first.download_url);
  });

  it('are an empty list if there are none', async () => {
    expect((await list(await send([]))).body).toEqual({ object: 'list', has_more: false, data: [] });
  });

  it.each([1, 7, 20, 44, 45, 100])(
    'are paged by %i in both directions, each once, in the order of the email',
    async (limit) => {
      const id = await send(files(45));
      const all = (await list(id, '?limit=100')).body.data.map((item: { id: string }) => item.id) as string[];
      expect((await list(id, '?limit=100')).body.data.map((item: { filename: string }) => item.filename)).toEqual(
        files(45).map(({ filename }) => filename),
      );
      const page = async (query: string) => {
        const { body } = await list(id, `?limit=${limit}${query}`);
        return { ids: body.data.map((item: { id: string }) => item.id) as string[], more: body.has_more as boolean };
      };
      const seen: string[] = [];
      for (let more = true; more;) {
        const next = await page(seen.length === 0 ? '' : `&after=${seen.at(-1)}`);
        seen.push(...next.ids);
        more = next.more;
        expect(more).toBe(seen.length < 45);
      }
      expect(seen).toEqual(all);
      let back = all.slice(-1);
      for (let more = true; more;) {
        const next = await page(`&before=${back[0]}`);
        back = [...next.ids, ...back];
        more = next.more;
        expect(more).toBe(back.length < 45);
      }
      expect(back).toEqual(all);
    },
  );

  it('are paged by twenty by default, with nothing beyond either end', async () => {
    const id = await send(files(21));
    const { body } = await list(id);
    expect([body.data.length, body.has_more]).toEqual([20, true]);
    const all = (await list(id, '?limit=100')).body.data as { id: string }[];
    const empty = { object: 'list', has_more: false, data: [] };
    expect((await list(id, `?after=${all.at(-1)?.id}`)).body).toEqual(empty);
    expect((await list(id, `?before=${all[0]?.id}`)).body).toEqual(empty);
  });

  it('are not found with a cursor from another email', async () => {
    const id = await send(files(3));
    const other = await send(files(3));
    const [cursor] = (await list(other)).body.data;
    const empty = { object: 'list', has_more: false, data: [] };
    expect((await list(id, `?after=${cursor.id}`)).body).toEqual(empty);
    expect((await list(id, `?before=${cursor.id}`)).body).toEqual(empty);
    expect((await list(id, `?after=att_${'0'.repeat(32)}`)).body).toEqual(empty);
  });

  it('are found under an id in upper case', async () => {
    const id = await send(files(1));
    const { body } = await list(id.toUpperCase());
    expect(body.data).toHaveLength(1);
    expect(body.data[0].download_url).toContain(`/emails/${id}/`);
  });

  it('return the same 404 for another email, another team and an unknown id', async () => {
    const id = await send(files(1));
    const other = await send(files(1));
    const [own] = (await list(id)).body.data;
    const stranger = await scene.team();
    const answers = [
      await get(other, own.id),
      await get(id, `att_${'0'.repeat(32)}`),
      await get(randomUUID(), own.id),
      await get(id, own.id, stranger.key),
    ];
    for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]?.text]);
    const foreign = await list(id, '', stranger.key);
    const absent = await list(randomUUID());
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
  });

  it('cannot be read with a sending key', async () => {
    const id = await send(files(1));
    const [own] = (await list(id)).body.data;
    const sending = await team.sendingKey();
    for (const answer of [await list(id, '', sending), await get(id, own.id, sending)]) {
      expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    }
  });

  it('have links below the public address of the installation', async () => {
    await using known = await startScene({
      roles: ['http'],
      config: { http: { public_url: 'https://mail.example.com' } as never },
    });
    expect(known.app.world.origin()).toBe('https://mail.example.com');
  });
});
