import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Desk, expectOneLine } from './desk.ts';
import { NEEDS_PROCESS } from './in-process.ts';

// A dozen processes one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 240_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

async function typed(words: string[]): Promise<string> {
  const ended = await desk.rasket(words, { env });
  expect(ended, `${words.join(' ')}\n${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

interface Entry {
  action: string;
  team_id: string | null;
  subject_id: string | null;
  actor: { kind: string; name: string | null };
  details: Record<string, unknown> | null;
}

it('an operator is created, reads and changes the queue, reads the audit log of typed commands, and is revoked', async () => {
  const data = ['--data', 'data'];
  const made = JSON.parse(await typed(['init', ...data, '--json'])) as { api_key: string; team_id: string };
  const { id, token } = JSON.parse(await typed(['operators', 'create', 'Ada', ...data, '--json'])) as {
    id: string;
    token: string;
  };
  expect(token).toMatch(/^rkop_/);
  expect(await typed(['operators', 'create', 'Bob', ...data])).toContain('is shown only once');
  await typed(['teams', 'suspend', 'my-team', ...data]);
  await typed(['teams', 'resume', 'my-team', ...data]);
  await typed(['sending', 'off', '--reason', 'Moving', ...data]);
  await typed(['sending', 'on', ...data]);
  await typed(['sweep', ...data]);
  await typed(['sweep', '--yes', ...data]);

  const server = await desk.serve(['serve', ...data], { env });
  const there = ['--url', server.url, '--api-key', token];
  expect(await typed(['queue', ...there])).toContain('The queue is empty.');
  const hold = ['queue', 'hold', '--destination', 'example.org', '--reason', 'Their move'];
  const held = (await typed([...hold, ...there])).trim();
  expect(await typed(['queue', 'holds', ...there])).toContain('example.org');
  expect(await typed(['queue', 'release', held, ...there])).toContain('Released; 0 deliveries due now.');
  expect(await typed(['queue', 'retry', '--destination', 'example.org', ...there])).toContain('0 deliveries due now.');
  expect(await typed(['queue', 'drop', '--team', made.team_id, '--reason', 'x', '--yes', ...there])).toBe(
    '0 dropped.\n',
  );
  const unsure = await desk.rasket(['queue', 'drop', '--team', made.team_id, '--reason', 'x y', ...there], { env });
  expect(unsure).toMatchObject({ code: 64, stderr: expect.stringContaining("--reason 'x y' --yes") });

  const { data: all } = JSON.parse(await typed(['audit', 'all', '--json', ...there])) as { data: Entry[] };
  expect(all.map(({ action }) => action).reverse()).toEqual([
    'team.created',
    'operator.created',
    'operator.created',
    'team.suspended',
    'team.resumed',
    'sending.switched_off',
    'sending.switched_on',
    'storage.swept',
    'queue.held',
    'queue.released',
  ]);
  const named = new Map(all.map((entry) => [entry.action, entry]));
  expect(named.get('team.suspended')).toMatchObject({
    team_id: made.team_id,
    subject_id: made.team_id,
    details: { riskState: 'suspended' },
    actor: { kind: 'command', id: null, name: expect.stringMatching(/./) },
  });
  expect(named.get('sending.switched_off')).toMatchObject({ team_id: null, details: { reason: 'Moving' } });
  expect(named.get('queue.held')).toMatchObject({ subject_id: held, actor: { kind: 'operator', id, name: 'Ada' } });
  const own = JSON.parse(await typed(['audit', '--json', '--url', server.url, '--api-key', made.api_key])) as {
    data: Entry[];
  };
  expect(own.data.map(({ action }) => action)).toEqual(['team.resumed', 'team.suspended', 'team.created']);

  await typed(['operators', 'revoke', 'Ada', ...data]);
  expectOneLine(await desk.rasket(['queue', ...there], { env }), /has been revoked/);
  expect(await typed(['operators', 'list', ...data])).toMatch(/\tAda\trevoked\t[^]*\tBob\tactive\t/);
  const gone = /called "Ada" not found\. List them with: rasket operators list --data /;
  expectOneLine(await desk.rasket(['operators', 'revoke', 'Ada', ...data], { env }), gone, 66);
  expect(await server.stop()).toMatchObject({ code: 0 });
});

/** The result of each command on a data folder as a process; the other tests run them in one that outlives them. */
const PROCESSES: readonly (readonly [line: string, says: RegExp, code?: number])[] = [
  ['init --data data', /^Team {5}my-team /],
  ['migrate --data data', /^The database is up to date\.$/m],
  ['teams list --data data', /\tmy-team\t/],
  ['host --data data', /^The host name is \S+\.$/m],
  ['users list --data data', /^ID\tEMAIL\t/],
  ['operators list --data data', /^ID\tNAME\t/],
  ['sending --data data', /^Sending is on\.$/m],
  ['sweep --data data', /^All content belongs to an email /],
  ['vacuum --data data', /rasket\.db had .* and has /],
  ['backup copy --data data', /^\S+\/copy contains the database, /],
  ['backups list --data data', /^MADE\tAGE\t/],
  ['restore nowhere --data other', /^rasket: \S+\/nowhere does not exist; list the backups with: /, 66],
  ['rekey --data data', /^The new key is in use; /],
  ['blobs move --to s3 --data data', /^rasket: the settings do not define the store: /, 1],
  ['migrate-to-postgres --data data', /^rasket: --to must be postgres:/, 1],
  ['migrate-to-sqlite --data data', /^rasket: the settings already point to SQLite /, 1],
  ['config check', /^The settings in the environment are valid\.$/m],
  ['completion bash', /^# Completion of rasket for bash: /],
  ['man', /^\.TH RASKET 1 /],
  ['relays list --data data', /^NAME\tSERVER\t/],
  ['restart --data data', /^rasket: no server runs on \S+data\n$/, 69],
  ['playground --data data', /^ID\tCAUGHT\t/],
  ['seed --data data', /^rasket: \S+ is not a data folder of a development server; /, 1],
];

it('each command on a data folder also works as a process of its own', async () => {
  for (const [line, says, code = 0] of PROCESSES) {
    const ended = await desk.run(line.split(' '), { env });
    expect(ended.stdout + ended.stderr, line).toMatch(says);
    expect({ line, code: ended.code, stderr: code === 0 ? ended.stderr : '' }).toEqual({ line, code, stderr: '' });
  }
  // Servers are processes wherever they are started, and setup wherever a terminal is asked for.
  const elsewhere = ['dev', 'serve', 'setup'];
  const here = PROCESSES.map(([line]) => line.split(' ', 1)[0] ?? '');
  expect([...new Set([...here, ...elsewhere])].sort()).toEqual([...NEEDS_PROCESS].sort());
});
