import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bringMail, callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { dice } from '../../rig/seed.ts';
import { hostileMessages } from './hostile-messages.ts';
import { hearGreeting } from './opened.ts';

const MESSAGES = hostileMessages(9);
const AT_ONCE = 4;

describe('hostile messages at the receiving port', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'receiving'] });
    team = await scene.team();
    domain = (await createReceivingDomain(scene, team)).name;
  });
  afterAll(() => scene.close());

  it('are at least two hundred in number', () => expect(MESSAGES.length).toBeGreaterThanOrEqual(200));

  it('are stored byte for byte or refused, and the next client is served', { timeout: 480_000 }, async () => {
    const failed: string[] = [];
    const reasons = new Map<string, number>();
    const left = MESSAGES.entries();
    // Other files ran in this process before, and what they took counts against nobody here.
    const rssBefore = process.memoryUsage().rss;
    let rss = 0;
    const worker = async (): Promise<void> => {
      for (const [n, { name, raw }] of left) {
        const reply = await bringMail(scene, { to: [`n${n}@${domain}`], raw });
        if (raw.includes(0)) {
          if (!reply.startsWith('550 5.6.0 ')) failed.push(`${name}: ${reply}`);
          continue;
        }
        const id = /^250 2\.0\.0 Stored as ([0-9a-f-]{36})/.exec(reply)?.[1];
        if (!id) failed.push(`${name}: ${reply}`);
        else failed.push(...(await fetchFaults(id, { name, raw, to: `n${n}@${domain}` }, reasons)));
        rss = Math.max(rss, process.memoryUsage().rss);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(failed).toEqual([]);
    // Both kinds are among them: what is read after all, and what is kept as it came.
    expect([...reasons.keys()].sort()).toEqual(['parse_failed', 'read']);
    expect(rss - rssBefore).toBeLessThan(1.2 * 1024 ** 3);
    expect(await bringMail(scene, { to: [`last@${domain}`], raw: 'Subject: ordinary\r\n\r\nx\r\n' })).toMatch(/^250 /);
    const { data } = (await scene.api('GET', '/emails/receiving?limit=1', { key: team.key })).body;
    expect(data[0]).toMatchObject({ subject: 'ordinary', dropped_reason: null });
  });

  async function fetchFaults(
    id: string,
    sent: { name: string; raw: Buffer; to: string },
    reasons: Map<string, number>,
  ): Promise<string[]> {
    const { status, body } = await scene.api('GET', `/emails/receiving/${id}`, { key: team.key });
    if (status !== 200) return [`${sent.name}: ${status}`];
    const reason = (body.dropped_reason as string | null) ?? 'read';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    const answer = await fetch(body.raw.download_url, { headers: { 'user-agent': 'x' } });
    const raw = Buffer.from(await answer.arrayBuffer());
    const whole = sent.raw.at(-1) === 10 ? sent.raw : Buffer.concat([sent.raw, Buffer.from('\r\n')]);
    if (!raw.equals(whole)) return [`${sent.name}: the source is not what was sent`];
    return body.received_for[0] === sent.to ? [] : [`${sent.name}: received for ${body.received_for}`];
  }

  const WORDS = [
    'MAIL FROM:<a@example.org>\r\nRCPT TO:<b@DOMAIN>\r\nDATA\r\nx\r\n.',
    'EHLO a.example',
    'HELO a',
    'MAIL FROM:<a@example.org>',
    'MAIL FROM:<>',
    'RCPT TO:<b@DOMAIN>',
    'RCPT TO:<b@example.net>',
    'DATA',
    '.',
    'RSET',
    'NOOP',
    'QUIT',
    'STARTTLS',
    'AUTH PLAIN',
    '',
    'VRFY x',
    'Subject: x',
    '..',
    'HELP',
  ];

  it('and senseless dialogues end in replies, and accepted messages are stored', { timeout: 480_000 }, async () => {
    const before = await stored();
    let taken = 0;
    let unheard = 0;
    for (let seed = 0; seed < 100; seed++) {
      const heard = await nonsense(dice(seed), seed % 2 === 1);
      if (heard === undefined) unheard++;
      else taken += heard;
    }
    expect(taken).toBeGreaterThan(5);
    // When a connection was broken off, nobody knows what had been taken.
    expect((await stored()) - before - taken).toBeGreaterThanOrEqual(0);
    expect((await stored()) - before - taken).toBeLessThanOrEqual(unheard * 5);
    const client = await callMx(scene);
    await hearGreeting(client);
    client.end();
  });

  const stored = async (): Promise<number> =>
    (await scene.app.world.db.get<{ n: number }>('select count(*) as n from received_emails'))?.n ?? 0;

  /** Says what the dice say, cut as they say, and answers how many messages were taken, if it was heard to its end. */
  async function nonsense(roll: () => number, isTls: boolean): Promise<number | undefined> {
    const client = await callMx(scene);
    let taken = 0;
    let isEnded = false;
    await client.hear();
    if (isTls) {
      await client.say('EHLO a.example');
      await client.say('STARTTLS');
      await client.startTls();
    }
    if (roll() < 0.8) client.send('EHLO a.example\r\n');
    const heard = (async () => {
      for (;;) {
        const reply = await client.hear();
        if (reply === 'closed') return;
        if (reply.includes('Stored')) taken++;
      }
    })();
    for (let n = 0; n < 40 && client.isOpen(); n++) {
      const word = (WORDS[Math.floor(roll() * WORDS.length)] ?? '').replace('DOMAIN', domain);
      // A handshake that never comes ends the dialogue; that is another test's.
      if (word === 'STARTTLS' && roll() < 0.9) continue;
      const bytes = Buffer.from(roll() < 0.1 ? `${word}\u0000ÿ\r\n` : `${word}\r\n`, 'latin1');
      const cut = Math.floor(roll() * bytes.length);
      client.send(bytes.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      client.send(bytes.subarray(cut));
      if (roll() < 0.02) {
        isEnded = true;
        break;
      }
    }
    // Out of content, if that is where it is; then goodbye.
    if (!isEnded) {
      client.send('\r\n.\r\nRSET\r\nQUIT\r\n');
      await Promise.race([heard, quiet(client)]);
    }
    client.end();
    await heard;
    return isEnded ? undefined : taken;
  }

  /** After STARTTLS the server answers nothing in clear, so the wait for the end has a limit. */
  const quiet = async (client: { isOpen(): boolean }): Promise<void> => {
    for (let n = 0; n < 20_000 && client.isOpen(); n++) await new Promise((resolve) => setImmediate(resolve));
  };
});
