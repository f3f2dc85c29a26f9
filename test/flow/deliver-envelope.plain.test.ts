import { afterEach, describe, expect, test } from 'vitest';
import { account, delivered, gate, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

async function given(options: SceneOptions = {}): Promise<void> {
  scene = await setScene(options);
}

// Causes have tests of their own, by the words of the replies.
function bounced(address: string, step: string, code: number, enhanced: string, text: string): unknown {
  const detail = `${MX} replied to ${step} with ${code} ${enhanced} ${text}`;
  return expect.objectContaining({
    kind: 'bounced',
    address,
    reason: 'refused',
    detail,
    reply: { code, enhanced, lines: [text] },
    mx: MX,
  });
}

function deferred(address: string, step: string, code: number, enhanced: string, text: string): unknown {
  const detail = `${MX} replied to ${step} with ${code} ${enhanced} ${text}`;
  const reply = { code, enhanced, lines: [text] };
  return expect.objectContaining({ kind: 'deferred', address, reason: 'refused_for_now', detail, reply, mx: MX });
}

const GREETED = { connections: 1, ehlo: 1 };

describe.each([
  { name: 'a server with PIPELINING', sink: {} },
  { name: 'a server without PIPELINING', sink: { pipelining: false } },
  { name: 'a server without EHLO', sink: { ehlo: false, pipelining: false } },
  { name: 'a server whose replies have several lines', sink: { multiLine: true } },
  { name: 'a server whose replies arrive byte by byte', sink: { byteByByte: true } },
])('$name', ({ sink }) => {
  test('takes a message for several recipients in one transaction', async () => {
    await given({ sink });
    const outcomes = await scene.send(['a@y.example', 'b@y.example']);
    expect(outcomes.map(({ kind, address }) => [kind, address])).toEqual([
      ['delivered', 'a@y.example'],
      ['delivered', 'b@y.example'],
    ]);
    expect(scene.sink.messages).toMatchObject([
      { mailFrom: 'from@x.example', rcptTo: ['a@y.example', 'b@y.example'], tls: false },
    ]);
    expect(scene.sink.messages[0]?.data.toString()).toBe('Subject: hello\r\n\r\nHello.\r\n');
    const hello = sink.ehlo === false ? { ehlo: 1, helo: 1 } : { ehlo: 1 };
    expect(account(scene.sink)).toEqual({ connections: 1, ...hello, mail: 1, rcpt: 2, data: 1, accepted: 1 });
    expect(scene.order).toEqual(['intend a@y.example b@y.example', 'durable', 'mark', 'accepted']);
  });

  test('gets the next message after one that it refused for every recipient', async () => {
    await given({ sink });
    const refused = await scene.send(['permfail@y.example', 'tempfail@y.example']);
    expect(refused.map((outcome) => outcome.kind)).toEqual(['bounced', 'deferred']);
    const taken = await scene.send('a@y.example');
    expect(taken.map((outcome) => outcome.kind)).toEqual(['delivered']);
    expect(account(scene.sink)).toMatchObject({
      connections: 1,
      mail: 2,
      rset: 1,
      refused: 'pipelining' in sink ? 2 : 3,
    });
    expect(scene.order).toEqual(['intend a@y.example', 'durable', 'mark', 'accepted']);
  });
});

test('each recipient gets its own outcome, and only the accepted ones are handed over', async () => {
  await given();
  const to = ['permfail@y.example', 'a@y.example', '452-mailbox-full@y.example', 'b@y.example'];
  expect(await scene.send(to)).toEqual([
    bounced('permfail@y.example', 'RCPT TO', 550, '5.1.1', 'No such user'),
    delivered('a@y.example'),
    deferred('452-mailbox-full@y.example', 'RCPT TO', 452, '4.0.0', 'mailbox full'),
    delivered('b@y.example'),
  ]);
  expect(account(scene.sink)).toEqual({ ...GREETED, mail: 1, rcpt: 4, data: 1, refused: 2, accepted: 1 });
  expect(scene.sink.messages.map(({ rcptTo }) => rcptTo)).toEqual([['a@y.example', 'b@y.example']]);
  expect(scene.order).toEqual([`intend ${to.join(' ')}`, 'durable', 'mark', 'accepted']);
});

describe('a refusal', () => {
  test.each([
    { mailFrom: '451-not-now@x.example', to: 'a@y.example', step: 'MAIL FROM', code: 451, text: 'not now' },
    { mailFrom: '550-go-away@x.example', to: 'a@y.example', step: 'MAIL FROM', code: 550, text: 'go away' },
    { to: '450-busy@y.example', step: 'RCPT TO', code: 450, text: 'busy' },
    { to: '554-no@y.example', step: 'RCPT TO', code: 554, text: 'no' },
    { to: 'data-451-later@y.example', step: 'DATA', code: 451, text: 'later' },
    { to: 'data-554-spam@y.example', step: 'DATA', code: 554, text: 'spam' },
    { to: 'dot-452-disk-full@y.example', step: 'the message', code: 452, text: 'disk full' },
    { to: 'dot-550-virus@y.example', step: 'the message', code: 550, text: 'virus' },
  ])('of $step with $code is reported as it was given', async ({ mailFrom, to, step, code, text }) => {
    for (const pipelining of [true, false]) {
      await given({ sink: { pipelining } });
      const outcomes = await scene.send(to, mailFrom ? { mailFrom } : {});
      const refused = code < 500 ? deferred : bounced;
      expect(outcomes).toEqual([refused(to, step, code, `${String(code)[0]}.0.0`, text)]);
      expect(scene.order).toEqual(step === 'the message' ? [`intend ${to}`, 'durable', 'mark'] : []);
      expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
      expect(scene.sink.counts.connections).toBe(1);
      if (pipelining) await scene.stop();
    }
  });

  test('that asks for a later retry ends when the same address is tried again', async () => {
    await given();
    expect(await scene.send('tempfail-once@y.example')).toEqual([
      deferred('tempfail-once@y.example', 'RCPT TO', 451, '4.7.1', 'Greylisted'),
    ]);
    expect(await scene.send('tempfail-once@y.example')).toEqual([delivered('tempfail-once@y.example')]);
  });

  test('of all recipients by a server that still asks for content ends with a lone dot', async () => {
    await given({ sink: { lenientData: true } });
    expect(await scene.send('permfail@y.example')).toEqual([
      bounced('permfail@y.example', 'RCPT TO', 550, '5.1.1', 'No such user'),
    ]);
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(scene.sink.messages.map((message) => message.rcptTo)).toEqual([['a@y.example']]);
    expect(account(scene.sink)).toEqual({ ...GREETED, mail: 2, rcpt: 2, data: 2, rset: 1, refused: 2, accepted: 1 });
  });

  test('of the sender by a server that accepts everything else never ends in an empty message', async () => {
    const script = (command: string): string | undefined =>
      command.startsWith('MAIL') ? '550 5.7.1 No' : command.startsWith('RCPT') ? '250 Ok' : undefined;
    await given({ sink: { lenientData: true, script } });
    expect(await scene.send('a@y.example')).toEqual([bounced('a@y.example', 'MAIL FROM', 550, '5.7.1', 'No')]);
    await scene.sink.waitFor((sink) => sink.open === 0);
    expect(account(scene.sink)).toEqual({ ...GREETED, data: 1 });
  });

  test('of further recipients with a bare 552 only defers them', async () => {
    const script = (command: string): string | undefined => (command.includes('<b@') ? '552 Too many' : undefined);
    await given({ sink: { script } });
    expect(await scene.send(['a@y.example', 'b@y.example'])).toEqual([
      delivered('a@y.example'),
      {
        kind: 'deferred',
        address: 'b@y.example',
        reason: 'refused_for_now',
        cause: 'protocol',
        detail: `${MX} replied to RCPT TO with 552 Too many`,
        reply: { code: 552, lines: ['Too many'] },
        mx: MX,
      },
    ]);
  });
});

describe('a lost connection', () => {
  test.each([
    { mailFrom: 'drop-at-mail@x.example', to: 'a@y.example' },
    { to: 'drop-at-rcpt@y.example' },
    { to: 'drop-at-data@y.example' },
  ])('before the content defers $to', async ({ mailFrom, to }) => {
    for (const pipelining of [true, false]) {
      await given({ sink: { pipelining } });
      const detail = `${MX}: the peer closed the connection`;
      expect(await scene.send(to, mailFrom ? { mailFrom } : {})).toEqual([
        { kind: 'deferred', address: to, reason: 'connection_lost', detail, mx: MX },
      ]);
      expect(scene.order).toEqual([]);
      if (pipelining) await scene.stop();
    }
  });

  test('does not undo a refusal before it', async () => {
    await given();
    expect(await scene.send(['permfail@y.example', 'drop-at-rcpt@y.example', 'a@y.example'])).toMatchObject([
      { kind: 'bounced', reply: { code: 550 } },
      { kind: 'deferred', reason: 'connection_lost' },
      { kind: 'deferred', reason: 'connection_lost' },
    ]);
    expect(account(scene.sink)).toEqual({ ...GREETED, mail: 1, rcpt: 2, refused: 1, dropped: 1 });
  });
});

test('a 421 for one recipient defers it and every recipient after it', async () => {
  await given();
  const to = ['permfail@y.example', '421-going-down@y.example', 'b@y.example'];
  expect(await scene.send(to)).toEqual([
    bounced('permfail@y.example', 'RCPT TO', 550, '5.1.1', 'No such user'),
    deferred('421-going-down@y.example', 'RCPT TO', 421, '4.0.0', 'going down'),
    deferred('b@y.example', 'RCPT TO', 421, '4.0.0', 'going down'),
  ]);
});

test('replies after a 421 are ignored', async () => {
  const script = (command: string): string | undefined => (command.includes('<a@') ? '421 4.3.2 Bye' : undefined);
  await given({ sink: { script } });
  expect(await scene.send(['a@y.example', 'b@y.example'])).toEqual([
    deferred('a@y.example', 'RCPT TO', 421, '4.3.2', 'Bye'),
    deferred('b@y.example', 'RCPT TO', 421, '4.3.2', 'Bye'),
  ]);
  expect(scene.order).toEqual([]);
});

test('a server that does not reply in time defers the mail', async () => {
  await given({ deliver: { timeouts: { mailMs: 30, rcptMs: 30, dataMs: 30 } } });
  const detail = `${MX}: no reply within 30 ms`;
  expect(await scene.send('timeout@y.example')).toEqual([
    { kind: 'deferred', address: 'timeout@y.example', reason: 'timeout', detail, mx: MX },
  ]);
});

test('a server that does not speak SMTP defers the mail', async () => {
  await given({ sink: { script: (command) => (command.startsWith('MAIL') ? 'HTTP/1.1 200 OK' : undefined) } });
  expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'deferred', reason: 'protocol_error', mx: MX }]);
});

test('a server that stops speaking SMTP is not waited for, and its earlier replies count', async () => {
  const script = (command: string): string | undefined =>
    command.includes('<a@') ? '550 5.1.1 No such user\r\nHTTP/1.1 200 OK' : undefined;
  await given({ sink: { script } });
  expect(await scene.send(['a@y.example', 'timeout@y.example'])).toMatchObject([
    { kind: 'bounced', reply: { code: 550 } },
    { kind: 'deferred', reason: 'protocol_error' },
  ]);
});

test('a server that sends replies without end is disconnected', async () => {
  const script = (command: string): string | undefined =>
    command === 'DATA' ? `354 go${'\r\n250 and another thing'.repeat(5000)}` : undefined;
  await given({ sink: { script } });
  const ledger = gate();
  const sent = scene.send('a@y.example', { handOff: { intend: () => ledger.opened } });
  await scene.sink.waitFor((sink) => sink.counts.connections === 1 && sink.open === 0);
  ledger.open();
  expect(await sent).toMatchObject([{ kind: 'deferred', reason: 'protocol_error', mx: MX }]);
});

test('a message larger than the announced size is not offered', async () => {
  await given({ sink: { size: 1000 } });
  const outcomes = await scene.send('a@y.example', { body: `${'x'.repeat(998)}\r\n1\r\n` });
  const detail = `The message has 1003 bytes; ${MX} accepts at most 1000`;
  const reply = { code: 552, enhanced: '5.3.4', lines: [detail] };
  expect(outcomes).toEqual([{ kind: 'bounced', address: 'a@y.example', reason: 'too_large', detail, reply }]);
  expect(account(scene.sink)).toEqual(GREETED);
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect(scene.sink.commands).toContain('MAIL FROM:<from@x.example> SIZE=26 BODY=8BITMIME');
});

test('mail that needs SMTPUTF8 bounces with 5.6.7 from a server without it, and is declared to one with it', async () => {
  await given();
  expect(await scene.send('a@y.example', { needsSmtpUtf8: true })).toMatchObject([
    { kind: 'bounced', reason: 'smtputf8_unsupported', reply: { code: 553, enhanced: '5.6.7' } },
  ]);
  expect(await scene.send('jürgen@y.example')).toMatchObject([{ kind: 'bounced', reason: 'smtputf8_unsupported' }]);
  expect(account(scene.sink)).toEqual(GREETED);
  await scene.stop();
  await given({ sink: { smtpUtf8: true } });
  expect(await scene.send('jürgen@y.example')).toEqual([delivered('jürgen@y.example')]);
  expect(scene.sink.commands).toContain('MAIL FROM:<from@x.example> BODY=8BITMIME SMTPUTF8');
});

test.each(['a\r\nRSET@y.example', 'a>b@y.example', 'a\u0000@y.example'])(
  'the address %j is never sent',
  async (address) => {
    await given();
    expect(await scene.send(address, { domain: 'y.example' })).toMatchObject([
      { kind: 'bounced', reason: 'malformed_address', reply: { code: 553, enhanced: '5.1.3' } },
    ]);
    expect(account(scene.sink)).toEqual(GREETED);
  },
);

test('a null reverse path is sent as such', async () => {
  await given();
  expect(await scene.send('a@y.example', { mailFrom: '' })).toEqual([delivered('a@y.example')]);
  expect(scene.sink.messages[0]?.mailFrom).toBe('');
});
