// Commands as people type them who come from Postfix, gh, kubectl or mox: each does what they mean, under whatever name.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Desk, type Ended } from './desk.ts';

const desk = new Desk();
let env: Record<string, string>;
beforeAll(async () => {
  env = { ...(await desk.database()), RASKET_DATA: desk.at('dev'), RASKET_WEBHOOKS_CHECK_CONNECTION: 'false' };
  await desk.serve(['dev', '--data', 'dev'], { env });
  for (const line of [
    'domains create mail.example.org',
    'send --from you@playground.test --to someone@example.com --subject receipt --text Hi --wait',
    'webhooks create http://localhost:4000/hooks --events all',
    'webhooks update http://localhost:4000/hooks --status disabled',
    'suppressions add old@example.org',
  ])
    await done(line);
});
afterAll(() => desk.clear());

const run = (line: string): Promise<Ended> => desk.type(`rasket ${line}`, { env });

async function done(line: string): Promise<string> {
  const ended = await run(line);
  expect(ended, `${line}\n${ended.stdout}${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

/** What is typed, and a piece of what has to be printed; the numbers are those of a list that testers typed. */
const THIRTY: readonly (readonly [number: number, typed: string, printed: RegExp])[] = [
  [1, 'status', /^Version /],
  [2, 'version', /^\d+\.\d+/],
  [3, 'help domains', /^Usage: rasket domains /],
  [4, 'domain list', /\tmail\.example\.org\t/],
  [5, 'domains ls', /\tmail\.example\.org\t/],
  [6, 'domains add other.example.org', /\tother\.example\.org|_domainkey/],
  [7, 'dns mail.example.org', /^_dmarc\.mail\.example\.org\. 300 IN TXT /m],
  [8, 'domains dns mail.example.org', /^_dmarc\.mail\.example\.org\. 300 IN TXT /m],
  [9, 'domains check mail.example.org', /verified/],
  [10, 'mailq', /The queue is empty\./],
  [11, 'queue flush', /^0 deliveries due now\./],
  [12, 'queue ls', /^EMAIL\tDESTINATION\t/],
  [14, 'logs --since 1h', /\tPOST\t\/emails/],
  [15, 'emails --failed', /^ID\tCREATED\tSTATE/],
  [16, 'emails list --to someone@example.com', /\treceipt$/m],
  [17, 'emails get latest', /^Subject +receipt$/m],
  [18, 'email show latest', /^Subject +receipt$/m],
  [19, 'emails search receipt', /\treceipt$/m],
  [20, 'trace latest', /delivered|captured/i],
  [21, 'suppressions add new@example.org', /^sup_/],
  [22, 'suppressions rm new@example.org', /^sup_/],
  [23, 'keys create ci', /\trk_/],
  [24, 'api-keys list', /\tci\t/],
  [25, 'webhooks test http://localhost:4000/hooks', /./],
  [26, 'webhooks list --status disabled', /localhost:4000/],
  [27, 'webhooks replay --failed --yes', /^/],
  [28, 'users list', /^ADDRESS\t|^ID\t/],
  [29, 'teams list', /^ID\tSLUG/],
  [30, 'sending', /^Sending is on\./],
];

describe('a command typed from habit', () => {
  it.each(THIRTY)('number %i works: rasket %s', async (number, typed, printed) => {
    if (number === 25) await done('webhooks update http://localhost:4000/hooks --status enabled');
    expect(await done(typed)).toMatch(printed);
    if (number === 25) await done('webhooks update http://localhost:4000/hooks --status disabled');
  });

  it('follows the request logs with -f, as logs tail does', async () => {
    const tail = desk.start(desk.at('path/rasket'), ['logs', '-f', '--lines', '1', '--json'], { env });
    await vi.waitFor(() => expect(tail.stdout).toMatch(/"endpoint":/));
    tail.kill('SIGINT');
    expect((await tail.ended).code).toBe(0);
  });
});

/** Each prints the same as the command it stands for, also as JSON. */
const SAME: readonly (readonly [typed: string, meant: string])[] = [
  ['domain describe mail.example.org', 'domains get mail.example.org'],
  ['email search receipt --limit 1', 'emails list --search receipt --limit 1'],
  ['emails search no such words', "emails list --search 'no such words'"],
  ['why latest', 'explain latest'],
  ['stats --start-date 2026-11-01 --end-date 2026-11-02', 'metrics --start-date 2026-11-01 --end-date 2026-11-02'],
  ['plans', 'teams plans'],
  ['webhook ls', 'webhooks list'],
  ['key list', 'keys list'],
  ['suppression list', 'suppressions list'],
];

describe('a synonym', () => {
  it.each(SAME)('prints what the command prints: rasket %s', async (typed, meant) => {
    for (const more of ['', ' --json']) {
      const synonym = await run(typed + more);
      const command = await run(meant + more);
      expect(synonym).toEqual(command);
      expect(synonym.code).toBe(0);
    }
  });

  it('is not named in errors and advice, which have the command', async () => {
    expect((await run('email shwo latest')).stderr).toMatch(/unknown command 'shwo'\n.*rasket emails has: /s);
    expect((await run('trace')).stderr).toContain('rasket emails list');
    expect((await run('queue hold example.com')).stderr).toMatch(
      /required option '--reason <text>'.*rasket queue hold --help/s,
    );
    expect((await run('domain rm mail.example.org')).stderr).toContain('rasket domains delete mail.example.org');
    expect((await run('config get http.prot')).stderr).toContain('rasket config show');
  });

  it('is not listed by help', async () => {
    const help = await done('help --all');
    expect(help).not.toMatch(/mailq|flush|unsuppress/);
    expect(await done('mailq --help')).toMatch(/^Usage: rasket queue /);
    expect(await done('help mailq')).toMatch(/^Usage: rasket queue /);
  });
});

describe('a word that is no command', () => {
  it.each([
    ['test', 'rasket relays test NAME'],
    ['export', 'rasket contacts export'],
    ['pause', 'rasket sending off'],
    ['stop', 'systemctl stop rasket'],
    ['reload', 'systemctl restart rasket'],
    ['mialq', '(Did you mean queue?)'],
    ['emials', '(Did you mean emails?)'],
  ])('leads to the right command: rasket %s', async (typed, advice) => {
    const { code, stderr } = await run(typed);
    expect([code, stderr]).toEqual([64, expect.stringContaining(advice)]);
  });

  it('gets no suggestion when nothing is near', async () => {
    const { code, stderr } = await run('quarantine');
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: "rasket: unknown command 'quarantine'\nList them with: rasket help --all\n",
    });
  });
});

describe('rasket without a command', () => {
  it('fits one screen, and exits as a usage error; help prints the same, and --all everything', async () => {
    const { code, stdout, stderr } = await run('');
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    const lines = stderr.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(await done('help')).toBe(stderr);
    expect(await done('help --all')).toBe(await done('--help'));
    for (const [, command = ''] of stderr.matchAll(/^ {2}rasket ([a-z]+(?: [a-z]+)?) /gm))
      expect(await done(`${command} --help`), command).toContain('Usage: rasket ');
  });
});

describe('other words that testers typed', () => {
  it.each([
    ['config get http.port', /^\[http\]\nport = \d+/],
    ['config get delivery', /^\[delivery\]\n/],
    ['metrics --since 7d', /delivered/],
    ['user list', /^ID\t|^ADDRESS/],
    ['unsuppress old@example.org', /./],
    ['domain list --yes', /mail\.example\.org/],
    ['top --json', /^/],
  ])('rasket %s', async (typed, printed) => {
    const { code, stdout, stderr } = await run(typed);
    if (typed.startsWith('top')) expect(stderr).toContain('the console has no JSON output.');
    else expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(printed) });
  });
});
