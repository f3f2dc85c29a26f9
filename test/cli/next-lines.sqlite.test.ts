import net, { type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { runInProcess } from './in-process.ts';
import { speak } from './spoken.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const HOOK = `wh_${'1'.repeat(32)}`;
const EVENT = `msg_${'1'.repeat(32)}`;
const ATTACHMENT = `att_${'1'.repeat(32)}`;
const record = { record: 'SPF', name: 'send.x.example', type: 'TXT', ttl: 'Auto', status: 'pending', value: 'v=spf1' };
const domain = {
  object: 'domain',
  id: ID,
  name: 'x.example',
  status: 'pending',
  region: 'eu-west-1',
  records: [record],
  open_tracking: false,
  click_tracking: true,
  capabilities: { sending: 'pending', receiving: 'unsupported' },
};
const email = {
  object: 'email',
  id: ID,
  from: 'a@x.example',
  to: ['b@y.example'],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: 'rasket keys revoke them all',
  html: null,
  text: 'Hi',
  message_id: '<x@x.example>',
  tags: [],
  created_at: '2026-11-20T09:30:00.000Z',
  scheduled_at: null,
  last_event: 'suppressed',
  topic_id: null,
};
const listed = (...data: object[]): Reply => ({ status: 200, body: { object: 'list', has_more: false, data } });
const refused = (status: number, name: string, message: string, more: object = {}): Reply => ({
  status,
  body: { statusCode: status, name, message, ...more },
});
const wrong = (path: string, message: string): Reply =>
  refused(422, 'validation_error', message, { errors: [{ path, message }] });
const ok =
  (body: object): (() => Reply) =>
  () => ({ status: 200, body });

function history({ path }: Asked): Reply {
  if (path.endsWith('/events')) {
    const event = { object: 'event', id: ID, type: 'email.suppressed', created_at: email.created_at };
    return listed({ ...event, data: { to: ['b@y.example'] }, explanation: 'It is suppressed.', advice: null });
  }
  if (path.endsWith('/attempts'))
    return {
      status: 200,
      body: {
        object: 'list',
        has_more: false,
        data: [],
        pending: [],
        suppressed: [{ email: 'b@y.example', origin: 'bounce', created_at: email.created_at }],
      },
    };
  return { status: 200, body: email };
}

const buildQueue = (holds: number): object => ({
  object: 'queue',
  as_of: email.created_at,
  deliveries: 0,
  destination_count: 0,
  holds,
  sending: { is_on: true, reason: null },
  destinations: [],
});

/** The attachment is there; the link to its content leads nowhere. */
function linkIsGone({ path }: Asked): Reply {
  if (path === '/gone') return refused(404, 'not_found', 'Attachment not found.');
  return { status: 200, body: { object: 'attachment', id: 'att_1', download_url: 'http://x.example/gone' } };
}

/** Every kind of place in which a line says what to type next. */
const PLACES: [words: string[], answer: (asked: Asked) => Reply, command: string][] = [
  [['domains', 'create', 'x.example'], ok(domain), 'rasket domains verify'],
  [['domains', 'regenerate', ID, '--yes'], ok(domain), 'rasket domains verify'],
  [['templates', 'create', 'T', '--html', 'x'], ok({ id: ID }), 'rasket templates publish'],
  [
    ['send', '--from', 'a@x.example', '--to', 'b@y.example', '--subject', 'x', '--text', 'x'],
    ok({ id: ID }),
    'rasket explain',
  ],
  [['domains', 'list'], () => listed(), 'rasket domains create'],
  [['queue', 'hold', '--email', ID, '--reason', 'x'], ok({ id: ID }), 'rasket queue release'],
  [['queue'], ok(buildQueue(1)), 'rasket queue holds'],
  [
    ['queue', 'retry', '--email', ID],
    ok({ object: 'queue_retry', deliveries: 0, held: 1, holds: [{ id: ID, reason: 'Their move' }] }),
    'rasket queue release',
  ],
  [['explain', ID], history, 'rasket suppressions remove'],
  [['emails', 'get', ID], () => refused(404, 'not_found', 'Email not found.'), 'rasket emails list'],
  [['received', 'download', ID, ATTACHMENT, '--output', 'never-written'], linkIsGone, 'rasket received attachments'],
  [['emails', 'list'], () => refused(401, 'invalid_api_key', 'The API key is not valid.'), 'rasket login'],
  [['emails', 'list'], () => refused(503, 'service_unavailable', 'Not now.'), 'rasket ready'],
  [
    ['ai', 'subject-lines', '--text', 'x'],
    () => refused(403, 'invalid_permission', 'The AI helpers are switched off; switch them on with ai_assist_enabled.'),
    'rasket team update',
  ],
  [['health'], () => ({ status: 502, body: '<html>' }), 'rasket login'],
  [
    ['domains', 'rotate', ID],
    () => refused(422, 'validation_error', 'No key of it is in use.'),
    'rasket domains regenerate',
  ],
  [
    ['domains', 'create', 'x.example'],
    () => refused(403, 'resource_locked', 'Another team has it.', { claimable: true }),
    'rasket domains claim',
  ],
  [['domains', 'update', ID, '--receiving', 'enabled'], ok({ id: ID }), 'rasket domains get'],
  [['webhooks', 'get', HOOK], ok({ id: 'wh_1', status: 'disabled', events: [] }), 'rasket webhooks update'],
  [['webhooks', 'get', HOOK], ok({ id: 'wh_1', status: 'disabled', events: [] }), 'rasket webhooks replay'],
  [
    ['webhooks', 'trigger', 'email.bounced'],
    () => refused(422, 'validation_error', 'No enabled webhook and no listener subscribes to email.bounced.'),
    'rasket webhooks listen',
  ],
  [
    ['webhooks', 'trigger', 'email.bounced', '--endpoint', HOOK],
    () => refused(422, 'validation_error', 'The webhook wh_1 is disabled; enable it first.'),
    'rasket webhooks get',
  ],
  [
    ['webhooks', 'replay', HOOK, EVENT],
    () => refused(422, 'validation_error', 'The webhook wh_1 is disabled; enable it first.'),
    'rasket webhooks update',
  ],
  [
    ['webhooks', 'trigger', 'email.bounced', '--endpoint', HOOK],
    () => refused(422, 'validation_error', 'The webhook wh_1 does not take email.bounced; add it to its events.'),
    'rasket webhooks get',
  ],
  [
    ['domains', 'create', 'x.example'],
    () => refused(409, 'resource_locked', 'The domain x.example is already registered by this team.'),
    'rasket domains get',
  ],
  [
    ['topics', 'create', '--name', 'News', '--default-subscription', 'opt_in'],
    () => refused(422, 'validation_error', 'name: a topic named "News" already exists; choose another name.'),
    'rasket topics list',
  ],
  [
    ['templates', 'create', 'T', '--alias', 'tea', '--html', 'x'],
    () => wrong('alias', 'alias: another template of this team has the alias tea; choose a different alias.'),
    'rasket templates get',
  ],
  [
    ['emails', 'cancel', ID],
    () => refused(409, 'resource_locked', 'This email is no longer scheduled (delivered); only a scheduled one.'),
    'rasket explain',
  ],
  [
    ['send', '--from', 'a@x.example', '--to', 'b@y.example', '--subject', 'x', '--text', 'x'],
    () =>
      refused(403, 'validation_error', 'Sending from the domain x.example is disabled; enable its capability first.'),
    'rasket domains get',
  ],
  [['emails', 'list', '--api-key-id', 'nope'], () => listed(), 'rasket keys list'],
  [
    ['contacts', 'create', 'a@x.example', '--segment', 'nope'],
    () => wrong('segments', 'segments must hold ids of segments, as {id} or alone; got "nope".'),
    'rasket segments list',
  ],
  [['contacts', 'get', 'nope'], () => listed(), 'rasket contacts list'],
  [
    ['broadcasts', 'share', ID, '--contact', 'nobody@x.example'],
    () => refused(404, 'not_found', 'Contact not found.'),
    'rasket contacts list',
  ],
  [['doctor'], () => refused(401, 'invalid_api_key', 'The API key is not valid.'), 'rasket login'],
];

const at = (url: string) => ({
  env: { ...process.env, RASKET_URL: url, RASKET_API_KEY: 'rk_test' },
  cwd: process.cwd(),
});

describe('a suggested command', () => {
  it('rasket doctor and rasket ready report another program when the response is no readiness', async () => {
    for (const command of ['doctor', 'ready']) {
      const { code, stdout, stderr } = await speak([command], () => ({ status: 200, body: { status: 'up' } }));
      expect(`${stdout}${stderr}`).toContain('does not run rasket: another program listens there');
      expect(code).toBe(69);
    }
  });

  it('rasket doctor is suggested when ready finds nothing, and never suggests itself', async () => {
    const server = net.createServer((socket) => socket.on('error', () => undefined).destroy());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ready = await runInProcess(['ready'], at(url));
    expect(ready).toMatchObject({ code: 69, stderr: expect.stringContaining(`rasket doctor --url ${url}`) });
    const doctor = await runInProcess(['doctor'], at(url));
    expect(doctor).toMatchObject({ code: 69, stdout: expect.stringContaining('was lost before the response arrived') });
    expect(doctor.stdout + doctor.stderr).not.toContain('rasket doctor');
    await new Promise<void>((done) => server.close(() => done()));
  });

  it('a hint names the broadcast whose page has to be approved, and none for a broadcast that was not created', async () => {
    const says = 'The content must be approved first, and nobody has reviewed it.';
    const answer = () => refused(422, 'validation_error', says, { details: { reason: 'review_required' } });
    const { stderr, url } = await speak(['broadcasts', 'send', ID], answer, { columns: 500 });
    expect(stderr).toContain(`rasket broadcasts share --url ${url} ${ID} --allow-review`);
    const draft = ['broadcasts', 'create', '--from', 'a@x.example', '--subject', 'x', '--text', 'x', '--send'];
    expect((await speak(draft, answer)).stderr).toContain('Create it without sending it, and send its page');
  });

  it('for a finding names the server that was asked, and a command for its machine stays unchanged', async () => {
    const finding = (command: string | null) => ({
      code: 'webhook_failing',
      severity: 'warning',
      summary: 'S',
      advice: { words: 'Look', command },
      count: 1,
      subjects: [],
      since: null,
      node: null,
    });
    const lines = [`rasket webhooks get ${ID}`, 'rasket queue', 'rasket doctor', 'rasket sending on', 'df -h'];
    const { stdout, url } = await speak(['findings'], () => ({
      status: 200,
      body: { object: 'findings', as_of: '2026-11-20T09:30:00.000Z', findings: lines.map(finding) },
    }));
    const said = stdout.split(/[\n\t]/);
    for (const line of [`rasket webhooks get --url ${url} ${ID}`, `rasket queue show --url ${url}`, ...lines.slice(2)])
      expect(said, stdout).toContainEqual(line);
  });

  it.each(PLACES)('names the chosen server: rasket %j', async (words, answer, command) => {
    const { stdout, stderr, url } = await speak(words, answer, { columns: 500 });
    const said = `${stdout}\n${stderr}`.replaceAll(/\u001B\[[\d;]*m/g, '');
    const next =
      command === 'rasket login' && words[0] === 'health' ? `${command} --url URL` : `${command} --url ${url}`;
    expect(said).toContain(next);
    // Text of untrusted senders stays as it is.
    if (words[0] === 'explain') expect(said).toContain(email.subject);
  });

  it.each([
    ['bouncd', 'bounced'],
    ['Delivered', 'delivered'],
    ['gone', undefined],
  ])('corrects %s when the refusal lists the allowed values', async (typed, meant) => {
    const says = `status must be one of queued, delivered, bounced and canceled; got "${typed}"`;
    const { stderr } = await speak(['emails', 'list', '--status', typed], () =>
      refused(422, 'invalid_parameter', says),
    );
    const next = meant === undefined ? '' : ` Did you mean ${meant}?`;
    expect(stderr).toBe(`rasket: --${says} (invalid_parameter).${next}\n`);
  });

  it('calls a parked event parked, whatever its state was', async () => {
    const event = {
      id: 'msg_1',
      type: 'email.sent',
      status: 'pending',
      attempt_count: 0,
      created_at: email.created_at,
    };
    const list = ok({ object: 'list', has_more: false, data: [event] });
    const { stdout } = await speak(['webhooks', 'parked', HOOK, '--fields', 'id,status'], list);
    expect(stdout).toBe('ID\tSTATUS\nmsg_1\tparked\n');
    const json = await speak(['webhooks', 'parked', HOOK, '--json'], list);
    expect(JSON.parse(json.stdout)).toMatchObject({ data: [{ status: 'pending' }] });
  });

  it('mentions that the key was typed, and not the key', async () => {
    const words = ['templates', 'create', 'T', '--html', 'x', '--api-key', 'rk_secret'];
    const { stderr, url } = await speak(words, ok({ id: ID }), { columns: 500 });
    expect(stderr).toContain(`rasket templates publish --url ${url} ${ID} (with the key of --api-key)`);
    expect(stderr).not.toContain('rk_secret');
  });
});
