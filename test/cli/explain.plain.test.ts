import { afterEach, expect, it, vi } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const at = (seconds: number): string => `2026-11-20T09:30:0${seconds}.000Z`;

const email = (given: object) => ({
  object: 'email',
  id: ID,
  from: 'a@example.com',
  to: ['b@example.org'],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: 'Your receipt',
  html: null,
  text: 'Text',
  message_id: '<1@x>',
  topic_id: null,
  tags: [],
  created_at: at(0),
  scheduled_at: null,
  last_event: 'delivery_delayed',
  ...given,
});
const event = (count: number, type: string, data: object | null = null) => ({
  id: `msg_019a9c1e7d527c3a9a540b8f4c1f2e0${count}`,
  type,
  created_at: at(count),
  data,
  explanation: null,
  advice: null,
});
const attempt = (outcome: string, given: object = {}) => ({
  id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e06',
  created_at: at(2),
  attempt: 1,
  destination: 'example.org',
  mx: 'mx.example.org',
  address: '192.0.2.25',
  duration_ms: 412,
  tls: { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' },
  recipients: [
    {
      email: 'b@example.org',
      outcome,
      reason: 'refused_for_now',
      reply: '450 4.2.0 Greylisted',
      explanation: 'It turns unknown senders away once.',
      advice: 'No action is needed.',
    },
  ],
  transcript: ['S: 220 mx.example.org', 'C: EHLO us'],
  ...given,
});

const telling =
  (mail: object, events: object[], attempts: object) =>
  ({ path }: Asked): Reply => {
    if (path.endsWith('/events')) return { status: 200, body: { object: 'list', has_more: false, data: events } };
    if (path.endsWith('/attempts'))
      return { status: 200, body: { object: 'list', has_more: false, suppressed: [], ...attempts } };
    return { status: 200, body: mail };
  };

afterEach(() => void vi.unstubAllEnvs());

const pending = [
  { destination: 'example.org', recipients: ['b@example.org'], state: 'waiting', attempts: 1, until: at(9) },
];

it('rasket explain names the source and the provider of an attempt, and the name of a relay once', async () => {
  const attempts = [
    attempt('deferred', { relay: null, source: 'second', provider: 'google' }),
    attempt('deferred', { relay: 'ses', source: 'relay ses', provider: null }),
    attempt('deferred', { relay: 'ses', source: 'far', provider: null }),
  ];
  const { stdout } = await speak(['explain', ID], telling(email({}), [], { data: attempts, pending }));
  expect(stdout).toContain('Try 1 from second at mx.example.org [192.0.2.25] (google), TLSv1.3, 412 ms');
  expect(stdout).toContain('Try 1 through the relay ses, mx.example.org [192.0.2.25], TLSv1.3, 412 ms');
  expect(stdout).toContain('Try 1 from far through the relay ses, mx.example.org [192.0.2.25], TLSv1.3, 412 ms');
});

it('rasket explain names the relay of an attempt', async () => {
  const answer = telling(email({}), [], { data: [attempt('deferred', { relay: 'ses' })], pending });
  const { stdout } = await speak(['explain', ID], answer);
  expect(stdout).toContain('Try 1 through the relay ses, mx.example.org [192.0.2.25], TLSv1.3, 412 ms');
});

it('rasket explain tells the story from the beginning, and the next step', async () => {
  const answer = telling(email({}), [event(1, 'email.sent'), event(0, 'email.queued')], {
    data: [attempt('deferred')],
    pending,
  });
  const { stdout, code } = await speak(['explain', ID], answer);
  expect(code).toBe(0);
  expect(stdout).toBe(`Your receipt
from a@example.com to b@example.org: delivery_delayed

${at(0)}
  Accepted, and queued.
${at(1)}
  The first delivery started.
${at(2)}
  Try 1 at mx.example.org [192.0.2.25], TLSv1.3, 412 ms
  deferred  b@example.org
    450 4.2.0 Greylisted
    It turns unknown senders away once.
    No action is needed.

Next: attempt 2 to deliver it to example.org is at ${at(9)}.
`);
});

it('rasket explain names the request that accepted the email, for people and as JSON', async () => {
  const answer = telling(email({}), [], { data: [], pending, request_id: '019a9c1e-7d50-7b21-8d1f-5c1f0e2a9b44' });
  const { stdout } = await speak(['explain', ID], answer);
  expect(stdout.split('\n')[2]).toBe('request 019a9c1e-7d50-7b21-8d1f-5c1f0e2a9b44');
  const asJson = await speak(['explain', ID, '--json'], answer);
  expect(JSON.parse(asJson.stdout)).toMatchObject({ request_id: '019a9c1e-7d50-7b21-8d1f-5c1f0e2a9b44' });
});

it.each([
  [{ last_event: 'delivered' }, [], 'Nothing further will happen.'],
  [{ last_event: 'scheduled', scheduled_at: at(8) }, [], `Next: it will be sent at ${at(8)}.`],
  [{}, [{ ...pending[0], state: 'under_way', until: null }], 'Next: it is being delivered to example.org right now.'],
  [{}, [{ ...pending[0], state: 'awaits_domain' }], 'Next: it waits for the sending domain to be verified again'],
  [{}, [{ ...pending[0], state: 'in_doubt' }], 'Next: it is unknown whether example.org accepted it.'],
  [
    {},
    [{ ...pending[0], waits_because: 'Gmail limits us to 10 messages a minute' }],
    'waiting: Gmail limits us to 10 messages a minute',
  ],
  [{}, [{ ...pending[0], attempts: 0 }], `Next: it will be sent to example.org at ${at(9)}.`],
])('rasket explain names the next step: %j %j', async (given, waiting, says) => {
  const { stdout } = await speak(['explain', ID], telling(email(given), [], { data: [], pending: waiting }));
  expect(stdout.trim().split('\n').slice(-2).join('\n')).toContain(says);
});

const to = ['b@example.org'];
it.each([
  [
    'a failure that no attempt explains, in sentences',
    {
      ...event(3, 'email.failed', { to, failed: { reason: 'dropped_by_operator', message: 'A stolen key' } }),
      explanation: 'The operator took it out.',
      advice: 'Ask the operator.',
    },
    'Could not be sent (b@example.org).\n  The operator took it out.\n  A stolen key\n  Ask the operator.\n',
  ],
  [
    'a bounce that no attempt explains',
    event(3, 'email.bounced', { to, bounce: { message: 'It was given up.', diagnosticCode: ['smtp; 451 Later'] } }),
    'Bounced (b@example.org).\n  It was given up.\n  smtp; 451 Later\n',
  ],
  [
    'a complaint, without a word about what was suppressed',
    event(3, 'email.complained', { to }),
    'Marked as spam (b@example.org).\n\nb@example.org is not suppressed now: mail is sent to it.\n',
  ],
  [
    'which mail was not sent, in the words of the event',
    event(3, 'email.suppressed', { to, suppressed: { message: 'As if it were suppressed.' } }),
    'Not sent (b@example.org).\n  As if it were suppressed.\n\nb@example.org is not suppressed now',
  ],
])('rasket explain tells %s', async (_, told, says) => {
  const answer = telling(email({}), [told], { data: [attempt('deferred')], pending });
  const { stdout, url } = await speak(['explain', ID], answer);
  expect(stdout.replaceAll(url, 'URL')).toContain(says);
  expect(stdout).not.toContain('dropped_by_operator');
});

it.each([
  [{ email: 'B@example.org', origin: 'bounce' }, 'B@example.org is suppressed now (bounced)', 'B@example.org'],
  [{ email: 'b@example.org', origin: 'manual' }, 'b@example.org is suppressed now (added by hand)', 'b@example.org'],
  [
    { email: "o'hara&co@example.org", origin: 'complaint' },
    "o'hara&co@example.org is suppressed now (marked as spam)",
    "'o'\\''hara&co@example.org'",
  ],
  [{ email: '-x@example.org', origin: 'bounce' }, '-x@example.org is suppressed now', 'ADDRESS'],
])('rasket explain says that %j is suppressed now, and how to end that', async (entry, says, word) => {
  const bounce = event(3, 'email.bounced', { to: [entry.email], bounce: { message: 'No', diagnosticCode: [] } });
  const suppressed = [{ ...entry, created_at: at(3) }];
  const answer = telling(email({}), [bounce], { data: [attempt('bounced')], pending: [], suppressed });
  const { stdout, url } = await speak(['explain', ID], answer);
  expect(stdout).toContain(says);
  expect(stdout.replaceAll(url, 'URL')).toContain(
    `Remove the suppression with: rasket suppressions remove --url URL ${word}\n`,
  );
  expect(stdout.match(/is suppressed now/g)).toHaveLength(1);
});

it.each([
  ['names the rule', { status: 200, body: { object: 'inbound_rule', id: ID, pattern: 'support+*@example.com' } }],
  ['omits a deleted rule', { status: 404, body: { statusCode: 404, name: 'not_found', message: 'Gone.' } }],
  [
    'omits a rule that this key may not read',
    { status: 403, body: { statusCode: 403, name: 'restricted', message: 'No.' } },
  ],
])('rasket explain %s of forwarded mail', async (_, rule: Reply) => {
  const tags = [
    { name: 'inbound_rule', value: ID },
    { name: 'received_email', value: ID.replace('7c', '7d') },
  ];
  const answer = telling(email({ tags }), [event(0, 'email.queued')], { data: [], pending: [] });
  const { stdout, url } = await speak(['explain', ID], (asked) =>
    asked.path === `/inbound-rules/${ID}` ? rule : answer(asked),
  );
  const told = stdout.replaceAll(url, 'URL');
  expect(told).toContain(
    rule.status === 200
      ? `Forwarded by the inbound rule for support+*@example.com: rasket inbound-rules get --url URL ${ID}\n`
      : `Forwarded by the inbound rule ${ID}, which was deleted or which you may not read.\n`,
  );
  expect(told).toContain(`The received email: rasket received get --url URL ${ID.replace('7c', '7d')}\n`);
});

it('rasket explain reports a bounce once when an attempt reports it', async () => {
  const bounce = event(3, 'email.bounced', { to, bounce: { message: 'No such user', diagnosticCode: [] } });
  const answer = telling(email({}), [bounce], { data: [attempt('bounced')], pending: [] });
  expect((await speak(['explain', ID], answer)).stdout).not.toContain('Bounced');
});

it('rasket explain shows the dialogue on request, and prints JSON for programs', async () => {
  const answer = telling(email({}), [], { data: [attempt('deferred')], pending });
  expect((await speak(['explain', ID, '--transcript'], answer)).stdout).toContain('C: EHLO us');
  expect((await speak(['explain', ID], answer)).stdout).not.toContain('C: EHLO us');
  const { stdout } = await speak(['explain', ID, '--json'], answer);
  expect(Object.keys(JSON.parse(stdout) as object)).toEqual([
    'email',
    'events',
    'attempts',
    'pending',
    'suppressed',
    'request_id',
  ]);
});

it.each([
  ['mail that went nowhere', attempt('delivered', { mx: 'playground', address: null, tls: null, transcript: [] })],
  ['a domain without a mail server', attempt('bounced', { mx: null, address: null, tls: null, transcript: [] })],
])('rasket explain says why there is no dialogue for %s', async (_, tried) => {
  const answer = telling(email({}), [], { data: [tried], pending: [] });
  const { stdout } = await speak(['explain', ID, '--transcript'], answer);
  expect(stdout).toMatch(/^ +Try 1 at (playground|example\.org), 412 ms$/m);
  expect(stdout).toMatch(/^ +There is no SMTP dialogue: no mail server was contacted\.$/m);
  expect((await speak(['explain', ID], answer)).stdout).not.toContain('dialogue');
});

it('rasket explain says when nothing was attempted', async () => {
  const answer = telling(email({ last_event: 'suppressed' }), [], { data: [], pending: [] });
  const { stdout } = await speak(['explain', ID, '--transcript'], answer);
  expect(stdout).toMatch(/^There is no SMTP dialogue: no delivery was attempted\.$/m);
  expect((await speak(['explain', ID], answer)).stdout).not.toContain('dialogue');
});

it.each([
  [
    { to: ['b@example.org', 'c@example.org'], cc: ['d@example.net'] },
    ' to b@example.org, c@example.org, cc d@example.net',
  ],
  [{ to: [], bcc: ['e@example.net'] }, ' bcc e@example.net'],
])('rasket explain names every recipient of the email: %j', async (given, whom) => {
  const { stdout } = await speak(['explain', ID], telling(email(given), [], { data: [], pending: [] }));
  expect(stdout).toContain(`from a@example.com${whom}: delivery_delayed\n`);
});

it.each([
  ['bounced', true],
  ['delivery_delayed', true],
  ['failed', true],
  ['suppressed', true],
  ['delivered', false],
])('rasket emails get points to rasket explain for an email that is %s: %s', async (last_event, isTold) => {
  const answer = telling(email({ last_event }), [], { data: [], pending: [] });
  const told = await speak(['emails', 'get', ID], answer, { columns: 500 });
  expect(told.stderr.includes(`See why, and what happens next, with: rasket explain --url ${told.url} ${ID}`)).toBe(
    isTold,
  );
  expect((await speak(['emails', 'get', ID], answer)).stderr).toBe('');
});

it('rasket explain removes control characters from foreign text', async () => {
  const evil = '\u001B[2Jx';
  const answer = telling(email({ subject: evil }), [event(1, 'email.clicked', { click: { link: evil } })], {
    data: [attempt('deferred', { mx: evil, transcript: [evil] })],
    pending,
  });
  const { stdout } = await speak(['explain', ID, '--transcript'], answer, { columns: 100 });
  expect(stdout).not.toContain('\u001B[2J');
});

it('rasket explain reports opens and clicks of machines, and who unsubscribed', async () => {
  const open = { ipAddress: '192.0.2.1', userAgent: 'Mozilla/5.0', timestamp: at(2) };
  const click = { ...open, link: 'https://example.com/' };
  const events = [
    event(4, 'email.unsubscribed'),
    event(3, 'email.clicked', { click, machine: true }),
    event(2, 'email.opened', { open, machine: true }),
    event(1, 'email.opened', { open }),
  ];
  const answer = telling(email({ last_event: 'opened' }), events, { data: [], pending: [] });
  const { stdout } = await speak(['explain', ID], answer);
  expect(stdout).toContain(`${at(1)}
  Opened.
${at(2)}
  Opened, by a machine: not counted as a reader.
${at(3)}
  A link was clicked, by a machine: not counted as a reader.
  https://example.com/
${at(4)}
  A recipient unsubscribed.
`);
});

it.each([
  ['ends as suppressed when every recipient is suppressed', ['b@example.org'], 'it ends as suppressed'],
  ['is sent when another recipient is not suppressed', ['b@example.org', 'c@example.org'], 'it will be sent at'],
])('rasket explain of scheduled mail says that it %s', async (_, to, says) => {
  const scheduled = email({ to, last_event: 'scheduled', scheduled_at: at(9) });
  const suppressed = [{ email: 'B@example.org', origin: 'bounce', created_at: at(3) }];
  const answer = telling(scheduled, [event(0, 'email.scheduled')], { data: [], pending: [], suppressed });
  const { stdout } = await speak(['explain', ID], answer);
  const next = stdout.split('\n').filter((line) => line.startsWith('Next: '));
  expect(next).toEqual([expect.stringContaining(says)]);
});
