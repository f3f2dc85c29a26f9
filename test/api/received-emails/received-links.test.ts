import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

describe('links to received mail', () => {
  let scene: Scene;
  let team: Team;
  let count = 0;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
  });
  afterAll(() => scene.close());

  interface Arrived {
    id: string;
    file: string;
    attachment: URL;
    raw: URL;
    source: string;
  }
  async function arrive(source = MESSAGE.replace('<question@', `<link-${++count}@`)): Promise<Arrived> {
    const id = await receiveMail(scene, team, { raw: source });
    const { body } = await scene.api('GET', `/emails/receiving/${id}`, { key: team.key });
    const { data } = (await scene.api('GET', `/emails/receiving/${id}/attachments`, { key: team.key })).body;
    const [{ id: file, download_url }] = data;
    return { id, file, attachment: new URL(download_url), raw: new URL(body.raw.download_url), source };
  }
  const ask = (link: URL, headers: Record<string, string | null> = {}) =>
    scene.api('GET', link.pathname + link.search, { headers });
  const changed = (link: URL, change: (link: URL) => void): URL => {
    const copy = new URL(link);
    change(copy);
    return copy;
  };
  const withPart = (headers: string): string =>
    `Message-ID: <part-${++count}@example.org>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${headers}\r\n\r\n<svg/>\r\n--b--\r\n`;

  it('return the source byte for byte, as raw.eml that no browser executes', async () => {
    const { raw, source } = await arrive();
    const answer = await fetch(raw, { headers: { 'user-agent': 'somebody' } });
    expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(source))).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'message/rfc822',
      'content-disposition': 'attachment; filename="raw.eml"',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    });
  });

  it.each([
    ['image/png', 'image/png'],
    ['text/plain', 'text/plain'],
    ['application/pdf', 'application/pdf'],
    ['text/html', 'application/octet-stream'],
    ['image/svg+xml', 'application/octet-stream'],
    ['text/xml', 'application/octet-stream'],
    ['application/xhtml+xml', 'application/octet-stream'],
    ['application/javascript', 'application/octet-stream'],
    ['nonsense', 'application/octet-stream'],
    ['text/html\tx', 'application/octet-stream'],
  ])('serve %s as %s', async (given, served) => {
    const { attachment } = await arrive(
      withPart(`Content-Type: ${given}\r\nContent-Disposition: attachment; filename="a.svg"`),
    );
    const answer = await fetch(attachment, { headers: { 'user-agent': 'somebody' } });
    expect(answer.headers.get('content-type')).toBe(served);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
  });

  it('need no key but a User-Agent, and expire after fifteen minutes', async () => {
    const { attachment, raw } = await arrive();
    for (const link of [attachment, raw]) {
      expect(await ask(link, { 'user-agent': null })).toMatchObject({ status: 403, body: { code: 1010 } });
    }
    const until = Number(raw.searchParams.get('expires')) * 1000;
    scene.clock.advance(until - scene.clock.now() - 1);
    for (const link of [attachment, raw]) expect((await ask(link)).status).toBe(200);
    scene.clock.advance(1);
    for (const link of [attachment, raw]) expect((await ask(link)).status).toBe(404);
  });

  it('return the same 404, whatever is wrong', async () => {
    const one = await arrive();
    const other = await arrive();
    const gone = await arrive();
    await scene.api('DELETE', `/emails/receiving/${gone.id}`, { key: team.key });
    const lost = await arrive();
    await scene.app.world.db.run('delete from contents where owner_id = ?', [lost.id]);
    const suspended = await scene.team();
    const theirs = await receiveMail(scene, suspended, { raw: MESSAGE });
    const theirRaw = (await scene.api('GET', `/emails/receiving/${theirs}`, { key: suspended.key })).body.raw;
    await scene.app.world.db.run("update teams set risk_state = 'suspended' where id = ?", [suspended.id]);
    const set = (link: URL, name: string, value: (old: string) => string) =>
      changed(link, (it) => it.searchParams.set(name, value(it.searchParams.get(name) ?? '')));
    const move = (link: URL, from: string, to: string) =>
      changed(link, (it) => (it.pathname = it.pathname.replace(from, to)));
    const wrong: [string, URL][] = [one.raw, one.attachment].flatMap((link): [string, URL][] => [
      ['forged', set(link, 'token', (token) => (token.startsWith('A') ? 'B' : 'A') + token.slice(1))],
      ['cut short', set(link, 'token', (token) => token.slice(0, -1))],
      ['empty', set(link, 'token', () => '')],
      ['later', set(link, 'expires', (at) => String(Number(at) + 1))],
      ['long ago', set(link, 'expires', () => '0')],
      ['another email', move(link, one.id, other.id)],
      ['nobody’s email', move(link, one.id, randomUUID())],
      ['no token', changed(link, (it) => it.searchParams.delete('token'))],
      ['expires in words', set(link, 'expires', () => 'tomorrow')],
      ['expires twice', changed(link, (it) => it.searchParams.append('expires', '1'))],
      ['another parameter', set(link, 'surprise', () => '1')],
      ['no email id', move(link, one.id, '1')],
    ]);
    wrong.push(
      ['another attachment', move(one.attachment, one.file, other.file)],
      ['the token of the source', set(one.attachment, 'token', () => one.raw.searchParams.get('token') ?? '')],
      ['an attachment called raw', move(one.attachment, one.file, 'att_raw')],
      ['deleted source', gone.raw],
      ['deleted attachment', gone.attachment],
      ['lost source', lost.raw],
      ['lost attachment', lost.attachment],
      ['of a suspended team', new URL(theirRaw.download_url)],
    );
    for (const [what, link] of wrong) {
      const answer = await ask(link);
      const expected = { statusCode: 404, name: 'not_found', message: 'File not found.' };
      expect([what, answer.status, answer.body]).toEqual([what, 404, expected]);
    }
    expect((await ask(one.raw)).status).toBe(200);
  });

  it('cannot be replaced with a link to a sent attachment', async () => {
    const { attachment, id } = await arrive();
    const sent = changed(attachment, (it) => (it.pathname = it.pathname.replace(`receiving/${id}`, id)));
    expect((await ask(sent)).status).toBe(404);
  });
});
