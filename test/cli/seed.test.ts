import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Desk, expectOneLine } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

interface Listed {
  data: { id: string; last_event: string }[];
}

describe('rasket seed', () => {
  it('fills a running development server with a month, once', async () => {
    const server = await desk.serve(['dev', '--data', 'try'], { env });
    const json = async <T>(...words: string[]): Promise<T> => {
      const ended = await desk.rasket([...words, '--data', 'try', '--json'], { env });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      return JSON.parse(ended.stdout) as T;
    };
    const made = await json<{ emails: number; contacts: number; received: number }>('seed');
    expect(made).toMatchObject({ contacts: 120, received: 5 });
    expect(made.emails).toBeGreaterThan(1500);

    // Each state that an email can end in.
    // One page to a line.
    const allEmails = async (): Promise<Listed['data']> => {
      const { stdout } = await desk.rasket(['emails', 'list', '--all', '--data', 'try', '--json'], { env });
      const pages = stdout.trimEnd().split('\n');
      return pages.flatMap((page) => (JSON.parse(page) as Listed).data);
    };
    const data = await allEmails();
    expect(data).toHaveLength(made.emails + 3);
    const ends = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'failed', 'suppressed', 'canceled'];
    expect([...new Set(data.map((email) => email.last_event))]).toEqual(expect.arrayContaining([...ends, 'scheduled']));
    const bounced = data.find((email) => email.last_event === 'bounced')?.id ?? '';
    const told = await desk.rasket(['explain', bounced, '--data', 'try'], { env });
    expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/55[02] 5\.[12]\.[12]/)]);

    const { totals } = await json<{ totals: { sent: number; bounced: number } }>(
      'metrics',
      '--metrics',
      'sent,bounced',
    );
    expect(totals.sent).toBeGreaterThan(totals.bounced);
    expect(totals.bounced).toBeGreaterThan(0);
    for (const family of ['suppressions', 'contacts', 'segments', 'topics', 'templates', 'webhooks', 'received']) {
      expect((await json<Listed>(family, 'list')).data.length, family).toBeGreaterThan(0);
    }
    expect((await json<Listed>('domains', 'list')).data).toHaveLength(3);

    expect(await json('seed')).toEqual({ emails: 0, contacts: 0, received: 0 });
    expect(await allEmails()).toHaveLength(data.length);
    await server.stop();
  });

  it('goes to no folder but that of a development server', async () => {
    const made = await desk.rasket(['init', '--data', 'real', '--json'], { env });
    expect(made).toMatchObject({ code: 0 });
    expectOneLine(await desk.rasket(['seed', '--data', 'real'], { env }), /is not a folder of the development profile/);
    expectOneLine(await desk.rasket(['seed', '--data', 'nowhere'], { env }), /rasket dev --data nowhere/);
  });
});
