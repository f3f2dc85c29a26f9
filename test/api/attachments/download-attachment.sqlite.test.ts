import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

describe('the download link of an attachment', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  interface Sent {
    email: string;
    id: string;
    link: URL;
  }
  async function send(file: object = {}, more: object[] = []): Promise<Sent> {
    const attachments = [{ filename: 'receipt.pdf', content: 'QQ==', ...file }, ...more];
    const body = { from: `a@${domain}`, to: 'x@example.org', subject: 'File', text: 'See below.', attachments };
    const { id: email } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    const [{ id, download_url }] = (await scene.api('GET', `/emails/${email}/attachments`, { key: team.key })).body
      .data;
    return { email, id, link: new URL(download_url) };
  }
  const follow = (link: URL, init: RequestInit = {}) =>
    fetch(link, { ...init, headers: { 'user-agent': 'somebody', ...init.headers } });
  const changed = (link: URL, change: (link: URL) => void): URL => {
    const copy = new URL(link);
    change(copy);
    return copy;
  };
  const ask = (link: URL, method = 'GET', headers: Record<string, string | null> = {}) =>
    scene.api(method, link.pathname + link.search, { headers });

  it.each([0, 1, 65_536, 1_000_001])(
    'returns a file of %i bytes as it was sent, to anyone who has the link',
    async (size) => {
      const bytes = randomBytes(size);
      const { link } = await send({ content: bytes.toString('base64') });
      const answer = await follow(link);
      expect(answer.status).toBe(200);
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
      expect(answer.headers.get('content-length')).toBe(String(size));
      expect(answer.headers.get('content-type')).toBe('application/pdf');
    },
  );

  it('is answered as a download that no browser executes', async () => {
    const { link } = await send({
      filename: 'page.html',
      content: Buffer.from('<script>1</script>').toString('base64'),
    });
    const { headers } = await follow(link);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': 'attachment; filename="page.html"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer',
    });
    expect(headers.get('x-request-id')).toBeTruthy();
    expect(headers.get('ratelimit-limit')).toBeTruthy();
  });

  it.each(['text/plain', 'application/json', 'text/html; charset="utf-8"', 'image/svg+xml', 'X/y'])(
    'keeps the content type %s',
    async (contentType) => {
      const { link } = await send({ content_type: contentType, content: 'e30=' });
      const answer = await follow(link);
      expect(answer.headers.get('content-type')).toBe(contentType);
      expect(await answer.text()).toBe('{}');
    },
  );

  it('answers HEAD like GET, without the file', async () => {
    const { link } = await send({ content: randomBytes(5000).toString('base64') });
    const head = await follow(link, { method: 'HEAD' });
    const get = await follow(link);
    expect(head.status).toBe(200);
    expect((await head.arrayBuffer()).byteLength).toBe(0);
    const same = ['content-type', 'content-length', 'content-disposition', 'cache-control'];
    expect(same.map((name) => head.headers.get(name))).toEqual(same.map((name) => get.headers.get(name)));
    expect(
      await ask(
        changed(link, (it) => it.searchParams.set('token', 'x')),
        'HEAD',
      ),
    ).toMatchObject({ status: 404 });
  });

  it('works repeatedly for fifteen minutes and then no more', async () => {
    const { link } = await send();
    const until = Number(link.searchParams.get('expires')) * 1000;
    scene.clock.advance(until - scene.clock.now() - 1);
    expect((await ask(link)).status).toBe(200);
    expect((await ask(link)).status).toBe(200);
    scene.clock.advance(1);
    expect(await ask(link)).toMatchObject({ status: 404, body: { name: 'not_found' } });
  });

  it('needs no key, ignores one, and requires a User-Agent', async () => {
    const { link } = await send();
    const stranger = await scene.team();
    for (const authorization of [null, 'Bearer rk_nobody', 'nonsense', `Bearer ${stranger.key}`]) {
      expect((await ask(link, 'GET', { authorization })).status).toBe(200);
    }
    for (const agent of [null, '', ' ']) {
      expect(await ask(link, 'GET', { 'user-agent': agent })).toMatchObject({ status: 403, body: { code: 1010 } });
    }
  });

  it('also works below the base path /api/v1', async () => {
    const { link } = await send();
    const below = changed(link, (it) => (it.pathname = `/api/v1${it.pathname}`));
    expect((await follow(below)).status).toBe(200);
  });

  describe('returns the same 404', () => {
    const bit = (token: string, at: number): string => {
      const letter = token[at] === 'A' ? 'B' : 'A';
      return token.slice(0, at) + letter + token.slice(at + 1);
    };

    it('for any change to the link', async () => {
      const one = await send();
      const other = await send();
      const set = (name: string, value: (old: string) => string) =>
        changed(one.link, (it) => it.searchParams.set(name, value(it.searchParams.get(name) ?? '')));
      const wrong: [string, URL][] = [
        ['first letter of the token', set('token', (token) => bit(token, 0))],
        ['middle of the token', set('token', (token) => bit(token, 20))],
        ['last letter of the token', set('token', (token) => bit(token, token.length - 1))],
        ['spare bits of the last letter', set('token', (token) => token.slice(0, -1) + spareBits(token.at(-1) ?? ''))],
        ['token in another case', set('token', (token) => token.toUpperCase())],
        ['token with padding', set('token', (token) => `${token}=`)],
        ['token cut short', set('token', (token) => token.slice(0, -1))],
        ['token twice as long', set('token', (token) => token + token)],
        ['very long token', set('token', () => 'A'.repeat(6000))],
        ['empty token', set('token', () => '')],
        ['token beyond ASCII', set('token', () => 'é'.repeat(43))],
        ['the token of another attachment', set('token', () => other.link.searchParams.get('token') ?? '')],
        ['later end', set('expires', (expires) => String(Number(expires) + 1))],
        ['earlier end', set('expires', (expires) => String(Number(expires) - 1))],
        ['end of long ago', set('expires', () => '0')],
        ['negative end', set('expires', () => '-1')],
        ['distant end', set('expires', () => '999999999999999')],
        ['other email', changed(one.link, (it) => (it.pathname = it.pathname.replace(one.email, other.email)))],
        ['other attachment', changed(one.link, (it) => (it.pathname = it.pathname.replace(one.id, other.id)))],
        ['nobody’s email', changed(one.link, (it) => (it.pathname = it.pathname.replace(one.email, randomUUID())))],
        ['nobody’s attachment', changed(one.link, (it) => (it.pathname = it.pathname.replace(one.id, 'att_0')))],
      ];
      const expected = { statusCode: 404, name: 'not_found', message: 'Attachment not found.' };
      for (const [what, link] of wrong) {
        const answer = await ask(link);
        expect([what, answer.status, answer.body]).toEqual([what, 404, expected]);
        expect(answer.headers.get('content-disposition'), what).toBeNull();
      }
      expect((await ask(one.link)).status).toBe(200);
    });

    it('for the id of another attachment of the same email', async () => {
      const { link, email, id } = await send({}, [{ filename: 'secret.txt', content: 'QQ==' }]);
      const { data } = (await scene.api('GET', `/emails/${email}/attachments`, { key: team.key })).body;
      expect(data).toHaveLength(2);
      const swapped = changed(link, (it) => (it.pathname = it.pathname.replace(id, data[1].id)));
      expect(await ask(swapped)).toMatchObject({ status: 404, body: { message: 'Attachment not found.' } });
    });

    it('for an email that was deleted', async () => {
      const { link, email } = await send();
      await scene.app.world.db.run('delete from email_attachments where email_id = ?', [email]);
      expect(await ask(link)).toMatchObject({ status: 404, body: { message: 'Attachment not found.' } });
    });

    it('for a file that is missing on disk, which is logged', async () => {
      // Files of this total size are kept in files.
      const large = { filename: 'large.bin', content: Buffer.alloc(300_000).toString('base64') };
      const { link, email, id } = await send({}, [large]);
      await scene.settled();
      rmSync(path.join(scene.dataDir, 'blobs', email.slice(-2), email, id));
      scene.log.length = 0;
      expect(await ask(link)).toMatchObject({ status: 404, body: { message: 'Attachment not found.' } });
      const lines = scene.log.map((line) => JSON.parse(line) as { msg: string; level: unknown; attachmentId?: string });
      expect(lines).toContainEqual(
        expect.objectContaining({ msg: 'the file of an attachment is missing', attachmentId: id, emailId: email }),
      );
    });

    it('for a link of another installation', async () => {
      await using elsewhere = await startScene({ roles: ['http'] });
      const { link } = await send();
      const there = new URL(link.pathname + link.search, elsewhere.url);
      const answer = await elsewhere.api('GET', there.pathname + there.search);
      expect(answer.status).toBe(404);
    });

    function spareBits(letter: string): string {
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      return alphabet[alphabet.indexOf(letter) ^ 1] ?? '';
    }
  });

  const malformed: [what: string, change: (url: URL) => void][] = [
    ['no expires', (url) => url.searchParams.delete('expires')],
    ['no token', (url) => url.searchParams.delete('token')],
    ['neither', (url) => void (url.search = '')],
    ['an empty expires', (url) => url.searchParams.set('expires', '')],
    ['expires in words', (url) => url.searchParams.set('expires', 'tomorrow')],
    ['expires as 1e9', (url) => url.searchParams.set('expires', '1e9')],
    ['expires with a fraction', (url) => url.searchParams.set('expires', '1.5')],
    ['expires twice', (url) => url.searchParams.append('expires', '1')],
    ['token twice', (url) => url.searchParams.append('token', 'x')],
    ['a token with a NUL', (url) => url.searchParams.set('token', '\0')],
    ['another parameter', (url) => url.searchParams.set('surprise', '1')],
    ['an email id that is none', (url) => void (url.pathname = '/emails/1/attachments/att_1/download')],
    ['an attachment id that is none', (url) => void (url.pathname = `/emails/${randomUUID()}/attachments/1/download`)],
  ];
  it.each(malformed)('%s gets the 404 of a forged link', async (_, change) => {
    const { link } = await send();
    const forged = await ask(changed(link, (url) => url.searchParams.set('token', 'x')));
    expect(forged.status).toBe(404);
    const { status, body } = await ask(changed(link, change));
    expect({ status, body }).toEqual({ status: 404, body: forged.body });
  });

  it('an attachment reader that disconnects in the middle leaves no file open', async () => {
    const { link, email } = await send({ content: Buffer.alloc(20_000_000).toString('base64') });
    await scene.settled();
    const open = () => openFiles().filter((file) => file.includes(email));
    const stop = new AbortController();
    const answer = await follow(link, { signal: stop.signal });
    const reader = answer.body?.getReader();
    await reader?.read();
    expect(open()).toHaveLength(1);
    stop.abort();
    await expect(reader?.read()).rejects.toThrow();
    await vi.waitFor(() => expect(open()).toEqual([]));
    expect((await ask(link)).status).toBe(200);
  });
});

/** Returns the files that this process has open, according to Linux. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}
