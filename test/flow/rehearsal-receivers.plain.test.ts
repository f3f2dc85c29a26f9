import { createConnection, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Resolver } from 'node:dns/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { checkProfile, type Behaviour, type DomainData } from '../../src/features/rehearsal/index.ts';
import { startInternet, type Internet, type SendingServer } from '../../src/features/rehearsal/start.ts';
import { createManualClock, type ManualClock } from '../rig/clock.ts';
import { openDialogue, type Dialogue } from '../rig/smtp-dialogue.ts';
import { startSink, type Sink } from '../rig/sink.ts';

const open: Dialogue[] = [];
let internet: Internet | undefined;
let sink: Sink | undefined;
afterEach(async () => {
  for (const dialogue of open.splice(0)) dialogue.end();
  await internet?.close();
  await sink?.close();
  internet = undefined;
  sink = undefined;
});

interface Started {
  internet: Internet;
  clock: ManualClock;
  /** Connects to the nth host and returns the dialogue with its greeting. */
  call(host?: number, from?: string): Promise<{ dialogue: Dialogue; greeting: string }>;
}

async function start(
  behaviour: Behaviour,
  { domain = {}, back }: { domain?: Partial<DomainData>; back?: SendingServer } = {},
): Promise<Started> {
  const hosts = ['mx1.provider.example', 'mx2.provider.example'];
  const profile = checkProfile('own', {
    summary: 'one provider',
    providers: { provider: { hosts, ...behaviour } },
    domains: [{ name: 'provider.example', provider: 'provider', share: 1, ...domain }],
  });
  const clock = createManualClock();
  const started = await startInternet({ profile, clock, keepContent: true, ...(back ? { back } : {}) });
  internet = started;
  return {
    internet: started,
    clock,
    async call(host = 0, from) {
      const address = started.receivers[0]?.hosts[host]?.address ?? '';
      const dialogue = await openDialogue(started.smtpPort, address, from);
      open.push(dialogue);
      return { dialogue, greeting: await dialogue.hear() };
    },
  };
}

const MESSAGE = 'Message-ID: <one@example.org>\r\nSubject: Hi\r\n\r\nHello\r\n..two dots\r\n.\r\n';

/** Sends one message and returns the last reply: of the first command that was refused, or of the dot. */
async function deliver(dialogue: Dialogue, to = 'ada@provider.example', content = MESSAGE): Promise<string> {
  for (const line of ['MAIL FROM:<sender@example.org>', `RCPT TO:<${to}>`, 'DATA']) {
    const reply = await dialogue.say(line);
    if (!/^[23]/.test(reply)) return reply;
  }
  return dialogue.say(Buffer.from(content));
}

describe('a receiver of a rehearsal', () => {
  it('accepts mail for its domains and records connection, envelope, Message-ID, size and content', async () => {
    const { internet, clock, call } = await start({ greeting: 'ready' });
    const { dialogue, greeting } = await call(1);
    expect(greeting).toBe('220 mx2.provider.example ready');
    expect((await dialogue.say('EHLO client.example')).split('\n').slice(-5)).toEqual([
      '250-STARTTLS',
      '250-PIPELINING',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250 ENHANCEDSTATUSCODES',
    ]);
    expect(await deliver(dialogue)).toMatch(/^250 2\.0\.0 OK/);
    expect(internet.seen.messages).toMatchObject([
      {
        at: clock.now(),
        provider: 'provider',
        host: 'mx2.provider.example',
        connection: 1,
        mailFrom: 'sender@example.org',
        recipients: ['ada@provider.example'],
        messageId: '<one@example.org>',
        isSecure: false,
        isAcknowledged: true,
      },
    ]);
    expect(internet.seen.messages[0]?.content?.toString()).toMatch(/Hello\r\n\.two dots\r\n$/);
    expect(await dialogue.say('QUIT')).toBe('221 2.0.0 Bye');
    expect(internet.seen.connections).toMatchObject([
      { from: '127.0.0.1', helo: 'client.example', openedAt: clock.now(), closedAt: clock.now(), messages: 1 },
    ]);
  });

  it('accepts several messages on a connection, in pipelined commands and in small pieces', async () => {
    const { internet, call } = await start({});
    const { dialogue } = await call();
    await dialogue.say('EHLO client.example');
    dialogue.send('MAIL FROM:<a@example.org>\r\nRCPT TO:<b@provider.example>\r\nDATA\r\n');
    expect([await dialogue.hear(), await dialogue.hear(), (await dialogue.hear()).slice(0, 3)]).toEqual([
      '250 2.1.0 OK',
      '250 2.1.5 OK',
      '354',
    ]);
    for (const byte of MESSAGE) dialogue.send(byte);
    expect(await dialogue.hear()).toMatch(/^250/);
    expect(await deliver(dialogue, 'c@provider.example', '.\r\n')).toMatch(/^250/);
    expect(internet.seen.messages.map(({ bytes }) => bytes)).toEqual([MESSAGE.length - 3, 0]);
    expect(internet.seen.messagesPerConnection()).toEqual([2]);
  });

  it('refuses mail for other domains', async () => {
    const { call } = await start({});
    const { dialogue } = await call();
    expect(await deliver(dialogue, 'ada@elsewhere.example')).toBe('550 5.7.1 Relaying denied');
  });

  it('counts what was accepted twice by Message-ID and recipient', async () => {
    const { internet, call } = await start({});
    const { dialogue } = await call();
    await deliver(dialogue);
    await deliver(dialogue, 'bob@provider.example');
    expect(internet.seen.duplicates()).toEqual([]);
    await deliver(dialogue, 'ADA@provider.example');
    expect(internet.seen.duplicates()).toMatchObject([{ messageId: '<one@example.org>', times: 2 }]);
  });
});

describe('limits of a receiver', () => {
  it('refuses the connection beyond its limit at the greeting, over all of its hosts, for this client only', async () => {
    const reply = '421 {host} Too many connections from {ip}';
    const { internet, call } = await start({ connections: { max: 2, reply } });
    const first = await call(0);
    await call(1);
    expect((await call(1)).greeting).toBe('421 mx2.provider.example Too many connections from 127.0.0.1');
    expect((await call(1, '127.0.0.2')).greeting).toMatch(/^220/);
    await first.dialogue.say('QUIT');
    expect((await call(0)).greeting).toMatch(/^220/);
    expect(internet.seen.maxConnections({ from: '127.0.0.1' })).toBe(3);
    expect(internet.seen.maxConnections({ from: '127.0.0.2' })).toBe(1);
    expect(internet.seen.maxConnections({ host: 'mx1.provider.example' })).toBe(1);
    expect(internet.seen.refusals).toMatchObject([{ stage: 'greeting', cause: 'connections', connection: 3 }]);
  });

  it('releases the place of a client that goes without QUIT', async () => {
    const { internet, call } = await start({ connections: { max: 1, reply: '421 Full' } });
    (await call()).dialogue.end();
    await internet.seen.until(() => internet.seen.countOpen() === 0);
    expect((await call()).greeting).toMatch(/^220/);
  });

  it('ends a connection with 421 after its messages', async () => {
    const { internet, call } = await start({ messages_per_connection: { max: 2, reply: '421 4.7.0 Enough' } });
    const { dialogue } = await call();
    await deliver(dialogue);
    await deliver(dialogue);
    expect(await deliver(dialogue)).toBe('421 4.7.0 Enough');
    expect(await dialogue.hear()).toBe('closed');
    expect(internet.seen.messagesPerConnection()).toEqual([2]);
    expect(internet.seen.refusals.map(({ cause }) => cause)).toEqual(['messages-per-connection']);
  });

  it('defers messages beyond a rate until the window has moved on, with all lines of the reply', async () => {
    const reply = '421-4.7.28 Unusual rate from {ip}\n421 4.7.28 Try later';
    const { internet, clock, call } = await start({ rates: [{ of: 'messages', max: 2, stage: 'dot', reply }] });
    const { dialogue } = await call();
    expect(await deliver(dialogue)).toMatch(/^250/);
    clock.advance(30_000);
    expect(await deliver(dialogue)).toMatch(/^250/);
    expect(await deliver(dialogue)).toBe('421-4.7.28 Unusual rate from 127.0.0.1\n421 4.7.28 Try later');
    clock.advance(29_999);
    const second = await call();
    expect(await deliver(second.dialogue)).toMatch(/^421/);
    clock.advance(1);
    const third = await call();
    expect(await deliver(third.dialogue)).toMatch(/^250/);
    expect(internet.seen.maxMessagesPerMinute()).toBe(2);
    expect(internet.seen.maxAttemptsPerMinute()).toBe(4);
  });

  it('keeps deferring for a time once a rate was exceeded, and 451 leaves the connection open', async () => {
    const { clock, call } = await start({
      rates: [{ of: 'messages', max: 1, for_minutes: 10, reply: '451 4.7.650 Rate limited' }],
    });
    const { dialogue } = await call();
    await deliver(dialogue);
    expect(await deliver(dialogue)).toBe('451 4.7.650 Rate limited');
    clock.advance(9 * 60_000);
    expect(await deliver(dialogue)).toBe('451 4.7.650 Rate limited');
    clock.advance(60_000);
    expect(await deliver(dialogue)).toMatch(/^250/);
  });

  it('refuses connections beyond a rate', async () => {
    const { clock, call } = await start({
      rates: [{ of: 'connections', max: 1, reply: '421 Trop de connexions, OFR004_104' }],
    });
    await call();
    expect((await call()).greeting).toBe('421 Trop de connexions, OFR004_104');
    clock.advance(60_000);
    expect((await call()).greeting).toMatch(/^220/);
  });

  it('blocks a client after unknown recipients for a time', async () => {
    const { clock, call } = await start({
      unknown: { local_parts: ['nobody*'], reply: '550 5.1.1 <{recipient}> unknown' },
      block: [{ unknown: 2, for_minutes: 5, reply: '554 IP={ip} - None/bad reputation. (NOWL)' }],
    });
    const { dialogue } = await call();
    expect(await deliver(dialogue, 'nobody1@provider.example')).toBe('550 5.1.1 <nobody1@provider.example> unknown');
    await dialogue.say('RSET');
    expect((await call()).greeting).toMatch(/^220/);
    await deliver(dialogue, 'nobody2@provider.example');
    expect((await call()).greeting).toBe('554 IP=127.0.0.1 - None/bad reputation. (NOWL)');
    expect((await call(0, '127.0.0.3')).greeting).toMatch(/^220/);
    clock.advance(5 * 60_000);
    expect((await call()).greeting).toMatch(/^220/);
  });
});

describe('recipients of a receiver', () => {
  it('the profile sets how many recipients are unknown or have a full mailbox, and they are the same each time', async () => {
    const { call } = await start({
      unknown: { share: 0.2, reply: '550 5.1.1 Unknown' },
      full: { local_parts: ['full'], reply: '452 4.2.2 Full' },
    });
    const { dialogue } = await call();
    await dialogue.say('MAIL FROM:<sender@example.org>');
    const replies: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      for (let n = 0; n < 200; n += 1) replies.push(await dialogue.say(`RCPT TO:<reader${n}@provider.example>`));
    }
    expect(replies.slice(200)).toEqual(replies.slice(0, 200));
    const unknown = replies.slice(200).filter((reply) => reply === '550 5.1.1 Unknown').length;
    expect(unknown).toBeGreaterThan(20);
    expect(unknown).toBeLessThan(70);
    expect(await dialogue.say('RCPT TO:<full@provider.example>')).toBe('452 4.2.2 Full');
  });

  it('recipients are refused by greylisting of client, sender and recipient until the delay is over', async () => {
    const { internet, clock, call } = await start({ greylist: { seconds: 300, reply: '450 4.2.0 Greylisted' } });
    const { dialogue } = await call();
    expect(await deliver(dialogue)).toBe('450 4.2.0 Greylisted');
    await dialogue.say('RSET');
    clock.advance(299_000);
    expect(await deliver(dialogue)).toBe('450 4.2.0 Greylisted');
    await dialogue.say('RSET');
    clock.advance(1000);
    expect(await deliver(dialogue)).toMatch(/^250/);
    expect(await deliver(dialogue, 'bob@provider.example')).toBe('450 4.2.0 Greylisted');
    const other = await call(0, '127.0.0.2');
    expect(await deliver(other.dialogue)).toBe('450 4.2.0 Greylisted');
    expect(internet.seen.refusals.map(({ cause }) => cause)).toEqual(new Array(4).fill('greylist'));
  });

  it('recipients are spread over the domains by the shares of the profile, in the same order each time', async () => {
    const provider = { hosts: ['mx.example'] };
    const profile = checkProfile('own', {
      summary: 'shares',
      providers: { provider },
      domains: [
        { name: 'large.example', provider: 'provider', share: 70 },
        { name: 'small{n}.example', provider: 'provider', share: 30, count: 3 },
      ],
    });
    internet = await startInternet({ profile });
    const all = internet.recipients(1000);
    expect(new Set(all).size).toBe(1000);
    expect(internet.recipients(10)).toEqual(all.slice(0, 10));
    const count = (domain: string): number => all.filter((address) => address.endsWith(`@${domain}`)).length;
    expect(Math.abs(count('large.example') - 700)).toBeLessThan(10);
    for (const n of [1, 2, 3]) expect(Math.abs(count(`small${n}.example`) - 100)).toBeLessThan(10);
  });
});

describe('faults of a receiver', () => {
  it('fails at a stage within a period, every nth time', async () => {
    const { clock, call } = await start({
      tempfail: [{ from_minute: 1, to_minute: 2, every: 2, stage: 'rcpt', reply: '451 4.3.0 Trouble' }],
    });
    const { dialogue } = await call();
    const rcpt = (): Promise<string> => dialogue.say('RCPT TO:<ada@provider.example>');
    await dialogue.say('MAIL FROM:<sender@example.org>');
    expect(await rcpt()).toMatch(/^250/);
    clock.advance(60_000);
    expect([await rcpt(), await rcpt(), await rcpt(), await rcpt()].map((reply) => reply.slice(0, 3))).toEqual([
      '250',
      '451',
      '250',
      '451',
    ]);
    clock.advance(60_000);
    expect([await rcpt(), await rcpt()].map((reply) => reply.slice(0, 3))).toEqual(['250', '250']);
  });

  it('replies late by its clock', async () => {
    const { clock, call } = await start({ delays: { rcpt_ms: 5000 } });
    const { dialogue } = await call();
    await dialogue.say('MAIL FROM:<sender@example.org>');
    let reply = '';
    const heard = dialogue.say('RCPT TO:<ada@provider.example>').then((text) => (reply = text));
    // Another connection is answered meanwhile, so the first command has arrived.
    await (await call()).dialogue.say('NOOP');
    expect(reply).toBe('');
    const waited = async (): Promise<void> => {
      for (; reply === '';) {
        clock.advance(5000);
        await new Promise((next) => setImmediate(next));
      }
    };
    await waited();
    expect(await heard).toBe('250 2.1.5 OK');
  });

  it('can be silent, and greets again after the period', async () => {
    const { internet, clock } = await start({ faults: [{ kind: 'silence', to_minute: 1 }] });
    const address = internet.receivers[0]?.hosts[0]?.address ?? '';
    const silent = await openDialogue(internet.smtpPort, address);
    open.push(silent);
    await internet.seen.until(() => internet.seen.countOpen() === 1);
    clock.advance(60_000);
    const next = await openDialogue(internet.smtpPort, address);
    open.push(next);
    expect(await next.hear()).toMatch(/^220/);
    silent.end();
    await internet.seen.until(() => internet.seen.countOpen() === 1);
    expect(internet.seen.messagesPerConnection()).toEqual([0, 0]);
  });

  it.each([
    ['drop-at-greeting', 'greeting'],
    ['drop-in-data', 'data'],
    ['drop-after-dot', 'dot'],
  ] as const)('can cut the connection: %s', async (kind, stage) => {
    const { internet, call } = await start({ faults: [{ kind }] });
    const { dialogue, greeting } = await call();
    const last = stage === 'greeting' ? greeting : await deliver(dialogue);
    expect(last).toBe('closed');
    expect(internet.seen.refusals).toMatchObject([{ stage, cause: 'dropped', reply: '' }]);
    expect(internet.seen.messages.map(({ isAcknowledged }) => isAcknowledged)).toEqual(stage === 'dot' ? [false] : []);
  });

  it('changes while it runs', async () => {
    const { internet, call } = await start({ connections: { max: 1, reply: '421 Full' } });
    await call();
    internet.change('provider', { connections: undefined, greeting: 'changed' });
    expect((await call()).greeting).toBe('220 mx1.provider.example changed');
    expect(() => internet.change('provider', { connections: { max: 1, reply: 'no' } })).toThrow(
      'must be an SMTP reply',
    );
    expect(() => internet.change('nobody', {})).toThrow('no provider nobody');
  });
});

describe('TLS of a receiver', () => {
  it('can be required, and then records that a message came over it', async () => {
    const { internet, call } = await start({ tls: 'required' });
    const { dialogue } = await call();
    await dialogue.say('EHLO client.example');
    expect(await deliver(dialogue)).toBe('530 5.7.0 Must issue a STARTTLS command first');
    expect(await dialogue.say('STARTTLS')).toMatch(/^220/);
    await dialogue.startTls();
    expect(await dialogue.say('EHLO client.example')).not.toContain('STARTTLS');
    expect(await deliver(dialogue)).toMatch(/^250/);
    expect(internet.seen.messages).toMatchObject([{ isSecure: true }]);
  });

  it('can be missing', async () => {
    const { call } = await start({ tls: 'none' });
    const { dialogue } = await call();
    expect(await dialogue.say('EHLO client.example')).not.toContain('STARTTLS');
    expect(await dialogue.say('STARTTLS')).toMatch(/^502/);
  });

  it('can fail in the handshake', async () => {
    const { internet } = await start({ tls: 'broken' });
    expect(await handshake(internet, 'mx1.provider.example')).toMatch(/wrong version|packet|EPROTO/i);
  });

  it.each([
    ['offered', 'trusted'],
    ['expired', /expired/],
    ['wrong-name', /altnames|self-signed/],
  ] as const)('with a certificate that is %s is checked by a client as any other', async (tls, outcome) => {
    const { internet } = await start({ tls });
    expect(await handshake(internet, 'mx1.provider.example')).toMatch(outcome);
  });
});

/** Returns `trusted`, or why a client that verifies certificates refuses this one. */
async function handshake({ smtpPort, receivers, certificates }: Internet, servername: string): Promise<string> {
  const plain = createConnection(smtpPort, receivers[0]?.hosts[0]?.address);
  const hear = (): Promise<string> => new Promise((done) => plain.once('data', (bytes) => done(bytes.toString())));
  await hear();
  plain.write('STARTTLS\r\n');
  await hear();
  return new Promise((done) => {
    const secure = connectTls({ socket: plain, servername, ca: [...certificates] });
    secure
      .once('secureConnect', () => done('trusted'))
      .on('error', (error) => done(`${error.message} ${String((error as NodeJS.ErrnoException).code)}`));
  }).finally(() => plain.destroy()) as Promise<string>;
}

describe('the name server of a rehearsal', () => {
  it('answers for domains, hosts and published records over UDP and TCP, and denies everything else', async () => {
    const { internet } = await start({});
    const resolver = new Resolver();
    resolver.setServers([internet.dns.server]);
    expect(await resolver.resolveMx('PROVIDER.example')).toMatchObject([
      { priority: 10, exchange: 'mx1.provider.example' },
      { priority: 20, exchange: 'mx2.provider.example' },
    ]);
    const [address = ''] = await resolver.resolve4('mx1.provider.example');
    expect([isIP(address), address.slice(0, 4)]).toEqual([4, '127.']);
    expect(await resolver.resolveTxt('provider.example')).toEqual([['v=spf1 mx ~all']]);
    await expect(resolver.resolveMx('elsewhere.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolver.resolve6('mx1.provider.example')).rejects.toMatchObject({ code: 'ENODATA' });
    const long = 'x'.repeat(3000);
    internet.dns.publish([
      { name: 'long.example', type: 'TXT', value: long },
      { name: 'alias.example', type: 'CNAME', value: 'long.example' },
    ]);
    expect((await resolver.resolveTxt('alias.example')).map((parts) => parts.join(''))).toEqual([long]);
    internet.dns.remove('long.example');
    await expect(resolver.resolveTxt('long.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('fails for a domain within a period', async () => {
    const { internet, clock } = await start({}, { domain: { dns_fault: { answer: 'SERVFAIL', to_minute: 1 } } });
    const resolver = new Resolver({ tries: 1 });
    resolver.setServers([internet.dns.server]);
    await expect(resolver.resolveMx('provider.example')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    clock.advance(60_000);
    expect(await resolver.resolveMx('provider.example')).toHaveLength(2);
  });
});

describe('late reports of a receiver', () => {
  it('bring bounces and complaints to the return path at their time, and block after complaints', async () => {
    const server = (sink = await startSink());
    const { internet, clock, call } = await start(
      {
        bounce_later: {
          local_parts: ['gone'],
          after_minutes: [2, 4],
          status: '5.1.1',
          diagnostic: 'smtp; 550 {recipient}',
        },
        complain_later: { local_parts: ['angry'], after_minutes: [10, 10] },
        block: [{ complaints: 1, for_minutes: 60, reply: '554 Blocked' }],
      },
      { back: { host: '127.0.0.1', port: server.port } },
    );
    const { dialogue } = await call();
    for (const local of ['gone', 'angry', 'content']) await deliver(dialogue, `${local}@provider.example`);
    clock.advance(3 * 60_000);
    await internet.settled();
    clock.advance(6 * 60_000);
    expect(server.messages).toHaveLength(1);
    expect((await call()).greeting).toMatch(/^220/);
    clock.advance(60_000);
    await internet.settled();
    expect(server.messages.map(({ mailFrom, rcptTo }) => [mailFrom, ...rcptTo])).toEqual([
      ['', 'sender@example.org'],
      ['feedback@mx1.provider.example', 'sender@example.org'],
    ]);
    expect(server.messages[0]?.data.toString()).toContain('Diagnostic-Code: smtp; 550 gone@provider.example\r\n');
    expect(server.messages[1]?.data.toString()).toContain('Original-Rcpt-To: <angry@provider.example>\r\n');
    expect(internet.seen.reports.map(({ kind, state }) => [kind, state])).toEqual([
      ['bounce', 'delivered'],
      ['complaint', 'delivered'],
    ]);
    expect((await call()).greeting).toBe('554 Blocked');
  });

  it('are tried again when the sending server defers them, and fail when it refuses them', async () => {
    const replies = ['451 Later', '550 No'];
    const server = (sink = await startSink({
      script: (command) => (command.startsWith('RCPT') ? replies.shift() : undefined),
    }));
    const { internet, clock, call } = await start(
      { bounce_later: { local_parts: ['gone'], after_minutes: [1, 1], status: '5.1.1', diagnostic: 'smtp; 550' } },
      { back: { host: '127.0.0.1', port: server.port } },
    );
    const { dialogue } = await call();
    await deliver(dialogue, 'gone@provider.example');
    clock.advance(60_000);
    await internet.settled();
    expect(internet.seen.reports).toMatchObject([{ state: 'waiting', reply: '451 Later' }]);
    clock.advance(5 * 60_000);
    await internet.settled();
    expect(internet.seen.reports).toMatchObject([{ state: 'failed', reply: '550 No' }]);
  });
});
