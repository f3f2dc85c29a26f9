import { afterEach, describe, expect, test, vi } from 'vitest';
import { account, delivered, gate, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

async function given(options: SceneOptions = {}): Promise<void> {
  scene = await setScene(options);
}

/** The news that a connection is gone takes a turn of the event loop from the sink's socket to ours. */
async function untilNoticed(): Promise<void> {
  await vi.waitUntil(() => scene.delivery.stats().connections === 0, { interval: 1 });
}

const LARGE = Buffer.from(`Subject: large\r\n\r\n${`${'lorem ipsum '.repeat(6)}\r\n`.repeat(20_000)}`);

describe.each([
  { name: 'a small message', body: Buffer.from('Subject: small\r\n\r\nHello.\r\n') },
  { name: 'a large message', body: LARGE },
])('the final dot of $name', ({ body }) => {
  test('is not written before the hand-off is durable', async () => {
    await given();
    const ledger = gate();
    const intended = gate();
    const intend = (): Promise<void> => {
      intended.open();
      return ledger.opened;
    };
    const sent = scene.send('a@y.example', { body, handOff: { intend } });
    await intended.opened;
    // A second transaction, complete from end to end, gives the first one every chance to be too early.
    expect(await scene.send('b@y.example')).toEqual([delivered('b@y.example')]);
    expect(scene.sink.messages.map((message) => message.rcptTo)).toEqual([['b@y.example']]);
    expect(scene.order.filter((step) => step === 'mark')).toHaveLength(1);
    ledger.open();
    expect(await sent).toEqual([delivered('a@y.example')]);
    expect(scene.order).toEqual([
      'intend a@y.example',
      'intend b@y.example',
      'durable',
      'mark',
      'accepted',
      'durable',
      'mark',
      'accepted',
    ]);
    expect(scene.sink.messages[1]?.data.equals(body)).toBe(true);
  });

  test('is never written when the hand-off cannot be made durable', async () => {
    await given();
    const intend = (): Promise<void> => Promise.reject(new Error('disk full'));
    await expect(scene.send('a@y.example', { body, handOff: { intend } })).rejects.toThrow('disk full');
    await scene.sink.waitFor((sink) => sink.open === 0);
    expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, mail: 1, rcpt: 1, data: 1 });
    expect(scene.order).toEqual(['intend a@y.example']);
  });

  test('is never written on a connection that broke while the hand-off was made durable', async () => {
    await given();
    const intend = async (): Promise<void> => {
      scene.sink.dropConnections();
      await untilNoticed();
    };
    expect(await scene.send('a@y.example', { body, handOff: { intend } })).toMatchObject([
      { kind: 'deferred', reason: 'connection_lost', mx: MX },
    ]);
    expect(scene.order).toEqual(['intend a@y.example', 'durable']);
  });

  test('is never written after an abort', async () => {
    await given();
    const abort = new AbortController();
    const intend = (): Promise<void> => Promise.resolve(abort.abort());
    expect(await scene.send('a@y.example', { body, handOff: { intend }, signal: abort.signal })).toMatchObject([
      { kind: 'deferred', reason: 'stopping' },
    ]);
    expect(scene.order).toEqual(['intend a@y.example', 'durable']);
    expect(scene.sink.counts.accepted).toBe(0);
  });

  test('makes the delivery ambiguous when its reply is lost', async () => {
    await given();
    const detail = `${MX}: after the final dot: the peer closed the connection`;
    expect(await scene.send(['permfail@y.example', 'drop-after-dot@y.example'], { body })).toMatchObject([
      { kind: 'bounced', address: 'permfail@y.example' },
      { kind: 'ambiguous', address: 'drop-after-dot@y.example', detail, mx: MX },
    ]);
    expect(scene.order).toEqual(['intend permfail@y.example drop-after-dot@y.example', 'durable', 'mark']);
  });
});

test('a reply that does not arrive in time after the dot makes the delivery ambiguous', async () => {
  await given({ deliver: { timeouts: { dataDoneMs: 30 } } });
  const detail = `${MX}: after the final dot: no reply within 30 ms`;
  expect(await scene.send('timeout-after-dot@y.example')).toEqual([
    { kind: 'ambiguous', address: 'timeout-after-dot@y.example', detail, mx: MX },
  ]);
});

test('half a reply after the dot makes the delivery ambiguous', async () => {
  const script = (command: string): string | undefined =>
    command.startsWith('MAIL') ? '250 Ok' : command.startsWith('RCPT') ? '250 Ok' : undefined;
  await given({ sink: { script, lenientData: true, multiLine: true } });
  const mark = (): void => scene.sink.dropConnections();
  expect(await scene.send('a@y.example', { handOff: { mark } })).toMatchObject([{ kind: 'ambiguous', mx: MX }]);
});

test('an abort after the dot does not undo the delivery', async () => {
  await given();
  const abort = new AbortController();
  const sent = scene.send('slow@y.example', { signal: abort.signal, handOff: { mark: () => abort.abort() } });
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  scene.sink.openGate();
  expect(await sent).toEqual([delivered('slow@y.example')]);
});

test('a connection lost during the content defers the mail', async () => {
  await given();
  const ledger = gate();
  const sent = scene.send('drop-in-data@y.example', { body: LARGE, handOff: { intend: () => ledger.opened } });
  await scene.sink.waitFor((sink) => sink.counts.dropped === 1);
  await untilNoticed();
  ledger.open();
  expect(await sent).toMatchObject([{ kind: 'deferred', reason: 'connection_lost' }]);
  expect(scene.order).not.toContain('mark');
});

/** A message of more than sockets and kernels hold for a peer that reads nothing. */
const HUGE = Buffer.alloc(32 * 1024 * 1024, 'lorem ipsum dolor\r\n');

test('the ledger is not called for content that was not sent', async () => {
  await given();
  expect(await scene.send('drop-in-data@y.example', { body: HUGE })).toMatchObject([
    { kind: 'deferred', reason: 'connection_lost' },
  ]);
  expect(scene.order).toEqual([]);
});

test('a server that stops reading content defers the mail', async () => {
  await given({
    sink: { script: (command) => (command === 'DATA' ? '354 Go ahead' : undefined), stopReadingAt: 'DATA' },
    deliver: { timeouts: { dataBlockMs: 50 } },
  });
  expect(await scene.send('a@y.example', { body: HUGE })).toMatchObject([{ kind: 'deferred', reason: 'timeout' }]);
  expect(scene.order).toEqual([]);
});

test('an error of message() is passed on and leaves the connection usable', async () => {
  await given();
  const message = (): Promise<never> => Promise.reject(new Error('no such blob'));
  await expect(scene.send('a@y.example', { message })).rejects.toThrow('no such blob');
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, mail: 1, rcpt: 1, data: 1, accepted: 1 });
});

test.each([
  ['one chunk', ['.a\r\n..b\r\n.\r\nc\r\n']],
  ['chunks cut before a dot', ['a\r\n', '.b\r\n', '.\r\n']],
  ['chunks cut within a line end', ['a\r', '\n.b\r\n.', '\r\n']],
  ['chunks cut within a line', ['a', '.b', '.c\r\n', '.d\r\n']],
])('lines that start with a dot arrive as they were sent: %s', async (_, chunks) => {
  await given();
  const body = chunks.map((chunk) => Buffer.from(chunk));
  expect(await scene.send('a@y.example', { body })).toEqual([delivered('a@y.example')]);
  expect(scene.sink.messages[0]?.data.toString()).toBe(chunks.join(''));
});

test('the recorded dialogue never contains message content', async () => {
  const transcripts: string[][] = [];
  await given({ deliver: { onTrouble: ({ transcript }) => transcripts.push(transcript) } });
  await scene.send(['permfail@y.example', 'a@y.example'], { body: 'Subject: secret\r\n\r\nsecret\r\n' });
  expect(transcripts).toEqual([
    [
      'S: 220 sink.test ESMTP',
      'C: EHLO out.rasket.test',
      'S: 250-sink.test',
      'S: 250-PIPELINING',
      'S: 250-8BITMIME',
      'S: 250 ENHANCEDSTATUSCODES',
      'C: MAIL FROM:<from@x.example> BODY=8BITMIME',
      'C: RCPT TO:<permfail@y.example>',
      'C: RCPT TO:<a@y.example>',
      'C: DATA',
      'S: 250 2.1.0 Ok',
      'S: 550 5.1.1 No such user',
      'S: 250 2.1.5 Ok',
      'S: 354 Go ahead',
      'S: 250 2.0.0 Taken',
    ],
  ]);
});
