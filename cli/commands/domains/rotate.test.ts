import { describe, expect, it } from 'vitest';
import type { DomainObject, DomainRecord } from '../../../src/contract/index.ts';
import { ApiFault, type Client } from '../../client/index.ts';
import type { Terminal } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { rotateDkim, type Pace, type RotateOptions } from './rotate.ts';

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';

const key = (selector: string, given: Partial<DomainRecord>): DomainRecord => ({
  record: 'DKIM',
  name: `${selector}._domainkey.example.com`,
  type: 'TXT',
  ttl: 'Auto',
  status: 'not_started',
  value: 'v=DKIM1; k=rsa; p=AAAA',
  required: true,
  ...given,
});
const domainWith = (...records: DomainRecord[]): DomainObject =>
  ({ id: ID, name: 'example.com', status: 'verified', records }) as unknown as DomainObject;
const waiting = (status: DomainRecord['status']) =>
  domainWith(key('old', { status: 'verified', key_status: 'active' }), key('new', { status, key_status: 'incoming' }));
const turned = domainWith(
  key('new', { status: 'verified', key_status: 'active' }),
  key('old', { status: 'verified', key_status: 'retiring' }),
);

/** Runs the command against a server that shows `looks` one after the other, the last one for ever. */
async function run(looks: DomainObject[], given: Partial<RotateOptions> = {}, refusals: ApiFault[] = []) {
  const calls: string[] = [];
  const [printed, lines, notices]: [string[], string[], string[]] = [[], [], []];
  let now = 0;
  let failed = false;
  let isWaited = 0;
  const left = [...looks];
  const client = {
    async call(operation: string) {
      calls.push(operation);
      if (operation === 'rotateDkim') return waiting('not_started');
      if (operation !== 'verifyDomain') return left.length > 1 ? left.shift() : left[0];
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      return { object: 'domain', id: ID };
    },
  } as unknown as Client;
  const terminal = {
    isTty: false,
    columns: 200,
    print: (text: string) => printed.push(text),
    printJson: (value: unknown) => printed.push(JSON.stringify(value)),
    hint: () => undefined,
    printText: (text: string) => printed.push(text),
    progress: (text: string) => lines.push(text),
    notice: (text: string) => notices.push(text),
    paint: (_: string, text: string) => text,
  } as unknown as Terminal;
  const pace: Pace = {
    now: () => now,
    async sleep(ms) {
      now += ms;
      isWaited += ms;
    },
  };
  const session = { client, terminal, isJson: false, fail: () => void (failed = true) } as unknown as Session;
  await rotateDkim(session, ID, { wait: true, waitMinutes: 60, ...given }, pace);
  return { calls, printed, lines, notices, failed, waitedMs: isWaited };
}

describe('rasket domains rotate', () => {
  it('shows the new record, shows a line of progress until DNS has it, and asks for the switch', async () => {
    const ran = await run([waiting('pending'), waiting('pending'), waiting('verified'), turned]);
    expect(ran.calls).toEqual(['rotateDkim', 'getDomain', 'getDomain', 'getDomain', 'verifyDomain', 'getDomain']);
    expect(ran.printed[0]).toContain('new._domainkey.example.com');
    expect(ran.printed[0]).not.toContain('old._domainkey');
    expect(ran.printed.at(-1)).toBe('Rotated  example.com signs with new now');
    expect([ran.failed, ran.waitedMs]).toEqual([false, 30_000]);
    expect(ran.lines).toContain('Waiting for new._domainkey.example.com (pending)  0 min of 60');
    expect(ran.lines.at(-1)).toBe('');
  });

  it('reports on standard error what it waits for, at the start and every minute', async () => {
    const ran = await run([...Array.from({ length: 9 }, () => waiting('pending')), waiting('verified'), turned]);
    expect(ran.notices).toEqual([
      'Waiting up to 60 minutes for new._domainkey.example.com to be published. --no-wait exits at once.',
      'Still waiting for new._domainkey.example.com (pending): 1 of 60 minutes.',
      'Still waiting for new._domainkey.example.com (pending): 2 of 60 minutes.',
    ]);
  });

  it('does not ask for a switch that the periodic check has made already', async () => {
    expect((await run([waiting('pending'), turned])).calls).toEqual(['rotateDkim', 'getDomain', 'getDomain']);
  });

  it('waits out the limit of one check a minute', async () => {
    const refusal = new ApiFault({
      status: 429,
      body: { statusCode: 429, name: 'rate_limit_exceeded', message: '' },
      operation: 'verifyDomain',
      requestId: '',
      retryAfterSeconds: 45,
    });
    const ran = await run([waiting('verified'), turned], {}, [refusal]);
    expect([ran.waitedMs, ran.failed]).toEqual([45_000, false]);
    expect(ran.calls.filter((call) => call === 'verifyDomain')).toHaveLength(2);
  });

  it('gives up after the minutes of its option, and says that the old key still signs', async () => {
    const ran = await run([waiting('pending')], { waitMinutes: 1 });
    expect([ran.failed, ran.waitedMs]).toEqual([true, 60_000]);
    expect(ran.printed.at(-1)).toContain('The old key keeps signing');
  });

  it('with --no-wait leaves the switch to the server', async () => {
    const ran = await run([turned], { wait: false });
    expect([ran.calls, ran.waitedMs]).toEqual([['rotateDkim'], 0]);
  });
});
