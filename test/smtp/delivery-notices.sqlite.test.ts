import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReport } from '../../src/protocol/mail-report.ts';
import { readMessage } from '../../src/protocol/read-message/index.ts';
import { bringMail } from '../rig/mx.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import type { SinkMessage } from '../rig/sink.ts';
import { connect, logIn } from './dialogue.ts';

const HOUR = 3_600_000;

let scene: Scene;
/** The scene in which every next server offers DSN. */
let noticing: Scene;
let count = 0;
let owners: Map<Scene, { team: Team; from: string }>;

beforeAll(async () => {
  const roles = ['http', 'delivery', 'submission', 'receiving'] as const;
  // Nothing of an email is written beside its commit: a notice is made within one.
  scene = await startScene({ roles, sink: { smtpUtf8: true }, config: { storage: { row_bytes: 0 } } });
  noticing = await startScene({ roles, sink: { smtpUtf8: true, extensions: ['DSN'] } });
  owners = new Map();
  for (const each of [scene, noticing]) {
    const team = await each.team();
    owners.set(each, { team, from: `app@${(await team.domain()).name}` });
  }
});
afterAll(async () => {
  await scene.close();
  await noticing.close();
});

interface Asking {
  on?: Scene;
  mail?: string;
  from?: string;
  /** Recipients, each with its parameters. */
  to: string[];
  text?: string;
}

/** Submits a message, and answers its id and what came out of it: the message, and notices to its sender. */
async function submitted({ on = scene, mail = '', from, to, text = 'It works.' }: Asking) {
  const { team, from: own } = owners.get(on) as { team: Team; from: string };
  const seen = on.sink.messages.length;
  const client = await connect(on, 'tls');
  await logIn(client, team.key);
  expect(await client.say(`MAIL FROM:<${from ?? own}> ${mail}`.trim())).toMatch(/^250/);
  for (const each of to) {
    const [, address = '', more = ''] = /^(\S+)(.*)$/.exec(each) ?? [];
    expect(await client.say(`RCPT TO:<${address}>${more}`)).toMatch(/^250/);
  }
  await client.say('DATA');
  client.send(`From: ${own}\r\nSubject: Grüße\r\nX-Odd:  kept\r\n\r\n${text}\r\n.\r\n`);
  const reply = (await client.reply()).join('\n');
  client.end();
  expect(reply).toMatch(/^250/);
  await on.settled();
  return { id: reply.split(' ').at(-1) ?? '', ...(await arrived(on, seen)) };
}

async function arrived(on: Scene, seen: number): Promise<{ mail: SinkMessage[]; notices: SinkMessage[] }> {
  await on.settled();
  const fresh = on.sink.messages.slice(seen);
  return { mail: fresh.filter((one) => one.mailFrom !== ''), notices: fresh.filter((one) => one.mailFrom === '') };
}

/** A notice as another server of ours would read it. */
const read = async (notice: SinkMessage | undefined) =>
  readReport(
    await readMessage(notice?.data ?? Buffer.alloc(0), { depthMax: 9, headerBytesMax: 1e6, partsMax: 99 }),
    '',
  );
const toText = (notice: SinkMessage | undefined): string => notice?.data.toString() ?? '';
/** Undoes quoted-printable. */
const decoded = (text: string): string =>
  Buffer.from(
    text
      .replaceAll('=\r\n', '')
      .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  ).toString();

describe('when the next server sends no delivery notices,', () => {
  it('a failure is reported to the sender, with the headers of the message', async () => {
    const { id, notices } = await submitted({
      mail: 'RET=HDRS ENVID=order+2B17',
      to: ['permfail@example.org NOTIFY=FAILURE ORCPT=rfc822;alias+2Bx@example.org', 'good@example.org NOTIFY=FAILURE'],
    });
    const [notice, ...others] = notices;
    expect(others).toEqual([]);
    const { from } = owners.get(scene) ?? {};
    expect(notice?.rcptTo).toEqual([from]);
    const text = toText(notice);
    expect(text).toMatch(/^DKIM-Signature: /m);
    expect(text).toMatch(/^Auto-Submitted: auto-replied\r$/m);
    expect(text).toMatch(
      /\r\nOriginal-Envelope-Id: order\+17\r\nReporting-MTA: dns; rasket\.test\r\nArrival-Date: .*\r\n\r\nOriginal-Recipient: rfc822;alias\+x@example\.org\r\nFinal-Recipient: rfc822; permfail@example\.org\r\nAction: failed\r\nStatus: 5\.\d\.\d\r\nRemote-MTA: dns; mx\.sink\.test\r\nDiagnostic-Code: smtp; 5/,
    );
    expect(text).toContain('\r\nContent-Type: text/rfc822-headers; charset=utf-8\r\n');
    // Spam filters hold it against text that nothing forces into base64.
    expect(text).not.toContain('Content-Transfer-Encoding: base64');
    expect(decoded(text)).toContain('Subject: Grüße\r\nX-Odd:  kept\r\n');
    expect(decoded(text)).not.toContain('It works.');
    expect(await read(notice)).toMatchObject({
      kind: 'delivery',
      recipients: [{ action: 'failed', addresses: expect.arrayContaining(['permfail@example.org']) }],
    });
    // It is a send of the team, which can be followed like any other.
    const { key } = (owners.get(scene) as { team: Team }).team;
    const { data } = (await scene.api('GET', '/emails', { key })).body;
    expect(data[0]).toMatchObject({ subject: 'Delivery failed', last_event: 'delivered' });
    expect((await scene.api('GET', `/emails/${data[0].id}`, { key })).body.tags).toEqual([
      { name: 'delivery_notice', value: 'failed' },
      { name: 'notice_of', value: id },
    ]);
  });

  it('a notice returns the whole message when RET=FULL requested it', async () => {
    const { notices } = await submitted({
      mail: 'RET=FULL',
      to: ['permfail@example.org NOTIFY=FAILURE'],
      text: 'Zwölf.',
    });
    expect(toText(notices[0])).toMatch(
      /\r\nContent-Type: message\/global\r\nContent-Transfer-Encoding: 8bit\r\n\r\nReceived: [\s\S]*\r\nX-Odd: {2}kept\r\n[\s\S]*\r\n\r\nZwölf\.\r\n/,
    );
  });

  it('a notice returns as much of a message as fits into a row', async () => {
    const text = 'A line of text.\r\n'.repeat(950);
    const { notices } = await submitted({ mail: 'RET=FULL', to: ['permfail@example.org NOTIFY=FAILURE'], text });
    expect(notices).toHaveLength(1);
    expect(toText(notices[0]).split('A line of text.').length).toBe(951);
  });

  it('a success is reported as relayed to the sender who requested it, once', async () => {
    const { notices } = await submitted({
      to: [
        'a@example.org NOTIFY=SUCCESS',
        'b@example.org NOTIFY=FAILURE,SUCCESS',
        'c@example.org NOTIFY=FAILURE',
        'd@example.org',
      ],
    });
    expect(notices).toHaveLength(1);
    const text = toText(notices[0]);
    expect(text.match(/^Final-Recipient: .*$/gm)).toEqual([
      'Final-Recipient: rfc822; a@example.org',
      'Final-Recipient: rfc822; b@example.org',
    ]);
    expect(text.match(/^Action: .*$/gm)).toEqual(['Action: relayed', 'Action: relayed']);
  });

  it('a delay is reported once, with the time until which it is retried', async () => {
    const { notices } = await submitted({ to: ['tempfail@example.org NOTIFY=DELAY'] });
    expect(toText(notices[0])).toMatch(/^Action: delayed\r\nStatus: 4[\s\S]*^Will-Retry-Until: /m);
    const seen = scene.sink.messages.length;
    for (let hour = 0; hour < 4; hour++) {
      scene.clock.advance(HOUR);
      await scene.settled();
    }
    expect((await arrived(scene, seen)).notices).toEqual([]);
  });

  it('a delivery that was given up is reported as a failure', async () => {
    const { notices } = await submitted({ to: ['tempfail@example.net NOTIFY=FAILURE'] });
    expect(notices).toEqual([]);
    const seen = scene.sink.messages.length;
    for (let day = 0; day < 4 && scene.sink.messages.length === seen; day++) {
      scene.clock.advance(24 * HOUR);
      await scene.settled();
    }
    expect(toText((await arrived(scene, seen)).notices[0])).toMatch(/^Action: failed\r\nStatus: 5/m);
  });

  it.each([
    ['nothing was asked for', { to: ['permfail@example.org'] }],
    ['NEVER was said', { to: ['permfail@example.org NOTIFY=NEVER', 'a@example.org NOTIFY=NEVER'] }],
    [
      'something else was asked for',
      { to: ['permfail@example.org NOTIFY=SUCCESS,DELAY', 'a@example.org NOTIFY=FAILURE'] },
    ],
    ['there is no sender', { from: '', to: ['permfail@example.org NOTIFY=FAILURE,SUCCESS'] }],
  ])('no notice is sent when %s', async (_, asking) => {
    expect((await submitted(asking)).notices).toEqual([]);
  });

  it('a notice that cannot be delivered causes no further notice', async () => {
    const { from = '' } = owners.get(scene) ?? {};
    const { notices } = await submitted({
      from: from.replace('app@', 'permfail@'),
      to: ['permfail@example.org NOTIFY=FAILURE'],
    });
    expect(notices).toEqual([]);
    const { key } = (owners.get(scene) as { team: Team }).team;
    const { data } = (await scene.api('GET', '/emails', { key })).body;
    expect(data[0]).toMatchObject({ subject: 'Delivery failed', last_event: 'bounced' });
    expect(data[1]).not.toMatchObject({ subject: 'Delivery failed' });
  });
});

describe('when the next server sends delivery notices,', () => {
  it('it is asked with the sender’s parameters for what concerns the sender, and we send nothing instead', async () => {
    const { notices } = await submitted({
      on: noticing,
      mail: 'RET=FULL ENVID=a+2Bb+3D',
      to: [
        'a@example.org NOTIFY=DELAY,SUCCESS ORCPT=rfc822;x+2By@example.org',
        'b@example.org NOTIFY=NEVER',
        'c@example.org',
      ],
    });
    expect(noticing.sink.commands.slice(-5, -1)).toEqual([
      expect.stringMatching(/^MAIL FROM:<b-.*> BODY=8BITMIME SMTPUTF8 RET=FULL ENVID=a\+2Bb\+3D$/),
      'RCPT TO:<a@example.org> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;x+2By@example.org',
      'RCPT TO:<b@example.org> NOTIFY=FAILURE,DELAY',
      'RCPT TO:<c@example.org>',
    ]);
    expect(notices).toEqual([]);
  });

  it('its own refusal is reported by us', async () => {
    const { notices } = await submitted({ on: noticing, to: ['permfail@example.org NOTIFY=FAILURE'] });
    expect(toText(notices[0])).toMatch(/^Action: failed\r$/m);
  });

  it.each([
    ['failed', '5.1.1', 'SUCCESS,FAILURE', 'failed'],
    ['delivered', '2.0.0', 'SUCCESS,FAILURE', 'delivered'],
    ['relayed', '2.0.0', 'SUCCESS', 'relayed'],
    ['relayed', '2.0.0', 'FAILURE', undefined],
    ['expanded', '2.0.0', 'SUCCESS', 'expanded'],
    ['expanded', '2.0.0', 'FAILURE', undefined],
    ['failed', '5.1.1', 'SUCCESS', undefined],
    ['delayed', '4.4.1', 'DELAY', 'delayed'],
  ])('its later report (%s %s) is passed on to a sender who requested %s', async (action, status, notify, told) => {
    const late = `late-${++count}@example.org`;
    const { mail } = await submitted({ on: noticing, mail: 'ENVID=e1', to: [`${late} NOTIFY=${notify}`] });
    const seen = noticing.sink.messages.length;
    const raw = buildReport([late], action, status);
    const bring = () => bringMail(noticing, { from: '', to: [mail[0]?.mailFrom ?? ''], raw });
    expect(await bring()).toMatch(/^250/);
    const { notices } = await arrived(noticing, seen);
    if (told === undefined) return expect(notices).toEqual([]);
    expect(notices).toHaveLength(1);
    expect(toText(notices[0])).toMatch(
      new RegExp(`^Original-Envelope-Id: e1\\r\\n[\\s\\S]*^Action: ${told}\\r\\nStatus: ${status}\\r$`, 'm'),
    );
  });

  it('a success is reported once for each recipient, in one report or several and however often they arrive', async () => {
    const [one, two, three] = [1, 2, 3].map((n) => `all${n}-${++count}@example.org`) as [string, string, string];
    const to = [one, two, three].map((address) => `${address} NOTIFY=SUCCESS`);
    const { mail } = await submitted({ on: noticing, to });
    expect(mail.map(({ rcptTo }) => rcptTo)).toEqual([[one, two, three]]);
    const seen = noticing.sink.messages.length;
    for (const about of [[one, two], [three], [one, two], [two, three]]) {
      const raw = buildReport(about, 'delivered', '2.0.0');
      expect(await bringMail(noticing, { from: '', to: [mail[0]?.mailFrom ?? ''], raw })).toMatch(/^250/);
    }
    const { notices } = await arrived(noticing, seen);
    const told = notices.flatMap((notice) => toText(notice).match(/^Final-Recipient: .*$/gm) ?? []);
    expect(told.toSorted()).toEqual([one, two, three].map((address) => `Final-Recipient: rfc822; ${address}`));
  });
});

describe('with NOTIFY=NEVER, which is about notices only,', () => {
  const events = async (on: Scene, id: string) => (await on.events(id)).map(({ type }) => type);
  const suppressed = async (on: Scene, address: string) => {
    const { key } = (owners.get(on) as { team: Team }).team;
    return (await on.api('GET', `/suppressions/${address}`, { key })).body;
  };

  it.each([
    ['offers none', () => scene],
    ['offers them', () => noticing],
  ])('an address that a server refuses that %s is suppressed', async (_, sceneOf) => {
    const on = sceneOf();
    const dead = `permfail+${++count}@example.org`;
    const { id, notices } = await submitted({ on, to: [`${dead} NOTIFY=NEVER`, 'good@example.org NOTIFY=NEVER'] });
    expect(notices).toEqual([]);
    expect(await events(on, id)).toContain('email.bounced');
    expect(await suppressed(on, dead)).toMatchObject({ origin: 'bounce', source_id: id });
  });

  it.each(['NEVER', 'SUCCESS'])('an address that bounces later is suppressed, for NOTIFY=%s', async (notify) => {
    const dead = `gone${++count}@example.org`;
    const { id, mail } = await submitted({ on: noticing, to: [`${dead} NOTIFY=${notify}`] });
    const seen = noticing.sink.messages.length;
    const bring = (action: string, status: string) =>
      bringMail(noticing, { from: '', to: [mail[0]?.mailFrom ?? ''], raw: buildReport([dead], action, status) });
    expect(await bring('delayed', '4.4.1')).toMatch(/^250/);
    expect(await bring('failed', '5.1.1')).toMatch(/^250/);
    expect((await arrived(noticing, seen)).notices).toEqual([]);
    expect((await events(noticing, id)).slice(-2)).toEqual(['email.delivery_delayed', 'email.bounced']);
    expect(await suppressed(noticing, dead)).toMatchObject({ origin: 'bounce', source_id: id });
  });
});

/** Builds the report that the next server sends to the return path. */
const buildReport = (about: string[], action: string, status: string): string =>
  [
    'From: MAILER-DAEMON@mx.example.org',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.org',
    ...about.flatMap((address) => [
      '',
      `Final-Recipient: rfc822; ${address}`,
      `Action: ${action}`,
      `Status: ${status}`,
    ]),
    '--b--',
    '',
  ].join('\r\n');
