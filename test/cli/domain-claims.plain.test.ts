import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk, type Surroundings } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let server: Awaited<ReturnType<typeof startAnswering>> | undefined;
beforeEach(() => {
  desk = new Desk();
});
afterEach(async () => {
  server?.close();
  await desk.clear();
});

const DOMAIN = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01';
const TEXT = 'rasket-domain-verification=4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e';
const claim = (given: object = {}, record: object = {}) => ({
  object: 'domain_claim',
  id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
  name: 'example.com',
  status: 'pending',
  domain_id: DOMAIN,
  region: 'eu-west-1',
  record: {
    record: 'Claim',
    name: 'example.com',
    type: 'TXT',
    ttl: 'Auto',
    status: 'not_started',
    value: TEXT,
    diagnosis: null,
    ...record,
  },
  blocked_reason: null,
  failure_reason: null,
  created_at: '2026-11-20T09:30:00.000Z',
  expires_at: '2026-11-27T09:30:00.000Z',
  ...given,
});

async function answering(verified: object): Promise<Surroundings> {
  server = await startAnswering(({ path }: Asked): Reply => {
    if (path === '/domains/claim') return { status: 201, body: claim() };
    return { status: 200, body: verified };
  });
  return { env: { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test' } };
}

describe('rasket domains claim', () => {
  it('--help explains the next steps and what a claim waits for', async () => {
    const { stdout } = await desk.rasket(['domains', 'claim', '--help'], { env: {} });
    const help = stdout.replaceAll(/\s+/g, ' ');
    for (const said of ['claim-verify', 'within 72 hours', 'within 24 hours', 'domains configure']) {
      expect(help).toContain(said);
    }
  });

  it('prints the record to publish, whole and last', async () => {
    const around = await answering(claim());
    const { stdout, code } = await desk.rasket(['domains', 'claim', 'example.com'], around);
    expect(code).toBe(0);
    expect(stdout).toContain('example.com');
    expect(stdout.trimEnd().endsWith(TEXT)).toBe(true);
  });

  it('with --json prints only the response', async () => {
    const around = await answering(claim());
    const { stdout } = await desk.rasket(['domains', 'claim', 'example.com', '--json'], around);
    expect(JSON.parse(stdout)).toEqual(claim());
  });

  it('--wait exits with 0 when the domain belongs to the team', async () => {
    const around = await answering(claim({ status: 'completed' }, { status: 'verified' }));
    const { stdout, code } = await desk.rasket(['domains', 'claim', 'example.com', '--wait'], around);
    expect(code).toBe(0);
    expect(stdout).toContain('completed');
    expect(server?.asked.at(-1)?.path).toBe(`/domains/${DOMAIN}/claim/verify`);
  });

  it.each([
    { given: { blocked_reason: 'recent_owner_activity' }, says: 'sent from the domain within the last 24 hours' },
    { given: { blocked_reason: 'grace_period' }, says: 'less than 72 hours ago' },
    { given: { blocked_reason: 'pending_scheduled_emails' }, says: 'scheduled' },
    { given: { status: 'superseded', failure_reason: 'Another team was first.' }, says: 'Another team was first.' },
  ])('--wait exits with 1 and the reason: $says', async ({ given, says }) => {
    const around = await answering(claim(given));
    const { stdout, code } = await desk.rasket(['domains', 'claim', 'example.com', '--wait'], around);
    expect(code).toBe(1);
    expect(stdout).toContain(says);
  });

  it('--wait exits with 1 and the diagnosis when its time is over', async () => {
    const diagnosis = 'There is no TXT record at example.com yet; publish this one.';
    const around = await answering(claim({}, { status: 'pending', diagnosis }));
    const words = ['domains', 'claim', 'example.com', '--wait-minutes', '0'];
    const { stdout, stderr, code } = await desk.rasket(words, around);
    expect(code).toBe(1);
    expect(stdout).toContain(diagnosis);
    expect(stderr).toMatch(/rasket domains claim-status --url \S+ example\.com/);
  });
});

it('rasket domains claim-status and claim-verify print the response', async () => {
  const around = await answering(claim({ status: 'expired', failure_reason: 'Over.' }));
  for (const verb of ['claim-status', 'claim-verify']) {
    const { stdout, code } = await desk.rasket(['domains', verb, DOMAIN], around);
    expect(code).toBe(0);
    expect(stdout).toMatch(/expired[\s\S]*Over\./);
  }
});
