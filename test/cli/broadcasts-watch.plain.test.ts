import { expect, it } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e50';

/** Answers with one state of the broadcast after the other; the last one stays. */
function inTurn(...looks: object[]): (asked: Asked) => Reply {
  let look = 0;
  return ({ method }) => {
    if (method === 'POST') return { status: 200, body: { id: ID } };
    const seen = looks[Math.min(look++, looks.length - 1)];
    return {
      status: 200,
      body: {
        id: ID,
        recipients: 0,
        excluded: 0,
        total: null,
        held: null,
        paused: null,
        failed_reason: null,
        next_at: null,
        ...seen,
      },
    };
  };
}

const PAUSED = { since: '2026-11-20T09:30:00.000Z', by: { kind: 'user', name: 'Ada' } };
const watch = (...looks: object[]) => speak(['broadcasts', 'send', ID, '--watch'], inTurn(...looks));

it('rasket broadcasts send --watch follows a broadcast until all its emails are created', async () => {
  const { code, stdout, asked } = await watch(
    { status: 'queued' },
    { status: 'sending', recipients: 500, excluded: 3, total: 900 },
    { status: 'sent', recipients: 895, excluded: 5, total: 900 },
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'sent  900 of 900: 895 emails, 5 excluded\n' });
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST /broadcasts/${ID}/send`,
    ...Array<string>(3).fill(`GET /broadcasts/${ID}`),
  ]);
});

it('rasket broadcasts send --watch ends at once for a scheduled broadcast', async () => {
  const { code, stdout } = await watch({ status: 'scheduled' });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'scheduled  0: 0 emails, 0 excluded\n' });
});

it('rasket broadcasts send --watch ends when the next contacts are due later', async () => {
  const look = { status: 'sending', recipients: 3, total: 9, waiting_reason: 'local_hour' };
  const { code, stdout, stderr } = await watch({ ...look, next_at: '2126-11-20T09:30:00.000Z' });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'sending  3 of 9: 3 emails, 0 excluded\n' });
  expect(stderr).toContain('Sending continues at 2126-11-20T09:30:00.000Z: contacts get it at their local hour.');
});

it.each([
  [{ status: 'sending', held: { reason: 'too many bounces', since: '2026-11-20T09:30:00.000Z' } }, 'too many bounces'],
  [{ status: 'sending', paused: PAUSED }, 'Paused since 2026-11-20T09:30:00.000Z by Ada.'],
  [{ status: 'failed', failed_reason: 'its domain is gone' }, 'its domain is gone'],
  [{ status: 'canceled' }, ''],
])('rasket broadcasts send --watch fails for a stopped broadcast: %j', async (look, said) => {
  const { code, stderr } = await watch(look);
  expect(code).not.toBe(0);
  expect(stderr).toContain(said);
});

it('rasket broadcasts resume --watch follows the broadcast, and fails for one that is paused again', async () => {
  const looks = [
    { status: 'sending', recipients: 500, total: 900 },
    { status: 'sent', recipients: 900, total: 900 },
  ];
  const resumed = await speak(['broadcasts', 'resume', ID, '--watch'], inTurn(...looks));
  expect(resumed).toMatchObject({ code: 0, stdout: 'sent  900 of 900: 900 emails, 0 excluded\n' });
  expect(resumed.asked[0]).toMatchObject({ method: 'POST', path: `/broadcasts/${ID}/resume` });
  const again = await speak(['broadcasts', 'resume', ID, '--watch'], inTurn({ status: 'sending', paused: PAUSED }));
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain('Paused since');
});

it('rasket broadcasts resume reports a hold that remains after a pause', async () => {
  const held = { reason: 'bounces', since: '2026-11-20T09:30:00.000Z', detail: '9 of 90 emails bounced (10 %)' };
  const { code, stdout, stderr } = await speak(['broadcasts', 'resume', ID], () => ({
    status: 200,
    body: { object: 'broadcast', id: ID, held },
  }));
  expect(code).toBe(0);
  expect(stdout + stderr).toContain('It is still on hold: bounces, 9 of 90 emails bounced (10 %).');
});

it('rasket broadcasts send --watch --json prints the final broadcast', async () => {
  const { stdout } = await speak(['broadcasts', 'send', ID, '--watch', '--json'], inTurn({ status: 'sent', total: 0 }));
  expect(JSON.parse(stdout)).toMatchObject({ id: ID, status: 'sent' });
});
