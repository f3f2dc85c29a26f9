import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import type { Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const TEAM = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01';
const at = (seconds: number): string => `2026-11-20T09:30:0${seconds}.000Z`;
const about = { team_id: TEAM, team: 'my-team', from: 'Shop <shop@example.com>', size: 18_204 };
const hashed = { subject: null, subject_hash: '9f2c4a7be01d3358' };

const delivery = (given: object) => ({
  id: ID.replace(/77$/, '21'),
  email_id: ID,
  ...about,
  ...hashed,
  destination: 'mail.example.org',
  recipients: ['ada@example.org'],
  state: 'retrying',
  attempts: 2,
  since: at(0),
  until: at(9),
  hold_id: null,
  hold_reason: null,
  last_attempt: { at: at(1), outcome: 'deferred', reason: null, reply: '450 4.2.0 Greylisted', explanation: 'Later.' },
  ...given,
});
const page = (...data: object[]): Reply => ({ status: 200, body: { object: 'list', has_more: false, data } });

const story = {
  object: 'queued_email',
  id: ID,
  ...about,
  ...hashed,
  created_at: at(0),
  scheduled_at: null,
  to: ['ada@example.org'],
  cc: [],
  bcc: [],
  last_event: 'delivery_delayed',
  is_cut: false,
  events: [
    ...[at(1), at(0)].map((created_at, n) => ({
      id: `msg_019a9c1e7d527c3a9a540b8f4c1f2e0${n}`,
      type: n === 0 ? 'email.sent' : 'email.queued',
      created_at,
      data: null,
      explanation: null,
      advice: null,
    })),
  ],
  attempts: [
    {
      id: ID.replace(/77$/, '06'),
      created_at: at(2),
      attempt: 1,
      destination: 'example.org',
      mx: 'mx.example.org',
      address: '192.0.2.25',
      tls: null,
      duration_ms: 412,
      transcript: ['S: 220 mx.example.org'],
      recipients: [
        {
          email: 'ada@example.org',
          outcome: 'bounced',
          reason: 'refused',
          reply: '550 5.1.1 No such user',
          explanation: 'There is no such mailbox.',
          advice: null,
        },
      ],
    },
  ],
  pending: [],
};

it('rasket queue list shows team, sender, destination, size and subject in one line for each row', async () => {
  const rows = [delivery({}), delivery({ subject: 'Your invoice of November', subject_hash: null })];
  const { stdout } = await speak(['queue', 'list'], () => page(...rows), { columns: 120 });
  const [titles, first, second, ...more] = stripVTControlCharacters(stdout).trimEnd().split('\n');
  expect(titles).toMatch(/EMAIL +DEST.* +STATE +NEXT TRY +SIZE +TEAM +FROM +SUBJECT/);
  expect(first).toMatch(/mail\..* retrying .* 18K +my-team +Shop .*#9f2c/);
  expect(second).toMatch(/18K +my-team .*Your in/);
  expect(more).toEqual([]);
});

it('rasket queue list prints whole values in a pipe, and sizes in bytes for a program', async () => {
  const { stdout } = await speak(['queue', 'list', '--fields', 'team,from,size,subject,subject_hash'], () =>
    page(delivery({})),
  );
  expect(stdout).toContain('my-team\tShop <shop@example.com>\t18204\t#9f2c4a7be01d3358\t9f2c4a7be01d3358');
});

it('rasket queue explain tells the story without data that requires a key of the team', async () => {
  const asked: string[] = [];
  const { stdout, code } = await speak(['queue', 'explain', ID], ({ path }) => {
    asked.push(path);
    return { status: 200, body: story };
  });
  expect(code).toBe(0);
  expect(asked).toEqual([`/operator/queue/emails/${ID}`]);
  expect(stdout).toContain('(subject #9f2c4a7be01d3358)');
  expect(stdout).toContain('team my-team, 17.8 KiB');
  expect(stdout).toMatch(/Accepted, and queued\.[^]*Try 1 at mx\.example\.org[^]*bounced {2}ada@example\.org/);
  expect(stdout).toContain('Nothing further will happen.');
  expect(stdout).not.toMatch(/suppress|220 mx/);
  const spoken = await speak(['queue', 'explain', ID, '--transcript'], () => ({ status: 200, body: story }));
  expect(spoken.stdout).toContain('S: 220 mx.example.org');
});
