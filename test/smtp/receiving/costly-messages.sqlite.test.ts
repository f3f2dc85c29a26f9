import { describe, expect, it } from 'vitest';
import { createInbox } from '../../rig/inboxes.ts';
import { bringMail, callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openTransaction } from './opened.ts';

/** Signatures over different lengths, so that the body is put into shape and hashed for each of them. */
const signed = (body: string): string =>
  [
    ...Array.from(
      { length: 20 },
      (_, i) =>
        `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=evil.example; s=s${i}; l=${40_000_000 + i}; h=from; bh=AAAA; b=AAAA`,
    ),
    'From: a@evil.example',
    'Subject: costly',
    '',
    body,
  ].join('\r\n');

const COSTLY: Record<string, string> = {
  'signatures over many short lines': signed('a\t b\tc\r\n'.repeat(250_000)),
  'signatures over one long line': signed('abcdefgh'.repeat(250_000)),
  'a field of many folds': `From: a@evil.example\r\nSubject: costly\r\nX-A: a\r\n${' a\r\n'.repeat(60_000)}\r\nx\r\n`,
};

/** A string without an end, so that an address is looked for at each at sign. */
const ENDLESS = `<${'@'.repeat(400_000)}`;
const report = (type: string, fields: string): string =>
  `From: a@evil.example\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: ${type}\r\n\r\n${fields}\r\n--b--\r\n`;

const REPORTS: Record<string, string> = {
  'an endless address in a header': `From: mailer-daemon@evil.example\r\nSubject: failure notice\r\nX-Failed-Recipients: ${ENDLESS}\r\n\r\n550 5.1.1\r\n`,
  'an endless address in a delivery status': report(
    'message/delivery-status',
    `Action: failed\r\nFinal-Recipient: rfc822; ${ENDLESS}`,
  ),
  'an endless address in a complaint': report(
    'message/feedback-report',
    `Feedback-Type: abuse\r\nOriginal-Mail-From: ${ENDLESS}`,
  ),
  'a status of parentheses': report('message/delivery-status', `Action: failed\r\nStatus: ${'('.repeat(400_000)}`),
  'a text of spaces': `From: mailer-daemon@evil.example\r\nSubject: failure notice\r\n\r\n${' '.repeat(400_000)}x\r\n`,
};

/**
 * Returns how long the thread that answers everybody worked for one answer at most while a message is brought, in the processor
 * time of a plain answer: a ratio that no other load of the machine changes.
 */
async function longestAnswer(scene: Scene, bringing: Promise<unknown>): Promise<number> {
  const answered = async (): Promise<number> => {
    const before = process.threadCpuUsage();
    await scene.api('GET', '/health', {});
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };
  let isOver = false;
  const over = (): void => void (isOver = true);
  bringing.then(over, over);
  let longest = 0;
  while (!isOver) longest = Math.max(longest, await answered());
  // The system counts in ticks, which are longer than one answer.
  let plain = 0;
  for (let n = 0; n < 100; n++) plain += await answered();
  return longest / (plain / 100);
}

/** Costly content works for minutes, or as long as it is allowed to; a part of it that is as long as so many answers delays nobody. */
const ANSWERS_MAX = 300;

it('reports that are costly to read delay nobody else', { timeout: 480_000 }, async () => {
  await using scene = await startScene({ roles: ['http', 'receiving'] });
  for (const [what, raw] of Object.entries(REPORTS)) {
    const bringing = bringMail(scene, { from: '', to: ['fbl@rasket.test'], raw });
    const longest = await longestAnswer(scene, bringing);
    expect(await bringing, what).toMatch(/^(?:250|550) /);
    expect(longest, what).toBeLessThan(ANSWERS_MAX);
  }
});

/** Fields that make threads, as long as a field may be, of what a pattern could look for the end of at each place. */
const THREADED: Record<string, string> = {
  'a bracket before spaces': `<${' '.repeat(60_000)}`,
  'brackets alone': '<'.repeat(60_000),
  'words between spaces behind a bracket': `<${'a '.repeat(30_000)}`,
  'quotes that stay open': '"\\'.repeat(30_000),
};

it('mail to an inbox with ids that are costly to read delays nobody else', { timeout: 480_000 }, async () => {
  await using scene = await startScene({ roles: ['http', 'receiving'] });
  const inbox = await createInbox(scene, await scene.team());
  for (const [what, field] of Object.entries(THREADED)) {
    for (const name of ['Message-ID', 'In-Reply-To', 'References']) {
      const raw = `From: a@evil.example\r\n${name}: ${field}\r\nSubject: ${what}\r\n\r\nx\r\n`;
      const bringing = bringMail(scene, { to: [inbox.address], raw });
      const longest = await longestAnswer(scene, bringing);
      expect(await bringing, what).toMatch(/^250 /);
      expect(longest, `${what} in ${name}`).toBeLessThan(ANSWERS_MAX);
    }
  }
});

it('content of stuffed dots costs the main thread little more than other content', async () => {
  await using scene = await startScene({ roles: ['http', 'receiving'] });
  const { name } = await createReceivingDomain(scene, await scene.team());
  const measureCost = async (line: string): Promise<number> => {
    const client = await callMx(scene);
    await openTransaction(client, `a@${name}`);
    const block = Buffer.from(line.repeat(65_536 / line.length));
    const before = process.threadCpuUsage();
    for (let n = 0; n < 32; n++) await client.flow(block);
    expect(await client.say('.')).toMatch(/^250 /);
    const { user, system } = process.threadCpuUsage(before);
    client.end();
    return user + system;
  };
  // The first message opens files and starts threads, so it is not measured.
  await measureCost('xx\r\n');
  // Processor time also grows with what else the machine does, so each kind of content has its best of three.
  const best = async (line: string): Promise<number> =>
    Math.min(await measureCost(line), await measureCost(line), await measureCost(line));
  expect((await best('..\r\n')) / (await best('xx\r\n'))).toBeLessThan(10);
});

it('texts and files of 5 MB in short lines are read', { timeout: 480_000 }, async () => {
  await using scene = await startScene({ roles: ['http', 'receiving'] });
  const team = await scene.team();
  const to = [`a@${(await createReceivingDomain(scene, team)).name}`];
  const log = '1234,\r\n'.repeat(700_000);
  const part = `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment\r\n\r\n${log}--b--\r\n`;
  for (const [what, raw] of Object.entries({
    text: `From: a@example.org\r\n\r\n${log}`,
    file: `From: a@example.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${part}`,
  })) {
    const id = /^250 .* as ([0-9a-f-]{36})/.exec(await bringMail(scene, { to, raw }))?.[1];
    const { body } = await scene.api('GET', `/emails/receiving/${id}`, { key: team.key });
    expect(body.dropped_reason, what).toBeNull();
    expect(what === 'text' ? body.text : 'x'.repeat(body.attachments[0].size), what).toHaveLength(6 * 700_000);
  }
});

it('messages with very many lines delay no other message', { timeout: 480_000 }, async () => {
  await using scene = await startScene({ roles: ['http', 'receiving'], config: { receiving: { read_seconds: 4 } } });
  const { name } = await createReceivingDomain(scene, await scene.team());
  const to = [`a@${name}`];
  await bringMail(scene, { to, raw: 'From: a@example.org\r\n\r\nx\r\n' });
  const ended: string[] = [];
  const bring = async (what: string, rest: string): Promise<void> => {
    expect(await bringMail(scene, { to, raw: `From: a@example.org\r\n${rest}` }), what).toMatch(/^250 /);
    ended.push(what);
  };
  const many = `Content-Transfer-Encoding: quoted-printable\r\n\r\n${'\r\n'.repeat(1_000_000)}`;
  const costly = ['one', 'two', 'three', 'four'].map((what) => bring(what, many));
  for (let n = 0; n < 5; n++) await bring('small', '\r\nx\r\n');
  await Promise.all(costly);
  expect(ended.slice(0, 5)).toEqual(Array(5).fill('small'));
});

describe('messages that are costly to authenticate', () => {
  it('delay nobody else, and are accepted', { timeout: 480_000 }, async () => {
    await using scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { judge_seconds: 2 } },
    });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    await bringMail(scene, { to: [`a@${name}`], raw: 'From: a@example.org\r\n\r\nx\r\n' });
    for (const [what, raw] of Object.entries(COSTLY)) {
      const bringing = bringMail(scene, { to: [`a@${name}`], raw });
      const longest = await longestAnswer(scene, bringing);
      expect(await bringing, what).toMatch(/^250 2\.0\.0 Stored/);
      expect(longest, what).toBeLessThan(ANSWERS_MAX);
    }
    const { data } = (await scene.api('GET', '/emails/receiving?limit=10', { key: team.key })).body;
    expect(data).toHaveLength(4);
  });

  it('are deferred when DMARC is enforced, because its result is unknown', { timeout: 480_000 }, async () => {
    await using scene = await startScene({
      roles: ['http', 'receiving'],
      config: { receiving: { judge_seconds: 2, dmarc: 'refuse' } },
    });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    scene.dns.set('_dmarc.evil.example', 'TXT', [['v=DMARC1; p=reject']]);
    const [costly = ''] = Object.values(COSTLY);
    const many = `${'DKIM-Signature: v=1; a=rsa-sha256; d=evil.example\r\n'.repeat(21)}From: a@evil.example\r\n\r\nx\r\n`;
    for (const raw of [costly, many]) {
      expect(await bringMail(scene, { to: [`a@${name}`], raw })).toMatch(/^451 4\.7\.0 /);
    }
    expect((await scene.api('GET', '/emails/receiving', { key: team.key })).body.data).toHaveLength(0);
  });
});
