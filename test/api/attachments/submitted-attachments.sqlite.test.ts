import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyBody } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { DAY, removeExpired } from '../../flow/expiry.ts';
import { connect, logIn, submit, type Dialogue } from '../../smtp/dialogue.ts';

describe('the attachments of a message submitted by SMTP', () => {
  let scene: Scene;
  let team: Team;
  let from: string;
  let client: Dialogue;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
    team = await scene.team();
    from = `me@${(await team.domain()).name}`;
    client = await connect(scene, 'tls');
    await logIn(client, team.key);
  });
  afterAll(async () => {
    client.end();
    await scene.close();
  });

  async function listed(parts: string[]): Promise<AnyBody[]> {
    const head = [`From: ${from}`, 'Subject: Files', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'];
    const body = parts.flatMap((part) => ['--b', part]);
    const content = `${[...head, '', ...body, '--b--'].join('\r\n')}\r\n`;
    const reply = await submit(client, { from, to: ['x@example.org'], content });
    const id = /Accepted as (\S+)/.exec(reply)?.[1] ?? reply;
    return (await scene.api('GET', `/emails/${id}/attachments`, { key: team.key })).body.data;
  }
  const part = (head: string[], content: string): string => [...head, '', content].join('\r\n');
  const text = part(['Content-Type: text/plain'], 'See below.');
  async function follow(link: string): Promise<{ head: Headers; bytes: Buffer }> {
    const answer = await fetch(link, { headers: { 'user-agent': 'somebody' } });
    return { head: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
  }

  it.each([
    { where: 'in rows', long: 20_000, attached: 30_000, rows: ['message', 'text'], folder: false },
    { where: 'in files', long: 20_000, attached: 300_000, rows: [], folder: true },
  ])('are deleted with the rest of their email when stored $where', async ({ long, attached, rows, folder }) => {
    const file = part(['Content-Type: text/csv', 'Content-Disposition: attachment'], 'line\r\n'.repeat(attached / 6));
    const longText = part(['Content-Type: text/plain'], 'line\r\n'.repeat(long / 6));
    const [{ email_id: id }] = (await scene.app.world.db.all('select email_id from email_attachments where id = ?', [
      (await listed([longText, file]))[0]?.id,
    ])) as [{ email_id: string }];
    await scene.settled();
    const contents = 'select name from contents where owner_id = ? order by name';
    const names = async () => (await scene.app.world.db.all(contents, [id])).map(({ name }) => name);
    const hasFolder = () => existsSync(path.join(scene.dataDir, 'blobs', id.slice(-2), id));
    expect([await names(), hasFolder()]).toEqual([rows, folder]);
    const read = await scene.api('GET', `/emails/${id}`, { key: team.key });
    expect(read.body.text?.length).toBeGreaterThan(long - 10);
    scene.clock.advance(31 * DAY);
    await removeExpired(scene);
    expect([await names(), hasFolder()]).toEqual([[], false]);
    scene.clock.advance(-31 * DAY);
  });

  it.each([
    ['small, in the row of the message', 5000],
    ['larger, in a row of its own', 100_000],
    ['large, in the blob store', 3_000_001],
  ])('are listed and read as they were attached: %s', async (_, size) => {
    const bytes = randomBytes(size);
    const encoded = bytes.toString('base64').replace(/.{76}/g, '$&\r\n');
    const head = [
      'Content-Type: application/pdf; name=x.pdf',
      "Content-Disposition: attachment; filename*=utf-8''%e2%82%ac.pdf",
      'Content-Transfer-Encoding: BASE64',
    ];
    const quoted = ['Content-Type: text/csv', 'Content-Disposition: attachment; filename=a.csv'];
    const picture = ['Content-Type: image/png', 'Content-ID: <dot>', 'Content-Disposition: inline'];
    const inner = part(['Content-Type: message/rfc822'], 'Subject: Inner\r\n\r\nHello');
    const data = await listed([
      text,
      part(head, encoded),
      part([...quoted, 'Content-Transfer-Encoding: quoted-printable'], 'a;b=\r\nc\r\n=C3=A4'),
      part([...picture, 'Content-Transfer-Encoding: base64'], 'iVBORw=='),
      inner,
    ]);
    expect(data).toMatchObject([
      { filename: '€.pdf', content_type: 'application/pdf', content_disposition: 'attachment', size },
      { filename: 'a.csv', content_type: 'text/csv', size: 8 },
      { filename: 'attachment', content_type: 'image/png', content_disposition: 'inline', content_id: 'dot', size: 4 },
      { filename: 'message.eml', content_type: 'message/rfc822', size: 23 },
    ]);
    const [pdf, csv, , eml] = await Promise.all(data.map(({ download_url: url }) => follow(url as string)));
    expect(pdf?.bytes.equals(bytes)).toBe(true);
    expect(pdf?.head.get('content-length')).toBe(String(size));
    expect(csv?.bytes.toString()).toBe('a;bc\r\nä');
    expect(eml?.bytes.toString()).toBe('Subject: Inner\r\n\r\nHello');
  });

  it('are an empty list for a message without files, and are paged like other lists', async () => {
    expect(await listed([text])).toEqual([]);
    const file = (n: number) =>
      part(['Content-Type: text/plain', `Content-Disposition: attachment; filename=${n}.txt`], `${n}`);
    const data = await listed([1, 2, 3].map(file));
    expect(data.map(({ filename }) => filename as string)).toEqual(['1.txt', '2.txt', '3.txt']);
    const [{ id, download_url: url }] = data as [AnyBody];
    const emailId = /emails\/([^/]+)/.exec(url as string)?.[1];
    const page = await scene.api('GET', `/emails/${emailId}/attachments?limit=1&after=${id}`, { key: team.key });
    expect(page.body).toMatchObject({ has_more: true, data: [{ filename: '2.txt' }] });
  });
});
