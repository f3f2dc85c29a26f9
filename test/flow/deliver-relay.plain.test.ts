import { afterEach, describe, expect, test } from 'vitest';
import type { DeliverOptions, DeliveryJob } from '../../src/mail/deliver/index.ts';
import { RelayFault, type Relay, type RelayChoice } from '../../src/mail/deliver/relay.ts';
import { createManualClock } from '../rig/clock.ts';
import type { SinkAuth, SinkOptions } from '../rig/sink.ts';
import { freePort } from '../rig/free-port.ts';
import { makeCertificate } from '../rig/tls.ts';
import { account, MX, setScene, type Scene } from './deliver-scene.ts';

const RELAY = 'smtp.relay.example';
const USER = 'postmaster@x.example';
const SECRET = 'Correct-horse-battery-staple';
const certificate = makeCertificate({ names: [RELAY] });

let scene: Scene;
let transcripts: string[][] = [];
afterEach(async () => {
  transcripts = [];
  await scene.stop();
});

interface Given {
  relay?: Partial<Relay>;
  mechanism?: 'auto' | 'plain' | 'login' | 'cram-md5' | 'xoauth2';
  secret?: string;
  sink?: SinkOptions;
  auth?: Partial<SinkAuth>;
  choose?: (relay: Relay, job: Pick<DeliveryJob, 'senderDomain' | 'region'>) => RelayChoice;
  deliver?: Partial<DeliverOptions>;
  host?: string;
}

/** The sink is the relay; the recipients' own servers are at a port where nothing listens. */
async function given({ relay, mechanism = 'auto', secret = SECRET, sink, auth, choose, deliver, host }: Given = {}) {
  const port = await freePort();
  const made: Relay = {
    name: 'main',
    host: RELAY,
    port,
    tls: 'starttls',
    readCa: () => certificate.cert,
    readLogin: () => ({ mechanism, user: USER, secret }),
    ...relay,
  };
  scene = await setScene({
    sink: { port, tls: 'starttls', certificate, auth: { user: USER, secret: SECRET, ...auth }, ...sink },
    zones: {
      [RELAY]: { A: [host ?? '127.0.0.1'] },
      'y.example': { MX: [`10 ${MX}`] },
      'z.example': { MX: [`10 ${MX}`] },
      [MX]: { A: ['127.0.0.1'] },
    },
    deliver: {
      smtpPort: await freePort(),
      relayFor: (job) => choose?.(made, job) ?? { relay: made },
      onTrouble: ({ transcript }) => transcripts.push(transcript),
      ...deliver,
    },
  });
}

const taken = (address: string) => ({ kind: 'delivered', address, mx: RELAY, relay: 'main' });
const waiting = (detail: RegExp) => ({
  kind: 'deferred',
  reason: 'relay_misconfigured',
  relay: 'main',
  detail: expect.stringMatching(detail),
});

describe('a relay with a login', () => {
  test.each(['plain', 'login', 'cram-md5', 'xoauth2'] as const)(
    'accepts mail after a login by %s',
    async (mechanism) => {
      await given({ mechanism, auth: { mechanisms: [mechanism.toUpperCase()] } });
      expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
      expect(scene.sink.logins).toEqual([mechanism.toUpperCase()]);
      expect(scene.sink.messages[0]).toMatchObject({ tls: true, rcptTo: ['a@y.example'] });
    },
  );

  test('is reached over implicit TLS when its settings say so', async () => {
    await given({ relay: { tls: 'implicit' }, sink: { tls: 'implicit' } });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    expect(account(scene.sink)).toMatchObject({ ehlo: 1, secured: 1, auth: 1 });
    expect(scene.sink.counts.starttls).toBe(0);
  });

  test('gets the first login mechanism that it offers, unless the settings name one', async () => {
    await given({ auth: { mechanisms: ['CRAM-MD5', 'LOGIN'] } });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    expect(scene.sink.logins).toEqual(['LOGIN']);
  });

  test('gets a token that is too long for the command on a line of its own', async () => {
    const secret = 't'.repeat(2000);
    await given({ mechanism: 'xoauth2', secret, auth: { secret } });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    expect(scene.sink.commands).toContain('AUTH XOAUTH2');
  });

  test('gets one login for the messages of a connection, to all domains', async () => {
    await given();
    for (const address of ['a@y.example', 'b@z.example', 'c@y.example'])
      expect(await scene.send(address)).toMatchObject([taken(address)]);
    expect(account(scene.sink)).toMatchObject({ connections: 1, auth: 1, accepted: 3 });
  });

  test('is greeted with the name in its settings', async () => {
    await given({ relay: { heloName: 'helo.rasket.test' } });
    await scene.send('a@y.example');
    expect(scene.sink.commands[0]).toBe('EHLO helo.rasket.test');
  });

  test('gets no further login while it is down because of a wrong password', async () => {
    const now = { ms: 0 };
    await given({ secret: 'wrong', deliver: { now: () => now.ms, random: () => 0.5 } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/535 5\.7\.8/)]);
    now.ms += 299_000;
    expect(await scene.send('b@z.example')).toMatchObject([{ kind: 'deferred', reason: 'destination_down' }]);
    expect(scene.sink.counts.auth).toBe(1);
    now.ms += 2_000;
    expect(await scene.send('b@z.example')).toMatchObject([waiting(/535 5\.7\.8/)]);
    expect(scene.sink.counts.auth).toBe(2);
  });
});

describe('a faulty relay', () => {
  const loadDetail = async (): Promise<string> => {
    const [outcome] = await scene.send('a@y.example');
    return outcome?.kind === 'deferred' ? outcome.detail : JSON.stringify(outcome);
  };

  test.each(['plain', 'login', 'cram-md5', 'xoauth2'] as const)(
    'defers the mail for a wrong password by %s',
    async (mechanism) => {
      await given({ mechanism, secret: 'not-the-password' });
      expect(await scene.send('a@y.example')).toMatchObject([
        { ...waiting(/login by .*: 535 5\.7\.8 Authentication failed/), cause: 'relay_misconfigured' },
      ]);
      expect(scene.delivery.relayTroubles()).toMatchObject([{ relay: 'main', detail: expect.stringContaining('535') }]);
    },
  );

  test('defers the mail for an expired certificate, and gets no login', async () => {
    const expired = makeCertificate({
      names: [RELAY],
      notBefore: new Date('2001-01-01T00:00:00Z'),
      notAfter: new Date('2002-01-01T00:00:00Z'),
    });
    await given({ relay: { readCa: () => expired.cert }, sink: { certificate: expired } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/not valid for it \(it has expired\)/)]);
    expect(scene.sink.counts.auth).toBe(0);
  });

  test.each(['starttls', 'implicit'] as const)(
    'defers the mail for a certificate for another name, over %s',
    async (tls) => {
      const other = makeCertificate({ names: ['other.example'] });
      await given({ relay: { tls, readCa: () => other.cert }, sink: { certificate: other, tls } });
      expect(await scene.send('a@y.example')).toMatchObject([waiting(/it is for another name/)]);
      expect(scene.sink.counts.auth).toBe(0);
    },
  );

  test('cannot use a certificate for localhost for its address', async () => {
    const local = makeCertificate({ names: ['localhost'] });
    await given({ relay: { host: '127.0.0.1', readCa: () => local.cert }, sink: { certificate: local } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/not valid/)]);
    expect(scene.sink.counts.auth).toBe(0);
  });

  test('defers the mail for an untrusted authority', async () => {
    await given({ relay: { readCa: undefined } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/self-signed|not trusted/)]);
    expect(scene.sink.counts.auth).toBe(0);
  });

  test('defers the mail without STARTTLS, and gets no login', async () => {
    await given({ sink: { tls: 'none' } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/main is used over TLS only.*offers no STARTTLS/)]);
    expect(scene.sink.counts).toMatchObject({ auth: 0, mail: 0 });
  });

  test('is reported with its mechanisms when they differ from the settings', async () => {
    await given({ mechanism: 'cram-md5', auth: { mechanisms: ['PLAIN', 'LOGIN'] } });
    expect(await loadDetail()).toMatch(/offers login by PLAIN, LOGIN, but not by CRAM-MD5/);
  });

  test('is reported with an unreadable file of its settings', async () => {
    const fault = new RelayFault('The password_file of the relay main cannot be read (ENOENT)');
    await given({
      relay: {
        readLogin: () => {
          throw fault;
        },
      },
    });
    expect(await loadDetail()).toBe(fault.message);
    expect(scene.sink.counts.connections).toBe(0);
  });

  test('suppresses no recipient when its name has no address', async () => {
    await given({ relay: { host: 'nowhere.example' } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/nowhere\.example has no address/)]);
  });

  test('suppresses no recipient when it accepts no mail at all', async () => {
    await given({ sink: { tls: 'implicit', greeting: '521 No mail here' }, relay: { tls: 'implicit' } });
    expect(await scene.send('a@y.example')).toMatchObject([waiting(/521/)]);
  });

  test.each(['530 5.7.0 Authentication required', '535 5.7.8 Log in anew', '550 5.7.9 Mechanism too weak'])(
    'that replies %s to MAIL defers the mail, and the next message logs in again',
    async (answer) => {
      const now = { ms: 0 };
      const said: string[] = [];
      await given({
        sink: {
          script: (command) => (command.startsWith('MAIL') && said.push(command) === 1 ? answer : undefined),
        },
        deliver: { now: () => now.ms },
      });
      expect(await scene.send('a@y.example')).toMatchObject([
        { ...waiting(/MAIL FROM/), cause: 'relay_misconfigured' },
      ]);
      expect(scene.delivery.relayTroubles()).toHaveLength(1);
      now.ms += 600_000;
      expect(await scene.send('b@y.example')).toMatchObject([taken('b@y.example')]);
      expect(scene.sink.counts.auth).toBe(2);
      expect(scene.delivery.relayTroubles()).toEqual([]);
    },
  );

  test('defers only the recipient it does not relay for, and continues to get others', async () => {
    await given({
      sink: { script: (command) => (/RCPT.*foreign/.test(command) ? '554 5.7.1 Relay access denied' : undefined) },
    });
    expect(await scene.send(['foreign@y.example', 'a@y.example'])).toMatchObject([
      waiting(/Relay access denied/),
      taken('a@y.example'),
    ]);
    expect(await scene.send('b@y.example')).toMatchObject([taken('b@y.example')]);
  });
});

test('a refusal of a smarthost about its customer bounces as relaying_denied, and suppresses no recipient', async () => {
  const said = ['550 5.7.1 Account disabled', '550 Sorry', '550 5.1.1 User unknown'];
  const port = await freePort();
  await given({
    choose: () => ({}),
    deliver: { findRegion: () => ({ smarthost: { host: RELAY, port } }) },
    sink: { port, auth: undefined, script: (command) => (command.startsWith('RCPT') ? said.shift() : undefined) },
  });
  const bounced = (cause: string) => [{ kind: 'bounced', reason: 'refused', cause }];
  expect(await scene.send('a@y.example')).toMatchObject(bounced('relay'));
  expect(await scene.send('b@y.example')).toMatchObject(bounced('receiver_policy'));
  expect(await scene.send('c@y.example')).toMatchObject(bounced('recipient_unknown'));
});

describe('a temporary fault of a relay', () => {
  test('defers the mail after a 454 to the login', async () => {
    await given({ auth: { answer: '454 4.7.0 Temporary authentication failure' } });
    expect(await scene.send('a@y.example')).toMatchObject([
      { kind: 'deferred', reason: 'refused_for_now', cause: 'receiver_trouble', relay: 'main' },
    ]);
    expect(scene.delivery.relayTroubles()).toEqual([]);
  });

  test('defers the mail after a 4xx to MAIL', async () => {
    await given({ sink: { script: (command) => (command.startsWith('MAIL') ? '450 4.3.2 Busy' : undefined) } });
    expect(await scene.send('a@y.example')).toMatchObject([
      { kind: 'deferred', reason: 'refused_for_now', relay: 'main', reply: { code: 450 } },
    ]);
  });

  test('does not include a 5xx for one of two recipients, which bounces', async () => {
    await given();
    expect(await scene.send(['permfail@y.example', 'a@y.example'])).toMatchObject([
      { kind: 'bounced', reason: 'refused', cause: 'recipient_unknown', relay: 'main' },
      taken('a@y.example'),
    ]);
  });

  test('leaves the mail in doubt when the connection is lost after the final dot', async () => {
    await given();
    expect(await scene.send('drop-after-dot@y.example')).toMatchObject([{ kind: 'ambiguous', relay: 'main' }]);
  });
});

describe('the secrets of a relay', () => {
  const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

  test.each(['plain', 'login', 'cram-md5', 'xoauth2'] as const)(
    'are in no recorded dialogue and no reply after a login by %s, even when the relay repeats them',
    async (mechanism) => {
      const repeated = `535 5.7.8 ${USER} ${SECRET} ${inBase64(SECRET)} ${inBase64(`\0${USER}\0${SECRET}`)} refused`;
      await given({ mechanism, auth: { answer: repeated } });
      const refused = await scene.send('a@y.example');
      await scene.stop();
      await given({ mechanism, sink: { script: (command) => (/^MAIL/.test(command) ? '450 4.3.2 Busy' : undefined) } });
      const deferred = await scene.send('a@y.example');
      const shown = JSON.stringify([refused, deferred, transcripts, scene.delivery.relayTroubles()]);
      expect(transcripts.flat().join('\n')).toContain(`C: AUTH ${mechanism.toUpperCase()}`);
      expect(shown).toContain('***');
      for (const secret of [SECRET, USER, inBase64(SECRET), inBase64(USER), inBase64(`\0${USER}\0${SECRET}`)])
        expect(shown).not.toContain(secret);
      const sent = scene.sink.commands.filter((line) => /^[A-Za-z0-9+/=]{12,}$/.test(line));
      for (const line of sent) expect(shown).not.toContain(line);
    },
  );
});

test('a user name that is a word does not hide this word in later refusals', async () => {
  const readLogin = () => ({ mechanism: 'auto' as const, user: 'user', secret: SECRET });
  const script = (command: string): string | undefined =>
    command.startsWith('RCPT') ? '550 5.0.0 No such user here' : undefined;
  await given({ relay: { readLogin }, auth: { user: 'user' }, sink: { script } });
  expect(await scene.send('a@y.example')).toMatchObject([
    { kind: 'bounced', cause: 'recipient_unknown', reply: { lines: ['No such user here'] } },
  ]);
});

describe('a relay', () => {
  test('by sending domain leaves mail of other domains to go directly to their recipients', async () => {
    await given({ choose: (relay, { senderDomain }) => (senderDomain === 'shop.example' ? { relay } : {}) });
    expect(await scene.send('a@y.example', { senderDomain: 'shop.example' })).toMatchObject([taken('a@y.example')]);
    const [direct] = await scene.send('a@y.example', { senderDomain: 'other.example' });
    expect(direct).toMatchObject({ kind: 'deferred', reason: 'unreachable' });
    expect(direct).not.toHaveProperty('relay');
  });

  test('never uses the connection of another login', async () => {
    const other = 'Another-secret';
    await given({
      choose: (relay, { senderDomain }) =>
        senderDomain === 'b.example'
          ? { relay: { ...relay, name: 'other', readLogin: () => ({ mechanism: 'plain', user: USER, secret: other }) } }
          : { relay },
    });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    expect(await scene.send('a@y.example', { senderDomain: 'b.example' })).toMatchObject([
      { reason: 'relay_misconfigured', relay: 'other' },
    ]);
    expect(await scene.send('b@y.example')).toMatchObject([taken('b@y.example')]);
    expect(scene.sink.counts).toMatchObject({ connections: 2, accepted: 2 });
  });

  test('as a fallback gets mail when no server of the recipient can be connected to', async () => {
    await given({ choose: (fallback) => ({ fallback }) });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    // The failure of a moment ago counts too.
    expect(await scene.send('b@y.example')).toMatchObject([taken('b@y.example')]);
    expect(
      scene.delivery.findObstacle({ domain: 'y.example', region: 'eu', tls: 'opportunistic', teamId: 'team_1' }),
    ).toBeUndefined();
  });

  test('as a fallback gets no mail that the recipient’s server has replied to', async () => {
    const smtpPort = await freePort();
    await given({
      choose: (fallback) => ({ fallback: { ...fallback, port: 1 } }),
      deliver: { smtpPort },
      sink: {
        port: smtpPort,
        auth: undefined,
        script: (command) => (command.startsWith('MAIL') ? '451 4.3.0 Later' : undefined),
      },
    });
    const [outcome] = await scene.send('a@y.example');
    expect(outcome).toMatchObject({ kind: 'deferred', reason: 'refused_for_now', mx: MX });
    expect(outcome).not.toHaveProperty('relay');
  });

  test('that is down defers the mail, and without a fallback nothing else is tried', async () => {
    await given({ relay: { port: await freePort() } });
    expect(await scene.send('a@y.example')).toMatchObject([
      { kind: 'deferred', reason: 'unreachable', mx: RELAY, relay: 'main' },
    ]);
    expect(
      scene.delivery.findObstacle({ domain: 'z.example', region: 'eu', tls: 'opportunistic', teamId: 'team_1' }),
    ).toEqual({ kind: 'down' });
    expect(scene.sink.counts.connections).toBe(0);
  });
});

describe('the limits of a relay', () => {
  test('count its connections, whatever the domains of the recipients', async () => {
    await given({ relay: { connectionsMax: 2 } });
    const sent = ['slow@y.example', 'slow@z.example', 'slow@w.example', 'slow@v.example'].map((to) => scene.send(to));
    await scene.sink.waitFor((sink) => sink.held() === 2);
    expect(scene.sink.open).toBe(2);
    scene.sink.openGate();
    for (const outcomes of await Promise.all(sent)) expect(outcomes).toMatchObject([{ kind: 'delivered' }]);
    expect(scene.sink.counts.connections).toBe(2);
  });

  test('can be one connection, which serves all teams', async () => {
    await given({ relay: { connectionsMax: 1 } });
    const teams = ['team_1', 'team_2', 'team_3'];
    const sent = await Promise.all(teams.map((teamId) => scene.send('a@y.example', { teamId })));
    expect(sent.flat()).toMatchObject(teams.map(() => taken('a@y.example')));
    expect(scene.sink.counts.connections).toBe(1);
  });

  test('count the messages of a connection', async () => {
    await given({ relay: { messagesPerConnectionMax: 2 } });
    for (let count = 0; count < 5; count += 1) await scene.send(`${count}@y.example`);
    expect(scene.sink.counts).toMatchObject({ connections: 3, accepted: 5 });
  });

  test('spread the messages of a minute, and send messages that would wait for long back to the queue', async () => {
    const clock = createManualClock();
    await given({ relay: { messagesPerMinute: 6 }, deliver: { clock, now: () => clock.steady() } });
    expect(await scene.send('a@y.example')).toMatchObject([taken('a@y.example')]);
    const waiting = ['b', 'c'].map((name) => scene.send(`${name}@y.example`));
    const [postponed] = await scene.send('d@y.example');
    expect(postponed).toMatchObject({ kind: 'deferred', reason: 'throttled', relay: 'main' });
    expect(postponed && 'retryAfterMs' in postponed && postponed.retryAfterMs).toBeGreaterThanOrEqual(20_000);
    // Another team finds a place, however many messages of the first one wait.
    const other = scene.send('e@y.example', { teamId: 'team_2' });
    expect(scene.sink.counts.accepted).toBe(1);
    clock.advance(11_000);
    expect(await Promise.race([...waiting, other])).toMatchObject([{ kind: 'delivered' }]);
    expect(scene.sink.counts.accepted).toBe(2);
    clock.advance(11_000);
    // Teams take turns.
    expect(await other).toMatchObject([taken('e@y.example')]);
    clock.advance(11_000);
    await Promise.all(waiting);
    expect(scene.sink.counts.accepted).toBe(4);
  });

  test('the limits of a relay put other mail before bulk mail', async () => {
    const clock = createManualClock();
    await given({ relay: { messagesPerMinute: 6 }, deliver: { clock, now: () => clock.steady() } });
    await scene.send('a@y.example');
    const bulk = scene.send('bulk@y.example', { isBulk: true, teamId: 'team_2' });
    const urgent = scene.send('urgent@y.example');
    clock.advance(11_000);
    expect(await urgent).toMatchObject([taken('urgent@y.example')]);
    expect(scene.sink.counts.accepted).toBe(2);
    clock.advance(11_000);
    expect(await bulk).toMatchObject([taken('bulk@y.example')]);
  });
});
