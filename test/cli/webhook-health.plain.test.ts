import { describe, expect, it } from 'vitest';
import { speak } from './spoken.ts';

const ID = 'wh_019a9c1e7d527c3a9a540b8f4c1f2e01';
const endpoint = (health: object) => ({
  object: 'webhook',
  id: ID,
  endpoint: 'https://example.com/hooks',
  events: ['email.sent'],
  status: 'enabled',
  signing_secret: 'whsec_****abcd',
  created_at: '2026-11-20T09:00:00.000Z',
  last_error: null,
  events_parked: 0,
  last_attempt_at: '2026-11-20T10:30:00.000Z',
  last_http_status: 200,
  failing_since: null,
  events_waiting: 0,
  ...health,
});
const well = endpoint({});
const failing = endpoint({
  last_http_status: 500,
  failing_since: '2026-11-20T09:30:00.000Z',
  events_waiting: 1000,
});
const silent = endpoint({
  last_http_status: null,
  last_error: 'It cannot be\u001B[2J reached.',
  failing_since: '2026-11-20T09:30:00.000Z',
});

describe('an enabled endpoint that answers with 500', () => {
  it('is shown as failing in the list, with its last response, the time and the number of waiting events', async () => {
    const body = { object: 'list', has_more: false, data: [well, failing, silent] };
    const { stdout } = await speak(['webhooks', 'list'], () => ({ status: 200, body }));
    const [titles = '', ...rows] = stdout.trim().split('\n');
    const of = (row: string | undefined, title: string) => row?.split('\t')[titles.split('\t').indexOf(title)];
    expect(rows.map((row) => ['STATUS', 'ANSWER', 'FAILING SINCE', 'WAIT'].map((title) => of(row, title)))).toEqual([
      ['enabled', '200', '', '0'],
      ['enabled', '500', '2026-11-20T09:30:00.000Z', '1000'],
      ['enabled', expect.stringMatching(/^It cannot be.*reached\.$/), '2026-11-20T09:30:00.000Z', '0'],
    ]);
    expect(stdout).not.toContain('\u001B');
    const seen = await speak(['webhooks', 'list'], () => ({ status: 200, body }), { columns: 200 });
    expect(seen.stdout).toMatch(/enabled, failing.* 500 .*1000 or more/);
  });

  it('is shown with a suggestion for the next step', async () => {
    const { stdout, stderr, url } = await speak(['webhooks', 'get', ID], () => ({ status: 200, body: failing }), {
      columns: 200,
    });
    const shown = `${stdout}\n${stderr}`.replaceAll(/\u001B\[[\d;]*m/g, '');
    expect(shown).toMatch(/Status +enabled, failing/);
    expect(shown).toMatch(/Answer +500/);
    expect(shown).toMatch(/Failing since +2026-11-20/);
    expect(shown).toMatch(/Wait +1000 or more/);
    expect(shown).toContain(`rasket webhooks events --url ${url} ${ID} --status attempting`);
  });

  it('has no suggestion while it works', async () => {
    const { stderr } = await speak(['webhooks', 'get', ID], () => ({ status: 200, body: well }), { columns: 200 });
    expect(stderr).not.toContain('rasket webhooks events');
  });
});
