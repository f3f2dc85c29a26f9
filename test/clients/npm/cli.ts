// Types every command of the official command line that calls the API. Commands of its maker's website, and of this machine, are left
// out: open, docs, careers, update, login and profiles; and those that listen until they are stopped.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FIXTURES, PACKAGES, report, type Answer, type Expected } from './report.ts';

const PROGRAM = path.join(PACKAGES, 'resend-cli/dist/cli.cjs');
const folder = mkdtempSync(path.join(tmpdir(), 'resend-cli-'));

function run(words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...words, '--json'], {
    cwd: folder,
    env: { ...process.env, HOME: folder, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(said))));
  });
}

/** Types one command; its name is that of the words before the first argument or option. */
async function type(command: string, words: readonly string[] = [], expected: Expected = {}): Promise<Answer> {
  return report(command, { file: 'resend-cli', ...expected }, () => run([...command.split(' '), ...words]));
}

function write(name: string, value: unknown): string {
  const file = path.join(folder, name);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
}

const ID = { reads: ['id'] };
const LIST = { reads: ['object', 'data.0.id', 'has_more'] };
const from = `Acme <me@${FIXTURES.domain}>`;
const head = ['--from', from, '--to', 'x@example.org', '--subject', 'Hello'];

const sent = await type(
  'emails send',
  [...head, '--html', '<p>It works.</p>', '--cc', 'c@example.org', '--headers', 'X-Order=7', '--tags', 'kind=receipt'],
  ID,
);
const withFile = await type(
  'emails send',
  [...head, '--text', 'It works.', '--attachment', write('file.txt', 'a file'), '--idempotency-key', 'receipt-1'],
  ID,
);
await type('emails send', [...head, '--text', 'Later', '--scheduled-at', 'in 1 hour'], {
  refused: 'scheduled_at of an email is an ISO 8601 time',
});
const scheduled = await type('emails send', [...head, '--text', 'Later', '--scheduled-at', FIXTURES.in_an_hour], ID);
await type('emails update', [scheduled.id, '--scheduled-at', FIXTURES.in_two_hours], ID);
await type('emails cancel', [scheduled.id], ID);
await type('emails get', [sent.id], { reads: ['id', 'from', 'to', 'subject', 'last_event', 'created_at'] });
await type('emails list', ['--limit', '2'], LIST);
await type('emails share', [sent.id, '--expires-in', '2 hours'], { reads: ['url'] });
await type('emails metrics', ['--metrics', 'received,delivered', '--dimensions', 'period']);
const files = await type('emails attachments', [withFile.id], LIST);
await type('emails attachment', [withFile.id, files.data[0].id], { reads: ['download_url'] });
const batch = [1, 2].map((n) => ({ from, to: ['x@example.org'], subject: `Batch ${n}`, text: 'It works.' }));
await type('emails batch', ['--file', write('batch.json', batch)], { reads: ['data.0.id'] });
await type('emails receiving list', ['--limit', '2'], LIST);
await type('emails receiving get', [FIXTURES.received], { reads: ['id', 'from', 'to', 'subject', 'text'] });
const arrived = await type('emails receiving attachments', [FIXTURES.received], LIST);
await type('emails receiving attachment', [FIXTURES.received, arrived.data[0].id], { reads: ['download_url'] });
await type(
  'emails receiving forward',
  [FIXTURES.received, '--to', 'x@example.org', '--from', `me@${FIXTURES.domain}`],
  ID,
);

const key = await type('api-keys create', ['--name', 'Sending', '--permission', 'sending_access'], {
  reads: ['id', 'token'],
});
await type('api-keys list', [], LIST);
await type('api-keys update', [key.id, '--name', 'Renamed']);
await type('api-keys delete', [key.id, '--yes']);

const domain = await type('domains create', ['--name', 'cli.example.com', '--region', 'us-east-1'], {
  reads: ['id', 'records'],
});
await type('domains get', [domain.id], { reads: ['id', 'name', 'status', 'records'] });
await type('domains list', [], LIST);
await type('domains update', [domain.id, '--open-tracking', '--tls', 'enforced'], ID);
await type('domains verify', [domain.id], ID);
await type('domains delete', [domain.id, '--yes'], { reads: ['id', 'deleted'] });
const claim = await type('domains claim create', ['--name', FIXTURES.claimable], {
  reads: ['id', 'domain_id', 'record'],
});
await type('domains claim get', [claim.domain_id], { reads: ['status'] });
await type('domains claim verify', [claim.domain_id], { reads: ['status'] });

const segment = await type('segments create', ['--name', 'Readers'], { reads: ['id', 'name'] });
await type('segments get', [segment.id], { reads: ['id', 'name'] });
await type('segments list', [], LIST);
await type('segments update', [segment.id, '--name', 'All readers']);
const property = await type(
  'contact-properties create',
  ['--key', 'plan', '--type', 'string', '--fallback-value', 'free'],
  ID,
);
await type('contact-properties get', [property.id], { reads: ['id', 'key', 'type', 'fallback_value'] });
await type('contact-properties list', [], LIST);
await type('contact-properties update', [property.id, '--fallback-value', 'basic'], ID);
const topic = await type('topics create', ['--name', 'News', '--default-subscription', 'opt_in'], ID);
await type('topics get', [topic.id], { reads: ['id', 'name', 'default_subscription'] });
await type('topics list', [], { reads: ['data.0.id', 'data.0.name'] });
await type('topics update', [topic.id, '--name', 'All news'], ID);

const contact = await type(
  'contacts create',
  ['--email', 'ada@example.org', '--first-name', 'Ada', '--properties', '{"plan":"pro"}', '--segment-id', segment.id],
  ID,
);
await type('contacts get', [contact.id], { reads: ['id', 'email', 'first_name', 'unsubscribed'] });
await type('contacts get', ['ada@example.org'], { reads: ['id', 'email'] });
await type('contacts list', ['--limit', '5'], { reads: ['data.0.id', 'data.0.email'] });
await type('contacts update', [contact.id, '--properties', '{"plan":"team"}'], ID);
await type('contacts update', ['ada@example.org', '--no-unsubscribed'], ID);
await type('contacts segments', [contact.id], LIST);
await type('contacts remove-segment', [contact.id, segment.id], { reads: ['deleted'] });
await type('contacts add-segment', ['ada@example.org', '--segment-id', segment.id]);
await type('segments contacts', [segment.id], LIST);
await type('contacts update-topics', [
  contact.id,
  '--topics',
  JSON.stringify([{ id: topic.id, subscription: 'opt_out' }]),
]);
await type('contacts topics', ['ada@example.org'], LIST);
const imported = await type(
  'contacts imports create',
  [
    '--file',
    write('contacts.csv', 'Email,Name\nsteve@example.org,Steve\n'),
    '--column-map',
    '{"email":"Email","firstName":"Name"}',
    '--on-conflict',
    'upsert',
    '--segment-id',
    segment.id,
  ],
  ID,
);
await type('contacts imports get', [imported.id], { reads: ['id', 'status', 'counts'] });
await type('contacts imports list', [], LIST);

const draft = [
  '--from',
  from,
  '--subject',
  'Hello',
  '--segment-id',
  segment.id,
  '--html',
  '<p>Hello</p>',
  '--name',
  'First',
];
const first = await type('broadcasts create', draft, ID);
await type('broadcasts update', [first.id, '--name', 'Renamed'], ID);
await type('broadcasts get', [first.id], { reads: ['id', 'name', 'status', 'subject'] });
await type('broadcasts list', [], LIST);
const copy = await type('broadcasts duplicate', [first.id], ID);
await type('broadcasts send', [first.id, '--scheduled-at', 'in 2 hours'], ID);
await type('broadcasts cancel', [first.id], ID);
await type('broadcasts send', [copy.id], ID);
await type('broadcasts recipients', [copy.id, '--type', 'sent'], { reads: ['data'] });
await type('broadcasts clicked-links', [copy.id], { reads: ['data'] });
const third = await type('broadcasts create', draft, ID);
await type('broadcasts delete', [third.id, '--yes'], { reads: ['deleted'] });

const template = await type(
  'templates create',
  [
    '--name',
    'welcome',
    '--subject',
    'Welcome',
    '--html',
    '<p>{{{NAME}}}</p>',
    '--from',
    from,
    '--var',
    'NAME:string:user',
  ],
  ID,
);
await type('templates publish', [template.id], ID);
await type('templates get', [template.id], { reads: ['id', 'name', 'html', 'variables'] });
await type('templates list', [], LIST);
await type('templates update', [template.id, '--name', 'renamed'], ID);
const twin = await type('templates duplicate', [template.id], ID);
await type('emails send', ['--template', template.id, '--to', 'x@example.org', '--var', 'NAME=Ada'], ID);
await type('templates delete', [twin.id, '--yes'], { reads: ['deleted'] });

const event = await type('events create', ['--name', 'user.created', '--schema', '{"plan":"string"}'], ID);
await type('events get', ['user.created'], { reads: ['id', 'name', 'schema'] });
await type('events list', [], LIST);
await type('events update', [event.id, '--schema', '{"plan":"string","source":"string"}'], ID);
const graph = {
  name: 'Welcome',
  status: 'enabled',
  steps: [
    { key: 'start', type: 'trigger', config: { eventName: 'user.created' } },
    { key: 'wait', type: 'delay', config: { duration: '30 minutes' } },
  ],
  connections: [{ from: 'start', to: 'wait' }],
};
const automation = await type('automations create', ['--file', write('automation.json', graph)], ID);
await type('events send', ['--event', 'user.created', '--contact-id', contact.id, '--payload', '{"plan":"pro"}'], {
  reads: ['event'],
});
await type('events send', ['--event', 'user.created', '--email', 'ada@example.org'], { reads: ['event'] });
await type('automations get', [automation.id], { reads: ['id', 'name', 'status', 'steps'] });
await type('automations list', [], LIST);
const runs = await type('automations runs list', [automation.id, '--status', 'running'], LIST);
await type('automations runs get', ['--automation-id', automation.id, '--run-id', runs.data[0].id], {
  reads: ['status', 'steps'],
});
const second = await type('automations duplicate', [automation.id], ID);
await type('automations update', [automation.id, '--status', 'disabled'], ID);
await type('automations stop', [automation.id], { reads: ['id', 'status'] });
await type('automations delete', [second.id, '--yes'], { reads: ['deleted'] });
await type('automations delete', [automation.id, '--yes'], { reads: ['deleted'] });
await type('events delete', [event.id, '--yes'], { reads: ['deleted'] });

await type('suppressions add', ['blocked@example.org'], ID);
await type('suppressions get', ['blocked@example.org'], { reads: ['id', 'email', 'origin'] });
await type('suppressions list', ['--origin', 'manual'], LIST);
const addresses = write('addresses.json', ['one@example.org', 'two@example.org']);
await type('suppressions batch add', ['--file', addresses], { reads: ['data.0.id'] });
await type('suppressions batch remove', ['--file', addresses], { reads: ['data.0.id'] });
await type('suppressions delete', ['blocked@example.org', '--yes'], { reads: ['deleted'] });

const hook = await type(
  'webhooks create',
  ['--endpoint', FIXTURES.endpoint, '--events', 'email.sent', 'email.bounced'],
  {
    reads: ['id', 'signing_secret'],
  },
);
await type('webhooks get', [hook.id], { reads: ['id', 'endpoint', 'events', 'status'] });
await type('webhooks list', [], LIST);
await type('webhooks update', [hook.id, '--events', 'email.sent', '--status', 'enabled'], ID);
await type('webhooks rotate-signing-secret', [hook.id], { reads: ['signing_secret'] });
await type('webhooks delete', [hook.id, '--yes'], { reads: ['deleted'] });
const deliveries = await type('webhooks events list', [FIXTURES.hook], { reads: ['data.0.id'] });
const delivered = [FIXTURES.hook, deliveries.data[0].id as string];
await type('webhooks events get', delivered, { reads: ['id'] });
await type('webhooks events attempts', delivered, { reads: ['data'] });
await type('webhooks events replay', delivered);

const logs = await type('logs list', ['--limit', '5'], LIST);
await type('logs get', [logs.data[0].id], { reads: ['id', 'endpoint', 'method', 'response_status'] });
const grants = await type('oauth-grants list', [], LIST);
await type('oauth-grants revoke', [grants.data[0].id, '--yes'], ID);
await type('doctor');
await type('whoami');

await type('contacts delete', [contact.id, '--yes'], { reads: ['contact', 'deleted'] });
await type('contact-properties delete', [property.id, '--yes'], { reads: ['deleted'] });
await type('topics delete', [topic.id, '--yes'], { reads: ['deleted'] });
await type('segments delete', [segment.id, '--yes'], { reads: ['deleted'] });
rmSync(folder, { recursive: true, force: true });
