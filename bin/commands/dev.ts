import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ipaddr from 'ipaddr.js';
import { ROLES, startApp, type App } from '../../src/app.ts';
import { loadAuthentication } from '../../src/mail/capture/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { measureLoopDelay } from '../../src/platform/loop-delay.ts';
import { ownMark } from '../../src/platform/process-mark/index.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { instanceKeyPath } from '../../src/platform/secrets/index.ts';
import type { World } from '../../src/platform/world.ts';
import { findFixedKeyFault, isActiveToken, issueApiKey, keepFixedKey } from '../../src/tenancy/api-keys/index.ts';
import { createVerifiedDomain, findDomainByName } from '../../src/mail/domains/index.ts';
import { createOperator, createOperatorAuthentication } from '../../src/tenancy/operators/index.ts';
import { createTeam, keepPlaceholderAddress, listTeams } from '../../src/tenancy/teams/index.ts';
import type { SmtpListening } from '../../src/ports/smtp/index.ts';
import { OperatorFault } from '../explain.ts';
import { executable, isSingleFile, programRoot, tryOutFolder } from '../../src/program-files/index.ts';
import { becomeFolderOwner } from '../installation.ts';
import { makeDataFolder, withFreshStore } from './init.ts';
import { DEVELOPMENT_MARK, developmentFolder, readConfig, type DataOptions } from './open.ts';
import { forgetDeadReady } from './ready-file.ts';
import { announce, listenForReload, listenForStop, untilStopped } from './serve.ts';

export interface DevOptions extends DataOptions {
  version: string;
  watch?: boolean;
  anySender?: boolean;
  listen?: string;
  anyHost?: boolean;
}

const DOMAIN = 'playground.test';

interface DevAccess {
  team_id: string;
  api_key: string;
}

/** Includes an operator's token: the person who runs this server is an operator. */
type DevFile = DevAccess & { operator_token: string };

export async function dev(options: DevOptions): Promise<void> {
  if (options.watch) return watch(options);
  const dataDir = developmentFolder(options);
  mustBeOurs(dataDir);
  const fixedKey = readFixedKey();
  const config = developmentConfig(options);
  becomeFolderOwner(dataDir);
  // A queue of real mail would be caught instead of sent.
  if (makeDataFolder(dataDir) && config.database.driver === 'pg')
    await withFreshStore(config, dataDir, async () => undefined);
  writeFileSync(
    path.join(dataDir, DEVELOPMENT_MARK),
    'The data folder of a development server; nothing in it is real.\n',
    { mode: 0o600 },
  );
  const log = createLog(config.log);
  forgetDeadReady(dataDir);
  let access: DevFile | undefined;
  const app = await start(config, dataDir, options, {
    log,
    prepare: async (world) => void (access = await ready(world, dataDir, fixedKey)),
  });
  if (!access) throw new Error('the development server started without preparing its team');
  const url = app.http?.url ?? '';
  const file = { url, ...access, domain: DOMAIN, process: thisProcess() };
  writeFileSync(devFile(dataDir), JSON.stringify(file), { mode: 0o600 });
  const stop = listenForStop(log);
  listenForReload(app);
  announce(app, dataDir, ROLES, options.version);
  const smtp = (app.smtp?.listening ?? []).map((one) => ({ ...one, host: reachableHost(one.host) }));
  console.log(panel({ version: options.version, url, smtp, apiKey: access.api_key, dataDir, config }));
  // A test that starts now reads its first message in a moment, and would wait for this.
  await loadAuthentication();
  await untilStopped(stop, app, dataDir, 2000);
}

/** A folder of the production profile holds real mail, which must not be caught instead of sent. */
function mustBeOurs(dataDir: string): void {
  if (!existsSync(instanceKeyPath(dataDir)) || existsSync(path.join(dataDir, DEVELOPMENT_MARK))) return;
  throw new OperatorFault(
    `${dataDir} is not a data folder of a development server; choose another with --data, or run it with: rasket serve --data ${dataDir}`,
  );
}

function developmentConfig(options: DevOptions): Config {
  const { listen, anySender, anyHost } = options;
  if (listen !== undefined && !ipaddr.isValid(listen)) {
    throw new OperatorFault(`--listen must be an IP address, such as 0.0.0.0; got "${listen}"`, 'usage');
  }
  const config = readConfig(
    { ...options, data: developmentFolder(options) },
    {
      profile: 'development',
      overrides: {
        ...(listen === undefined ? {} : { http: { host: listen }, smtp: { host: listen } }),
        development: {
          ...(anySender === undefined ? {} : { any_sender: anySender }),
          ...(anyHost === undefined ? {} : { any_host: anyHost }),
        },
      },
    },
  );
  if (!config.delivery.capture) {
    throw new OperatorFault(
      'delivery.capture cannot be switched off on a development server; to send real mail run: rasket serve',
    );
  }
  if (config.development.any_host) return config;
  for (const section of ['http', 'smtp'] as const) {
    const { host } = config[section];
    if (isLoopback(host)) continue;
    throw new OperatorFault(
      `the development server listens on loopback only, but ${section}.host is "${host}". In a container, where everybody who can connect may read all mail, run: rasket dev --listen ${host || '0.0.0.0'} --any-host`,
    );
  }
  return config;
}

const isLoopback = (host: string): boolean => ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';

/** The API key that the environment sets, so that a test knows it beforehand. */
function readFixedKey(): string | undefined {
  const key = process.env.RASKET_DEV_API_KEY;
  if (key === undefined || key === '') return undefined;
  const fault = findFixedKeyFault(key);
  if (fault !== undefined) throw new OperatorFault(`RASKET_DEV_API_KEY cannot be used: ${fault}`, 'usage');
  return key;
}

/** Port 3000 is popular: unless a port was requested, any free one will do. */
async function start(
  config: Config,
  dataDir: string,
  options: DevOptions,
  { log, prepare }: { log: ReturnType<typeof createLog>; prepare(world: World): Promise<void> },
): Promise<App> {
  const loopDelay = measureLoopDelay();
  const app = { dataDir, version: options.version, log, loopDelay, prepare, mayFound: true, maySmtpPortsMove: true };
  try {
    return await startApp({ ...app, config });
  } catch (error) {
    const file = options.config ?? process.env.RASKET_CONFIG;
    const isChosen = file !== undefined || process.env.RASKET_HTTP_PORT !== undefined;
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || isChosen) throw error;
    log.warn(
      { taken: config.http.port },
      'the port is in use; a free one is open instead (set RASKET_HTTP_PORT to choose)',
    );
    return startApp({ ...app, config: { ...config, http: { ...config.http, port: 0 } } });
  }
}

/** Names the host that a client on this machine connects to. */
const reachableHost = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host);

/** The command line gives the key only to this process at the address. */
function thisProcess(): { pid: number; started: string } {
  const [, started = ''] = ownMark().process.split(' ');
  return { pid: process.pid, started };
}

const devFile = (dataDir: string): string => path.join(dataDir, 'run', 'dev.json');

/** Makes team, key, domain and postal address on the first run and finds them on every later one. */
async function ready(world: World, dataDir: string, fixedKey: string | undefined): Promise<DevFile> {
  const access = await usableAccess(world, dataDir, fixedKey);
  if (!(await findDomainByName(world.db, access.team_id, DOMAIN))) {
    await createVerifiedDomain(world, access.team_id, DOMAIN);
  }
  await keepPlaceholderAddress(world, access.team_id);
  return { ...access, operator_token: await usableOperator(world, dataDir) };
}

async function usableOperator(world: World, dataDir: string): Promise<string> {
  const kept = readAccess(dataDir)?.operator_token;
  const isGood = kept !== undefined && (await createOperatorAuthentication(world)(kept).then(() => true, isRefused));
  return isGood ? kept : (await createOperator(world, 'Development')).token;
}

function isRefused(error: unknown): false {
  if (!(error instanceof Refusal)) throw error;
  return false;
}

async function usableAccess(world: World, dataDir: string, fixedKey: string | undefined): Promise<DevAccess> {
  const [team] = await listTeams(world.db);
  if (fixedKey !== undefined) {
    const teamId = team?.id ?? (await createTeam(world, { name: 'Playground' })).teamId;
    const earlier = readAccess(dataDir)?.api_key;
    return { team_id: await keepFixedKey(world, { teamId, token: fixedKey, earlier }), api_key: fixedKey };
  }
  if (!team) {
    const made = await createTeam(world, { name: 'Playground' });
    return { team_id: made.teamId, api_key: made.apiKey };
  }
  const kept = readAccess(dataDir);
  if (kept && (await isActiveToken(world, kept.api_key))) return { team_id: kept.team_id, api_key: kept.api_key };
  const { token } = await world.db.tx((tx) =>
    issueApiKey(world, tx, { teamId: team.id, name: 'Development', permission: 'full_access', domainId: null }),
  );
  return { team_id: team.id, api_key: token };
}

function readAccess(dataDir: string): (DevAccess & Partial<DevFile>) | undefined {
  try {
    return JSON.parse(readFileSync(devFile(dataDir), 'utf8')) as DevAccess & Partial<DevFile>;
  } catch {
    return undefined;
  }
}

function panel({
  version,
  url,
  smtp,
  apiKey,
  dataDir,
  config,
}: {
  version: string;
  url: string;
  smtp: readonly SmtpListening[];
  apiKey: string;
  dataDir: string;
  config: Config;
}): string {
  const email = { from: `You <you@${DOMAIN}>`, to: 'someone@example.com', subject: 'Hello', html: '<p>It works.</p>' };
  const folder = shownPath(dataDir);
  const rasket = shownPath(executable);
  const data = dataDir === tryOutFolder ? '' : ` --data ${folder}`;
  return `
rasket ${version} is running for development. No mail leaves this machine.
${openWarning(config)}
  API      ${url}   (reference: ${url}/docs)
${smtpLines(smtp)}  API key  ${apiKey}
  Domain   ${DOMAIN}, verified, and receives
  Senders  ${sendersInWords(config)}
  Data     ${folder}

Send the first email:

  curl ${url}/emails \\
    -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Content-Type: application/json' \\
    -d '${JSON.stringify(email)}'

Or without curl:

  ${rasket} send${data} --from '${email.from}' --to ${email.to} --subject ${email.subject} --text 'It works.'

${smtpExamples(smtp, apiKey, email)}Then read the captured mail, here or at ${url}/playground:

  ${rasket} playground${data}
  ${rasket} playground${data} latest

Or open the console with four weeks of sample mail:

  ${rasket} seed${data}
  ${rasket} console${data}
${receivingExample(smtp, `${rasket} received list${data}`)}
Ctrl-C stops it.
`;
}

/** Warns an operator whose server lets other machines in. */
function openWarning({ http, smtp, development }: Config): string {
  if (!development.any_host) return '';
  const hosts = [...new Set([http.host, smtp.host || '0.0.0.0'])].join(' and ');
  return `
  WARNING  Listening on ${hosts} for any host name: everybody who can connect to this
           machine, and any website open in a browser on it, can read and delete all captured mail.
           Do not use real data.
`;
}

const sendersInWords = ({ development }: Config): string =>
  development.any_sender
    ? 'any domain (--no-any-sender: verified domains only)'
    : 'verified domains only (--any-sender: any domain)';

const submissionPort = (smtp: readonly SmtpListening[]): SmtpListening | undefined =>
  smtp.find(({ tls, doors }) => tls === 'starttls' && doors.includes('submission'));

function smtpLines(smtp: readonly SmtpListening[]): string {
  const kinds = { submission: 'for applications', receiving: 'for mail from outside' };
  return smtp
    .map(({ host, port, tls, doors }) => {
      const how = tls === 'implicit' ? ', TLS' : '';
      return `  SMTP     ${host}:${port}   (${doors.map((door) => kinds[door]).join(' and ')}${how})\n`;
    })
    .join('');
}

/** Shows the same email by SMTP: as a line to paste, and as the options of nodemailer. */
function smtpExamples(
  smtp: readonly SmtpListening[],
  apiKey: string,
  email: { from: string; to: string; subject: string },
): string {
  const found = submissionPort(smtp);
  if (!found) return '';
  const { host, port } = found;
  const address = /<(.+)>/.exec(email.from)?.[1] ?? email.from;
  return `Or by SMTP:

  swaks --server ${host} --port ${port} --auth-user rasket --auth-password ${apiKey} \\
    --from ${address} --to ${email.to} --header 'Subject: ${email.subject}' --body 'It works.'

or with nodemailer's four settings:

  host: '${host}', port: ${port}, auth: { user: 'rasket', pass: '${apiKey}' }, tls: { rejectUnauthorized: false }

`;
}

/** A message from outside, as a line to paste: curl brings mail as a server does. */
function receivingExample(smtp: readonly SmtpListening[], list: string): string {
  const found = smtp.find(({ doors }) => doors.includes('receiving'));
  if (!found) return '';
  return `
Receive an email for any address of the domain:

  printf 'From: them@example.org\\nTo: hello@${DOMAIN}\\nSubject: Hi\\n\\nIt arrives.\\n' |
    curl smtp://${found.host}:${found.port} --mail-from them@example.org --mail-rcpt hello@${DOMAIN} --crlf --upload-file -

  ${list}
`;
}

/** Returns the shortest path that works in the folder where the program was started. */
function shownPath(target: string): string {
  const relative = path.relative(process.cwd(), target) || '.';
  return relative.startsWith('..') ? target : relative;
}

/** Node's own watcher restarts the program; signals reach the child because it is in the same group. */
async function watch(options: DevOptions): Promise<void> {
  if (isSingleFile) {
    throw new OperatorFault(
      '--watch restarts when the sources change, but this executable has no sources; omit it',
      'usage',
    );
  }
  const paths = ['src', 'bin', 'cli', 'config', 'migrations'].map(
    (name) => `--watch-path=${path.join(programRoot, name)}`,
  );
  const words = [
    'dev',
    ...(options.data ? ['--data', options.data] : []),
    ...(options.config ? ['--config', options.config] : []),
    ...(options.anySender === undefined ? [] : [options.anySender ? '--any-sender' : '--no-any-sender']),
    ...(options.listen === undefined ? [] : ['--listen', options.listen]),
    ...(options.anyHost ? ['--any-host'] : []),
  ];
  const main = path.join(programRoot, 'bin', 'main.ts');
  const child = spawn(process.execPath, [...paths, '--watch-preserve-output', main, ...words], { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGTERM', pass).on('SIGINT', pass);
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 0)));
}
