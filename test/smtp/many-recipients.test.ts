import nodemailer from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { connect, logIn, findPort, submit, type Dialogue } from './dialogue.ts';

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

const listAddresses = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `r${n}@${n % 2 === 0 ? 'one' : 'two'}.example`);

const idsIn = (reply: string): string[] => reply.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];

async function read(id: string) {
  return (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;
}

/** Returns what arrived at the sink while `work` ran and everything was delivered. */
async function arrivedDuring(work: () => Promise<unknown>) {
  const before = scene.sink.messages.length;
  await work();
  await scene.settled();
  return scene.sink.messages.slice(before);
}

describe('a submitted message with more recipients than an email may have', () => {
  it('is sent once to each recipient that nodemailer names', async () => {
    const to = listAddresses(60);
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: findPort(scene, 'tls'),
      secure: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'rasket', pass: team.key },
    });
    let response: string | undefined;
    const got = await arrivedDuring(async () => {
      const sent = await transport.sendMail({ from, to, subject: 'News', text: 'hello' });
      expect(sent.accepted).toEqual(to);
      expect(sent.rejected).toEqual([]);
      response = sent.response;
    });
    transport.close();
    expect(got.flatMap(({ rcptTo }) => rcptTo).sort()).toEqual(to.toSorted());
    const ids = idsIn(response ?? '');
    expect(ids).toHaveLength(2);
    const first = await read(ids[0] ?? '');
    const second = await read(ids[1] ?? '');
    expect(first.to).toEqual(to.slice(0, 50));
    expect(second.to).toEqual(to.slice(50));
    expect(second).toMatchObject({ subject: 'News', message_id: first.message_id, last_event: 'delivered' });
  });

  it('has one Message-ID and Date when the client wrote none', async () => {
    const to = listAddresses(51);
    let ids: string[] = [];
    const got = await arrivedDuring(async () => {
      ids = idsIn(await submit(client, { from, to, content: `From: ${from}\r\nSubject: x\r\n\r\ntext\r\n` }));
    });
    expect(ids).toHaveLength(2);
    const heads = got.map(({ data }) => /\r\nMessage-ID: .*\r\nDate: .*\r\n/.exec(data.toString())?.[0]);
    expect(new Set(heads).size).toBe(1);
    expect(heads[0]).toContain(`Message-ID: <${ids[0]}@`);
  });

  it('is accepted once under one idempotency key', async () => {
    const to = listAddresses(100);
    const content = `From: ${from}\r\nSubject: x\r\nRasket-Idempotency-Key: many\r\n\r\ntext\r\n`;
    let first = '';
    const got = await arrivedDuring(async () => (first = await submit(client, { from, to, content })));
    expect(got.flatMap(({ rcptTo }) => rcptTo)).toHaveLength(100);
    expect(idsIn(first)).toHaveLength(2);
    const again = await arrivedDuring(async () => expect(await submit(client, { from, to, content })).toBe(first));
    expect(again).toEqual([]);
  });

  it('arrives byte for byte when it is too large for memory, and its files can be read from each email', async () => {
    const to = listAddresses(101);
    const file = Buffer.alloc(2_000_000, 'some bytes ').toString('base64').replaceAll(/.{76}/g, '$&\r\n');
    const content = [
      `From: ${from}`,
      'Date: Mon, 01 Jan 2024 00:00:00 +0000',
      'Message-ID: <many-and-large@client.example>',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'text',
      '--b',
      'Content-Type: application/octet-stream; name=a.bin',
      'Content-Transfer-Encoding: base64',
      '',
      file,
      '--b--',
      '',
    ].join('\r\n');
    let ids: string[] = [];
    const got = await arrivedDuring(async () => (ids = idsIn(await submit(client, { from, to, content }))));
    expect(got.flatMap(({ rcptTo }) => rcptTo).sort()).toEqual(to.toSorted());
    for (const { data } of got) expect(data.toString('latin1').endsWith(content)).toBe(true);
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      const { data } = (await scene.api('GET', `/emails/${id}/attachments`, { key: team.key })).body;
      expect(data).toMatchObject([{ filename: 'a.bin', size: 2_000_000 }]);
      const file = await fetch(data[0].download_url);
      expect((await file.arrayBuffer()).byteLength).toBe(2_000_000);
    }
  });

  it('stores with each email the notices requested for its own recipients', async () => {
    const to = listAddresses(60);
    await client.say(`MAIL FROM:<${from}> RET=HDRS`);
    for (const address of to) expect(await client.say(`RCPT TO:<${address}> NOTIFY=FAILURE`)).toMatch(/^250 /);
    await client.say('DATA');
    client.send(`From: ${from}\r\n\r\nx\r\n.\r\n`);
    const ids = idsIn((await client.reply()).join());
    const stored: string[][] = [];
    for (const id of ids) {
      const row = await scene.app.world.db.get<{ asked: string }>('select asked from emails where id = ?', [id]);
      stored.push(Object.keys(JSON.parse(row?.asked ?? '{}').recipients));
    }
    expect(stored).toEqual([to.slice(0, 50), to.slice(50)]);
    await scene.settled();
  });

  it('is refused as a whole when the quota is sufficient for only some of its emails', async () => {
    await using small = await startScene({
      roles: ['http', 'submission'],
      config: { plans: { standard: { daily_cap: 1 } } },
    });
    const own = await small.team();
    const sender = `me@${(await own.domain()).name}`;
    const client = await connect(small, 'tls');
    await logIn(client, own.key);
    const content = `From: ${sender}\r\n\r\nx\r\n`;
    expect(await submit(client, { from: sender, to: listAddresses(51), content })).toMatch(/^452 4\.7\.1 The plan /);
    expect((await small.api('GET', '/emails', { key: own.key })).body.data).toEqual([]);
    expect(await submit(client, { from: sender, to: listAddresses(50), content })).toMatch(/^250 /);
    client.end();
  });

  it('has up to a thousand recipients, and a further one needs another transaction', async () => {
    await client.say(`MAIL FROM:<${from}>`);
    for (const address of listAddresses(1000)) client.send(`RCPT TO:<${address}>\r\n`);
    for (let n = 0; n < 1000; n++) expect(await client.line()).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<more@one.example>')).toMatch(
      /^452 4\.5\.3 1000 recipients are accepted per message; /,
    );
    expect(await client.say('RCPT TO:<R998@one.example>')).toMatch(/^250 /);
    const got = await arrivedDuring(async () => {
      expect(await client.say('DATA')).toMatch(/^354/);
      client.send(`From: ${from}\r\n\r\nx\r\n.\r\n`);
      expect((await client.reply()).join()).toMatch(
        /^250 2\.6\.0 Accepted as [0-9a-f-]{36}(, [0-9a-f-]{36}){9} and 10 more$/,
      );
    });
    const reached = got.flatMap(({ rcptTo }) => rcptTo);
    expect(reached).toHaveLength(1000);
    expect(new Set(reached).size).toBe(1000);
  });

  it('reaches the first thousand of two thousand recipients, and each of the others gets 452', async () => {
    await client.say(`MAIL FROM:<${from}>`);
    for (const address of listAddresses(2000)) client.send(`RCPT TO:<${address}>\r\n`);
    for (let n = 0; n < 1000; n++) expect(await client.line()).toMatch(/^250 /);
    for (let n = 0; n < 1000; n++)
      expect(await client.line()).toMatch(/^452 4\.5\.3 1000 recipients are accepted per message; /);
    const got = await arrivedDuring(async () => {
      expect(await client.say('DATA')).toMatch(/^354/);
      client.send(`From: ${from}\r\n\r\nx\r\n.\r\n`);
      expect((await client.reply()).join()).toMatch(/^250 2\.6\.0 Accepted as /);
    });
    expect(new Set(got.flatMap(({ rcptTo }) => rcptTo)).size).toBe(1000);
  });

  it('reaches a recipient once who is named two hundred times', async () => {
    await client.say(`MAIL FROM:<${from}>`);
    for (let n = 0; n < 200; n++) expect(await client.say('RCPT TO:<again@one.example>')).toMatch(/^250 /);
    const got = await arrivedDuring(() => client.say('DATA').then(() => client.say(`From: ${from}\r\n\r\nx\r\n.`)));
    expect(got.flatMap(({ rcptTo }) => rcptTo)).toEqual(['again@one.example']);
  });
});
