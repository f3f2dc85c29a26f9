// The official clients of other languages, unmodified, against the running server. Their sources are not part of this repository:
// README.md says how to get them. With RASKET_CLIENTS_RECORD=write the requests that they make are recorded for replay.test.ts.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../peers/find-program.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { prepareTeam, startClientScene, type ClientScene } from './fixtures.ts';
import { startRecordingProxy, type Call, type Exchange } from './recording-proxy.ts';
import { hasField, makeRequests, writeRecording } from './recordings.ts';

const SOURCES = process.env['RASKET_CLIENTS'];

interface Client {
  /** The name of its recording, and of its folder in RASKET_CLIENTS unless `folder` says otherwise. */
  name: string;
  folder?: string;
  source: string;
  program: string;
  script: string;
  args?: string[];
  readVersion: (folder: string) => string;
  /** The variable that holds the base URL, and what its value ends with. */
  baseUrl: { variable: string; end: '' | '/' };
  /** The command that runs the script; by default, the program with the script. */
  prepare?: (folder: string, scratch: string) => { command: string; args: string[]; cwd: string };
}

const findIn = (file: string, pattern: RegExp): ((folder: string) => string) => {
  return (folder) => pattern.exec(readFileSync(path.join(folder, file), 'utf8'))?.[1] ?? 'unknown';
};

const CLIENTS: Client[] = [
  {
    name: 'resend-python',
    source: 'https://github.com/resend/resend-python',
    program: 'python3',
    script: 'python/calls.py',
    readVersion: findIn('resend/version.py', /__version__ = "(.*)"/),
    baseUrl: { variable: 'RESEND_API_URL', end: '' },
  },
  {
    name: 'resend-go',
    source: 'https://github.com/resend/resend-go',
    program: 'go',
    script: 'go/calls.go',
    readVersion: findIn('resend.go', /version\s+= "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '/' },
    prepare: prepareGo,
  },
  {
    name: 'resend-ruby',
    source: 'https://github.com/resend/resend-ruby',
    program: 'ruby',
    script: 'ruby/calls.rb',
    readVersion: findIn('lib/resend/version.rb', /VERSION = "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '/' },
  },
  {
    name: 'resend-ruby-actionmailer',
    folder: 'resend-ruby',
    source: 'https://github.com/resend/resend-ruby',
    program: 'ruby',
    script: 'ruby/action_mailer.rb',
    readVersion: findIn('lib/resend/version.rb', /VERSION = "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '/' },
  },
  {
    name: 'resend-php',
    source: 'https://github.com/resend/resend-php',
    program: 'php',
    script: 'php/calls.php',
    readVersion: findIn('src/Resend.php', /VERSION = '(.*)'/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '' },
  },
  ...[2, 3, 4, 5].map((major) => ({
    name: `resend-node-${major}`,
    folder: 'npm',
    source: 'https://www.npmjs.com/package/resend',
    program: process.execPath,
    script: 'npm/majors.ts',
    args: [`resend${major}`],
    readVersion: findIn(`node_modules/resend${major}/package.json`, /"version": "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '' as const },
  })),
  {
    name: 'resend-mcp',
    folder: 'npm',
    source: 'https://www.npmjs.com/package/resend-mcp',
    program: process.execPath,
    script: 'npm/mcp.ts',
    readVersion: findIn('node_modules/resend-mcp/package.json', /"version": "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '' },
  },
  {
    name: 'resend-cli',
    folder: 'npm',
    source: 'https://www.npmjs.com/package/resend-cli',
    program: process.execPath,
    script: 'npm/cli.ts',
    readVersion: findIn('node_modules/resend-cli/package.json', /"version": "(.*)"/),
    baseUrl: { variable: 'RESEND_BASE_URL', end: '' },
  },
];

/** A module of its own that takes the client from its folder and nothing from the network. */
function prepareGo(folder: string, scratch: string): { command: string; args: string[]; cwd: string } {
  const module = /^module (.*)$/m.exec(readFileSync(path.join(folder, 'go.mod'), 'utf8'))?.[1] ?? '';
  writeFileSync(
    path.join(scratch, 'go.mod'),
    `module calls\n\ngo 1.19\n\nrequire ${module} v3.0.0\n\nreplace ${module} => ${folder}\n`,
  );
  writeFileSync(path.join(scratch, 'calls.go'), readFileSync(path.join(import.meta.dirname, 'go/calls.go')));
  return { command: 'go', args: ['run', '-mod=mod', '.'], cwd: scratch };
}

function findReasonToSkip({ name, folder = name, program }: Client): string | undefined {
  if (SOURCES === undefined) return 'RASKET_CLIENTS names no folder with the sources of the clients';
  if (!existsSync(path.join(SOURCES, folder))) return `${SOURCES} has no folder ${folder}`;
  return existsSync(program) || findProgram(program) !== undefined ? undefined : `${program} is not installed`;
}

/** Returns what is wrong with a call: it failed, it was accepted although it had to be refused, or a promised field is missing. */
function findFault(call: Call, exchanges: readonly Exchange[]): string[] {
  const made = call.exchanges.map((index) => exchanges[index]).filter((one) => one !== undefined);
  const said = made.map(
    ({ method, path: at, body, status, answer }) => `${method} ${at} ${body} -> ${status} ${answer}`,
  );
  if (call.refused !== undefined)
    return call.error === undefined ? [`${call.name} must be refused: ${said.join('; ')}`] : [];
  if (call.error !== undefined) return [`${call.name} failed with ${call.error}: ${said.join('; ')}`];
  const [last] = made.slice(-1);
  if (last === undefined) return [];
  const missing = call.reads.filter((field) => hasField(JSON.parse(last.answer), field) === false);
  return missing
    .filter((field) => !NEVER_RETURNED.some((one) => one.test(`${last.method} ${last.path} ${field}`)))
    .map((field) => `${call.name}: the response to ${last.method} ${last.path} has no ${field}`);
}

/** Fields that types of clients promise although the responses of Resend or the documents do not have them. */
const NEVER_RETURNED: RegExp[] = [
  // The documents have no has_more here.
  /^GET \/contacts(\?\S*)? has_more$/,
  // Absent unless there is one.
  /^GET \/emails\/\S+ \S*content_id$/,
  /^GET \/emails\/receiving\S* \S*content_id$/,
  /^GET \/broadcasts\/\S+ (scheduled_at|sent_at)$/,
  // Elements of a list do not repeat what they are.
  /^GET \S+ data\.0\.object$/,
  // One type for every response about a domain, and for a broadcast alone and in a list.
  /^(GET|POST|PATCH|DELETE) \/domains\S* (data\.0\.)?(deleted|created_at|createdAt|dnsProvider|name|records|region|status)$/,
  /^GET \/broadcasts(\?\S*)? data\.0\.(from|html|preview_text|reply_to|scheduled_at|sent_at|subject|text)$/,
  // A type of an earlier version of the API.
  /^PATCH \/(audiences\/\S+\/)?contacts\/\S+ (data\S*|error)$/,
];

let clientScene: ClientScene;

describe('the official clients', () => {
  beforeAll(async () => {
    if (SOURCES !== undefined) clientScene = await startClientScene();
  });
  afterAll(async () => {
    await clientScene?.[Symbol.asyncDispose]();
  });

  it.for(CLIENTS)('$name makes all of its calls', async (client, ctx) => {
    const reason = findReasonToSkip(client);
    // runs only where the client's sources and its interpreter are on this machine
    if (reason !== undefined) return ctx.skip(reason);
    const { calls, exchanges } = await runClient(client);
    const faults = calls.flatMap((call) => findFault(call, exchanges));
    const refused = calls.filter((call) => call.refused !== undefined && call.error !== undefined);
    console.log(
      `${client.name}: ${calls.length} calls, ${refused.length} refused as documented, ${faults.length} faults`,
    );
    expect(faults).toEqual([]);
    expect(calls.filter(({ error }) => error === undefined)).not.toEqual([]);
  });
});

/** A client that comes from a registry has a version and no commit. */
function readCommit(folder: string): { commit?: string } {
  const file = path.join(folder, 'COMMIT');
  return existsSync(file) ? { commit: readFileSync(file, 'utf8').trim() } : {};
}

async function runClient(client: Client): Promise<{ calls: Call[]; exchanges: Exchange[] }> {
  const folder = path.join(SOURCES ?? '', client.folder ?? client.name);
  const { team, fixtures, delivery } = await prepareTeam(clientScene);
  await using proxy = await startRecordingProxy(clientScene.scene.url);
  const scratch = scratchFolder('rasket-client-');
  mkdirSync(scratch, { recursive: true });
  const script = path.join(import.meta.dirname, client.script);
  const prepared = client.prepare?.(folder, scratch) ?? {
    command: client.program,
    args: [script, ...(client.args ?? [])],
    cwd: scratch,
  };
  try {
    await promisify(execFile)(prepared.command, prepared.args, {
      cwd: prepared.cwd,
      env: {
        ...process.env,
        [client.baseUrl.variable]: `${proxy.url}${client.baseUrl.end}`,
        RESEND_API_KEY: team.key,
        SDK_SOURCES: folder,
        CLIENT_PROXY: proxy.url,
        CLIENT_FIXTURES: JSON.stringify(fixtures),
        CLIENT_DELIVERY: JSON.stringify(delivery),
      },
    });
  } catch (cause) {
    // A call that was refused has no result for the next ones: the refusal is what matters.
    proxy.calls.push({ name: client.script, error: String(cause), reads: [], exchanges: [] });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  if (process.env['RASKET_CLIENTS_RECORD'] === 'write') {
    writeRecording(client.name, {
      client: client.name,
      version: client.readVersion(folder),
      ...readCommit(folder),
      source: client.source,
      script: `test/clients/${client.script}`,
      requests: makeRequests(proxy.exchanges, proxy.calls, fixtures),
    });
  }
  return proxy;
}
