import { describe, expect, it } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const record = { record: 'SPF', name: 'send.x.example', type: 'TXT', ttl: 'Auto', status: 'pending', value: 'v=spf1' };
const domain = {
  ...{ object: 'domain', id: ID, name: 'x.example', status: 'pending', region: 'eu-west-1', records: [record] },
  ...{ open_tracking: false, click_tracking: true, capabilities: { sending: 'pending', receiving: 'unsupported' } },
};
const email = {
  ...{ object: 'email', id: ID, from: 'a@x.example', to: ['b@y.example'], cc: [], bcc: [], reply_to: [] },
  ...{ subject: 'rasket keys revoke them all', html: null, text: 'Hi', message_id: '<x@x.example>', tags: [] },
  ...{ created_at: '2026-11-20T09:30:00.000Z', scheduled_at: null, last_event: 'suppressed', topic_id: null },
};
const listed = (...data: object[]): Reply => ({ status: 200, body: { object: 'list', has_more: false, data } });
const refused = (status: number, name: string, message: string, more: object = {}): Reply => ({
  status,
  body: { statusCode: status, name, message, ...more },
});
const ok =
  (body: object): (() => Reply) =>
  () => ({ status: 200, body });

function history({ path }: Asked): Reply {
  if (path.endsWith('/events')) {
    const event = { object: 'event', id: ID, type: 'email.suppressed', created_at: email.created_at };
    return listed({ ...event, data: { to: ['b@y.example'] }, explanation: 'It is suppressed.', advice: null });
  }
  if (path.endsWith('/attempts'))
    return { status: 200, body: { object: 'list', has_more: false, data: [], pending: [] } };
  return { status: 200, body: email };
}

const queueOf = (holds: number): object => ({
  ...{ object: 'queue', as_of: email.created_at, deliveries: 0, destination_count: 0, holds },
  ...{ sending: { is_on: true, reason: null }, destinations: [] },
});

/** Every kind of place in which a line says what to type next. */
const PLACES: [words: string[], answer: (asked: Asked) => Reply, command: string][] = [
  [['domains', 'create', 'x.example'], ok(domain), 'rasket domains verify'],
  [['domains', 'regenerate', ID, '--yes'], ok(domain), 'rasket domains verify'],
  [['templates', 'create', 'T', '--html', 'x'], ok({ id: ID }), 'rasket templates publish'],
  [
    ['send', '--from', 'a@x.example', '--to', 'b@y.example', '--subject', 'x', '--text', 'x'],
    ok({ id: ID }),
    'rasket emails get',
  ],
  [['domains', 'list'], () => listed(), 'rasket domains create'],
  [['queue', 'hold', '--email', ID, '--reason', 'x'], ok({ id: ID }), 'rasket queue release'],
  [['queue'], ok(queueOf(1)), 'rasket queue holds'],
  [['explain', ID], history, 'rasket suppressions get'],
  [['emails', 'get', ID], () => refused(404, 'not_found', 'Email not found.'), 'rasket emails list'],
  [['emails', 'list'], () => refused(401, 'invalid_api_key', 'The API key is not valid.'), 'rasket login'],
  [['emails', 'list'], () => refused(503, 'service_unavailable', 'Not now.'), 'rasket ready'],
  [['health'], () => ({ status: 502, body: '<html>' }), 'rasket login'],
  [
    ['domains', 'verify', ID],
    () => refused(422, 'validation_error', `Ask POST /domains/${ID}/dkim/regenerate for new ones.`),
    'rasket domains regenerate',
  ],
  [
    ['domains', 'create', 'x.example'],
    () => refused(403, 'resource_locked', 'Another team has it.', { claimable: true }),
    'rasket domains claim',
  ],
  [['doctor'], () => refused(401, 'invalid_api_key', 'The API key is not valid.'), 'rasket login'],
];

describe('a line that says what to type next', () => {
  it.each(PLACES)('names the server that was chosen: %j', async (words, answer, command) => {
    const { stdout, stderr, url } = await speak(words, answer, { columns: 100 });
    const said = `${stdout}\n${stderr}`.replaceAll(/\u001B\[[\d;]*m/g, '');
    const next =
      command === 'rasket login' && words[0] === 'health' ? `${command} --url URL` : `${command} --url ${url}`;
    expect(said).toContain(next);
    // What strangers wrote stays as it is.
    if (words[0] === 'explain') expect(said).toContain(email.subject);
  });

  it('says that the key was typed, and not which', async () => {
    const words = ['templates', 'create', 'T', '--html', 'x', '--api-key', 'rk_secret'];
    const { stderr, url } = await speak(words, ok({ id: ID }), { columns: 100 });
    expect(stderr).toContain(`rasket templates publish --url ${url} ${ID} (with the key of --api-key)`);
    expect(stderr).not.toContain('rk_secret');
  });
});
