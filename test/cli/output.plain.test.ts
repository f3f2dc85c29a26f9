import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Answer, type Asked, type Reply } from './contract-server.ts';
import { runInProcess } from './in-process.ts';
import { Desk, expectOneLine, root, type Ended, type Running, type Surroundings } from './desk.ts';

type Answering = Awaited<ReturnType<typeof startAnswering>>;

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let server: Answering | undefined;
beforeEach(() => {
  desk = new Desk();
});
afterEach(async () => {
  server?.close();
  await desk.clear();
});

async function answering(answer: (asked: Asked, count: number) => Answer | Promise<Answer>): Promise<Surroundings> {
  server = await startAnswering(answer);
  return { env: { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test' } };
}

// Clears the screen, rings, colors, turns the writing direction, and begins a line of its own.
const EVIL = '\u001B[2J\u0007a\u202Eb\u009B31mc\u007F\r\nd\te\u2028f';
const email = (given: object = {}): Record<string, unknown> => ({
  object: 'email',
  id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
  from: 'a@example.com',
  to: ['b@example.org'],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: 'Hello',
  html: null,
  text: 'One\nTwo',
  message_id: '<x@example.com>',
  created_at: '2026-11-20T09:30:00.000Z',
  scheduled_at: null,
  last_event: 'delivered',
  tags: [],
  topic_id: null,
  ...given,
});
const buildList = (...data: object[]): Reply => ({ status: 200, body: { object: 'list', has_more: true, data } });
const steering = /(?![\n\t])[\p{Cc}\u2028]|(?![\u200c\u200d])\p{Cf}/u;

describe('text of untrusted senders', () => {
  const evil = email({
    subject: EVIL,
    from: EVIL,
    text: `${EVIL}\nlast line`,
    to: [EVIL],
    tags: [{ name: EVIL, value: EVIL }],
  });

  it.each([
    { words: ['emails', 'list'], reply: buildList(evil) },
    { words: ['emails', 'get', 'x'], reply: { status: 200, body: evil } },
    { words: ['emails', 'list', '--json'], reply: buildList(evil) },
    { words: ['emails', 'get', 'x'], reply: { status: 422, body: { statusCode: 422, name: EVIL, message: EVIL } } },
    {
      words: ['emails', 'get', 'x'],
      reply: {
        status: 400,
        body: { statusCode: 400, name: 'x', message: 'y', errors: [{ path: EVIL, message: EVIL }] },
      },
    },
    {
      words: ['health'],
      reply: { status: 302, body: '', headers: { location: 'http://x/\u202E'.replace('\u202E', '%1B') } },
    },
  ])('never controls the terminal: rasket $words.0 $words.1', async ({ words, reply }) => {
    const around = await answering(() => reply);
    const ended = await desk.rasket(words, around);
    expect(ended.stdout + ended.stderr).not.toMatch(steering);
    if (words.includes('--json')) expect(JSON.parse(ended.stdout)).toEqual(reply.body);
  });
});

it.each([
  ['csv', [], (text: string) => `a@example.org,"${text.replaceAll('"', '""')}"\r\n`],
  ['ndjson', ['--ndjson'], (text: string) => `${JSON.stringify({ email: 'a@example.org', first_name: text })}\n`],
])('an export does not control the terminal, and is complete in a pipe: %s', async (_, words, lineOf) => {
  // So many lines that characters and line ends fall between two pieces of the answer.
  const lines = Array.from({ length: 5000 }, (_one, at) =>
    lineOf(`${'é'.repeat(at % 7)}${EVIL}\u001B]52;c;eA==\u0007`),
  );
  const around = await answering(() => ({ status: 200, body: lines.join('') }));
  const run = (columns?: number) =>
    runInProcess(['contacts', 'export', ...words], { env: around.env ?? {}, cwd: desk.folder, columns });
  const piped = await run();
  const shown = await run(80);
  expect([piped.code, shown.code, piped.stdout === lines.join('')]).toEqual([0, 0, true]);
  expect(steering.exec(shown.stdout)?.[0]).toBeUndefined();
  if (words.length === 0) expect(shown.stdout.match(/a@example\.org,"/g)).toHaveLength(lines.length);
  else
    expect(
      shown.stdout
        .trimEnd()
        .split('\n')
        .map((line) => `${JSON.stringify(JSON.parse(line))}\n`),
    ).toEqual(lines);
});

describe('a command that gets an error response', () => {
  it('waits once for a rate limit, for the given time', async () => {
    const limited: Reply = {
      status: 429,
      headers: { 'retry-after': '1' },
      body: { statusCode: 429, name: 'rate_limit_exceeded', message: 'Too many requests.' },
    };
    const around = await answering((_, count) => (count === 1 ? limited : buildList(email())));
    const began = performance.now();
    expect(await desk.rasket(['emails', 'list', '--limit', '1'], around)).toMatchObject({ code: 0, stderr: '' });
    expect(performance.now() - began).toBeGreaterThan(1000);
    expect(server?.asked).toHaveLength(2);
    server?.close();

    const always = await answering(() => limited);
    const ended = await desk.rasket(['emails', 'list'], always);
    expectOneLine(ended, /Too many requests \(rate_limit_exceeded\)\. Try again in 1 s\./);
    expect(server?.asked).toHaveLength(2);
  });

  it('does not repeat a request when waiting does not help', async () => {
    const body = { statusCode: 429, name: 'daily_quota_exceeded', message: 'No more today.' };
    const around = await answering(() => ({ status: 429, body }));
    expectOneLine(await desk.rasket(['emails', 'list'], around), /No more today \(daily_quota_exceeded\)\./);
    expect(server?.asked).toHaveLength(1);
  });

  it('recognizes another program, and follows no redirect with the key', async () => {
    const other = await startAnswering(() => ({ status: 200, body: {} }));
    const around = await answering((asked) =>
      asked.path === '/emails'
        ? { status: 302, body: '', headers: { location: other.url } }
        : { status: 502, body: '<html>Bad gateway</html>' },
    );
    expectOneLine(await desk.rasket(['emails', 'list'], around), new RegExp(`redirects to ${other.url}; use that`));
    expectOneLine(await desk.rasket(['health'], around), /returned 502, but not in the format of this API/);
    expect(other.asked).toEqual([]);
    other.close();
  });

  it('says what may have happened when the connection breaks', async () => {
    const around = await answering(() => 'hang up');
    const ended = await desk.rasket(['emails', 'cancel', String(email().id)], around);
    expect(ended).toMatchObject({ code: 69, stdout: '' });
    expect(ended.stderr).toMatch(
      /^rasket: The connection to \S+ was lost before the response arrived .*\nThe request may have been/,
    );
    // A request that only reads changes nothing.
    expectOneLine(await desk.rasket(['emails', 'list'], around), /was lost before the response arrived/);
    const { url = '' } = server ?? {};
    server?.close();
    await vi.waitFor(async () => {
      const { stderr } = await desk.rasket(['health'], { env: { RASKET_URL: url } });
      expect(stderr).toMatch(
        /^rasket: No server is listening at .*If it should be running here, start it with: rasket serve --data FOLDER\nOr start a development server.*: rasket dev\n$/,
      );
    });
  });
});

it.each([[], ['--json']])('a command in a pipe says that it waits for a slow server (%j)', async (...more) => {
  const waits = Promise.withResolvers<void>();
  const around = await answering(async () => {
    await waits.promise;
    return buildList(email());
  });
  const onOutput = (text: string): void => {
    if (text.includes('Waiting for')) waits.resolve();
  };
  const words = ['emails', 'list', ...more];
  const ended = await runInProcess(words, { env: around.env ?? {}, cwd: desk.folder, onOutput });
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(`Waiting for ${server?.url}.\n`) });
});

describe('a warning in a response', () => {
  const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e20';
  const said = 'Step welcome: the template needs PLAN, which nothing fills.';
  const graph = ['--steps', '[]', '--connections', '[]'];

  it.each([
    { words: ['automations', 'create', 'Welcome', ...graph], answer: { id, warnings: [said] } },
    { words: ['automations', 'update', id, '--status', 'enabled'], answer: { id, warnings: [said] } },
    { words: ['templates', 'publish', id], answer: { id, warnings: [said] } },
    {
      words: ['contact-properties', 'delete', id, '--yes'],
      answer: { id, segments: [{ id, name: 'Payers' }], broadcasts: [] },
      warning: 'Segments that filter by it: Payers.',
    },
  ])(
    'is printed to standard error when the output goes into a pipe: rasket $words.0 $words.1',
    async ({ words, answer, warning = said }) => {
      const around = await answering(() => ({ status: 200, body: answer }));
      const run = (columns?: number) => runInProcess(words, { env: around.env ?? {}, cwd: desk.folder, columns });
      const piped = await run();
      expect([piped.code, piped.stdout]).toEqual([0, `${id}\n`]);
      expect(piped.stderr).toContain(warning);
      const shown = await run(200);
      expect([shown.stdout.includes(warning), shown.stderr.includes(warning)]).toEqual([false, true]);
    },
  );
});

describe('a reader of the output', () => {
  const long = buildList(...Array.from({ length: 100 }, () => email({ subject: 'x'.repeat(5000) })));

  it('that stops reading ends the command quietly', async () => {
    const around = await answering(() => long);
    const ended = await desk.sh('{ rasket emails list; echo $? >code; } | head -c 10', around);
    expect(ended).toMatchObject({ stderr: '' });
    expect(fs.readFileSync(desk.at('code'), 'utf8')).toBe('0\n');
  });

  it('that cannot take the output makes the command fail', async () => {
    const around = await answering(() => long);
    expectOneLine(
      await desk.sh('rasket emails list >/dev/full', around),
      /standard output cannot be written \(ENOSPC\)/,
    );
    expectOneLine(
      await desk.sh('rasket init --data d --json >/dev/full'),
      /standard output cannot be written \(ENOSPC\)/,
    );
  });
});

// skipped because a terminal is made by script(1) of util-linux, which is not everywhere
describe.skipIf(spawnSync('script', ['--version']).status !== 0)('at a terminal', () => {
  const atTerminal = (line: string, around: Surroundings): Running =>
    desk.start('script', ['-qec', line, '/dev/null'], { isOpen: true, ...around });
  const shown = async (line: string, around: Surroundings): Promise<Ended> => atTerminal(line, around).ended;

  it('a table has titles, fits and is colored, unless NO_COLOR is set', async () => {
    const around = await answering(() =>
      buildList(email({ subject: `Grüße ${'x'.repeat(500)}`, last_event: 'bounced' })),
    );
    const { stdout } = await shown('stty cols 100; rasket emails list', around);
    expect(stdout).toContain('\u001B[31mbounced\u001B[0m');
    const plain = await shown('stty cols 100; NO_COLOR=1 rasket emails list', around);
    expect(plain.stdout).not.toContain('\u001B');
    const lines = plain.stdout.trimEnd().split('\r\n');
    expect(lines).toEqual([
      expect.stringMatching(/^ID +CREATED +STATE +TO +SUBJECT$/),
      expect.stringMatching(
        /^4c1f2e77 {2}(?:11-20 \d\d:\d\d|\d\d:\d\d|2026-11-20) {2,}bounced {2}b@example\.org {2}Grüße x+…$/,
      ),
      expect.stringMatching(/^Some values are cut; show all with: rasket emails list --url http:\S+ --wide$/),
      '(with the key of RASKET_API_KEY)',
      'There are more; continue with:',
      expect.stringMatching(/^rasket emails list --url http:\S+ --after 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77$/),
      '(with the key of RASKET_API_KEY)',
    ]);
    expect(lines[1]).toHaveLength(100);
  });

  it('a download is refused, and it is complete in a pipe', async () => {
    const raw = { download_url: 'http://elsewhere.example/file' };
    const around = await answering(({ path }) => ({
      status: 200,
      body: path === '/file' ? '\u001B]52;c;eA==' : { raw },
    }));
    const refused = await shown('rasket received raw x --output -', around);
    expect(refused.code).toBe(64);
    expect(refused.stdout).toMatch(/use --output FILE,\s+or --output\s+- \| less/);
    expect(refused.stdout).not.toContain('\u001B');
    const { stdout } = await desk.sh('rasket received raw x --output -', around);
    expect(stdout).toBe('\u001B]52;c;eA==');
  });

  it('a command that changes something names its server, and a reading command does not', async () => {
    const around = await answering(({ method }) =>
      method === 'GET' ? buildList() : { status: 201, body: { id: 'x' } },
    );
    const made = await shown('NO_COLOR=1 rasket keys create Billing', around);
    expect(made.stdout).toMatch(/^On http:\/\/127\.0\.0\.1:\d+ \(RASKET_URL\)\r?$/m);
    expect((await shown('NO_COLOR=1 rasket keys list', around)).stdout).not.toContain('On http');
  });

  it('values to be copied are shown whole', async () => {
    const value = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
    const record = {
      record: 'DKIM',
      name: `s._domainkey.${'long.'.repeat(20)}example.com`,
      type: 'TXT',
      ttl: 'Auto',
      status: 'pending',
      value,
    };
    const domain = {
      object: 'domain',
      id: 'x',
      name: 'example.com',
      status: 'pending',
      region: 'eu-west-1',
      records: [record],
      open_tracking: false,
      click_tracking: true,
      capabilities: { sending: 'pending', receiving: 'unsupported' },
    };
    const around = await answering(() => ({ status: 201, body: domain }));
    const { stdout } = await shown('stty cols 80; NO_COLOR=1 rasket domains create example.com', around);
    expect(stdout).toContain(value);
    expect(stdout).toContain(record.name);
    expect(stdout).toMatch(
      /Publish its records in DNS; then verify the domain with:\r?\nrasket domains verify --url http:\S+ example\.com\r?\n/,
    );
  });

  it.each([
    ['The BIMI record names no mark certificate (a=).', 'The BIMI record names no mark certificate (a=).'],
    [null, 'published at default._bimi.example.com.'],
  ])(
    'a domain with a BIMI record is shown with its diagnosis, or where it is published: %j',
    async (diagnosis, says) => {
      const domain = {
        object: 'domain',
        id: 'x',
        name: 'example.com',
        status: 'verified',
        region: 'eu-west-1',
        records: [],
        bimi: { name: 'default._bimi.example.com', value: 'v=BIMI1', diagnosis },
        capabilities: { sending: 'verified', receiving: 'unsupported' },
      };
      const around = await answering(({ method }) => ({ status: 200, body: method === 'POST' ? { id: 'x' } : domain }));
      for (const verb of ['get', 'verify']) {
        const { stdout } = await shown(
          `NO_COLOR=1 rasket domains ${verb} 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77`,
          around,
        );
        expect(stdout.split('\r\n').find((line) => line.startsWith('BIMI'))).toMatch(/^BIMI +/);
        expect(stdout).toContain(says);
      }
    },
  );

  it.each([
    ['pending', 1],
    ['verified', 0],
  ])('a verified domain that is then %s gives the exit code %i, and each line says why', async (status, code) => {
    const record = {
      record: 'SPF',
      name: 'send.example.com',
      type: 'TXT',
      ttl: 'Auto',
      status,
      value: 'v=spf1 -all',
      required: true,
      diagnosis: 'It is not there.',
      found: null,
    };
    const domain = {
      object: 'domain',
      id: 'x',
      name: 'example.com',
      status,
      region: 'eu-west-1',
      records: [record],
      open_tracking: false,
      click_tracking: true,
      capabilities: { sending: status, receiving: 'unsupported' },
    };
    const around = await answering(({ method }) => ({ status: 200, body: method === 'POST' ? { id: 'x' } : domain }));
    const ended = await desk.sh('rasket domains verify 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', around);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toBe(
      `FOR\tSTATUS\tTYPE\tNAME\tPRIORITY\tVALUE\tDOMAIN\tDIAGNOSIS\nSPF\t${status}\tTXT\tsend.example.com\t\tv=spf1 -all\t${status}\tIt is not there.\n`,
    );
    expect(ended.stderr.includes('example.com is pending, not verified.')).toBe(code === 1);
  });

  it('a waiting command shows its progress, and leaves only the outcome', async () => {
    const around = await answering(({ method }, count) =>
      method === 'POST'
        ? { status: 200, body: { id: email().id } }
        : { status: 200, body: email({ last_event: count < 4 ? 'queued' : 'delivered' }) },
    );
    const words = '--from a@example.com --to b@example.org --subject Hi --text x --wait';
    const { stdout, code } = await shown(`NO_COLOR=1 rasket send ${words}`, around);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`${String(email().id)}  queued, \\d+ s`));
    expect(stdout.split('\u001B[K').at(-1)).toBe(`delivered  ${String(email().id)}\r\n`);
    expect(server?.asked).toHaveLength(4);
  });

  it('a response that takes more than a second shows that the command waits, and leaves no trace', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<Reply>();
    const around = await answering(() => answered);
    // Asked before the one that is watched, so that they have waited as long.
    const silent = ['emails list --json', 'emails list | cat'].map((line) => atTerminal(`rasket ${line}`, around));
    await vi.waitFor(() => expect(server?.asked).toHaveLength(2), { timeout: 60_000 });
    const watched = atTerminal('stty cols 100; NO_COLOR=1 rasket emails list', around);
    const line = new RegExp(`Waiting for ${server?.url}, \\d+ s$`);
    await vi.waitFor(() => expect(watched.stdout).toMatch(line), { timeout: 60_000 });
    answer({ status: 200, body: { object: 'list', has_more: false, data: [email()] } });
    const { stdout, code } = await watched.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/Waiting for \S+, \d+ s\r\u001B\[KID +CREATED [^\u001B]*$/);
    for (const one of silent) expect((await one.ended).stdout).not.toContain('Waiting');
  });

  it('a key is typed without being shown', async () => {
    const around = await answering(({ headers }) =>
      headers.authorization === 'Bearer rk_hidden'
        ? buildList()
        : { status: 401, body: { statusCode: 401, name: 'invalid_api_key', message: 'No.' } },
    );
    const running = atTerminal('rasket login --api-key', { env: { ...around.env, RASKET_API_KEY: '' } });
    await vi.waitFor(() => expect(running.stdout).toContain('API key for'));
    running.write('rk_hiddem\u007Fn\r');
    const ended = await running.ended;
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('is stored in') });
    expect(ended.stdout).not.toContain('hidde');
    expect(JSON.parse(fs.readFileSync(desk.at('config/rasket/credentials.json'), 'utf8'))).toEqual({
      url: server?.url,
      api_key: 'rk_hidden',
    });
  });

  it('Ctrl-C at a prompt changes nothing', async () => {
    const around = await answering(() => buildList());
    const running = atTerminal('rasket login --api-key', { env: { ...around.env, RASKET_API_KEY: '' } });
    await vi.waitFor(() => expect(running.stdout).toContain('API key for'));
    running.write('rk_half\u0003');
    expect(await running.ended).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing was changed') });
    expect(fs.existsSync(desk.at('config'))).toBe(false);
  });
});

describe('the loaded source files', () => {
  /** Every file of the program and every package that one run loads. */
  async function loadedBy(words: string[], around: Surroundings = {}): Promise<string[]> {
    const coverage = desk.at('coverage');
    const ended = await desk.run(words, { env: { ...around.env, NODE_V8_COVERAGE: coverage } });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    const urls = fs.readdirSync(coverage).flatMap((name) => {
      const { result } = JSON.parse(fs.readFileSync(desk.at('coverage', name), 'utf8')) as {
        result: { url: string }[];
      };
      return result.map((script) => script.url);
    });
    const ours = urls
      .filter((url) => url.startsWith(`file://${root}/`))
      .flatMap((url) => (url.includes('/.cache/build/') ? readSources(url) : url))
      .map((url) => url.slice(`file://${root}/`.length));
    return [...new Set(ours.map((file) => file.replace(/^node_modules\/((@[^/]+\/)?[^/]+)\/.*/, '$1')))];
  }

  /** Returns the sources that were compiled into a file of a build. */
  function readSources(url: string): string[] {
    const { sources } = JSON.parse(fs.readFileSync(new URL(`${url}.map`), 'utf8')) as { sources: string[] };
    return sources.map((source) => new URL(source, url).href).filter((source) => source.startsWith('file:'));
  }

  it('are only the entry file and those about the program’s own files for --version', async () => {
    const others = (await loadedBy(['--version'])).filter((file) => !file.startsWith('src/program-files/'));
    expect(others.sort()).toEqual(['bin/compiled.ts', 'bin/main.ts', 'bin/source-lines.ts']);
  });

  it('are only those of the client for sending', async () => {
    const around = await answering(() => ({ status: 200, body: { id: email().id } }));
    const loaded = await loadedBy(
      ['send', '--from', 'a@example.com', '--to', 'b@example.org', '--subject', 'Hi', '--text', 'x'],
      around,
    );
    expect(loaded).toContain('cli/commands/emails/send.ts');
    expect(
      loaded.filter(
        (file) =>
          !/^(bin\/(compiled|source-lines|main|program|fit-help|operator-commands|backup-commands|move-commands|shared-options|output|setup-command)\.ts|cli\/.*|src\/program-files\/.*|src\/contract\/(access|index|load|carried|commands|routes|document|compile|error-catalogue|mail-rates|nearest-name|scopes)\.ts|commander)$/.test(
            file,
          ),
      ),
    ).toEqual([]);
  });
});
