import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ipaddr from 'ipaddr.js';
import { ROLES, startApp, type App } from '../../src/app.ts';
import { loadConfig, type Config } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { hashToken, instanceKeyPath } from '../../src/platform/secrets/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import { issueApiKey } from '../../src/resources/api-keys/index.ts';
import { createVerifiedDomain, findDomainByName } from '../../src/resources/domains/index.ts';
import { createTeam, listTeams } from '../../src/resources/teams/index.ts';
import { OperatorFault } from '../explain.ts';
import { makeDataFolder, mustBeEmpty } from './init.ts';
import { DEVELOPMENT_MARK, developmentFolder, programRoot, withWorld, type DataOptions } from './open.ts';
import { announce, forgetDeadReady, listenForStop, untilStopped } from './serve.ts';

export interface DevOptions extends DataOptions {
  version: string;
  watch?: boolean;
}

const DOMAIN = 'playground.test';

interface DevAccess {
  team_id: string;
  api_key: string;
}

export async function dev(options: DevOptions): Promise<void> {
  if (options.watch) return watch(options);
  const dataDir = developmentFolder(options);
  mustBeOurs(dataDir);
  const config = developmentConfig(options);
  // A queue of somebody's real mail would be caught instead of sent.
  if (makeDataFolder(dataDir) && config.database.driver === 'pg') await withWorld(config, dataDir, mustBeEmpty);
  writeFileSync(
    path.join(dataDir, DEVELOPMENT_MARK),
    'The data folder of the development profile; nothing in it is real.\n',
    { mode: 0o600 },
  );
  const log = createLog(config.log);
  forgetDeadReady(dataDir);
  const app = await start(config, dataDir, options, log);
  const access = await ready(app.world, dataDir);
  const url = app.http?.url ?? '';
  writeFileSync(devFile(dataDir), JSON.stringify({ url, ...access, domain: DOMAIN }), { mode: 0o600 });
  const stop = listenForStop(log);
  announce(app, dataDir, ROLES, options.version);
  console.log(panel({ version: options.version, url, apiKey: access.api_key, dataDir }));
  await untilStopped(stop, app, dataDir, 2000);
}

/** A folder of the production profile holds real mail, which must not be caught instead of sent. */
function mustBeOurs(dataDir: string): void {
  if (!existsSync(instanceKeyPath(dataDir)) || existsSync(path.join(dataDir, DEVELOPMENT_MARK))) return;
  throw new OperatorFault(
    `${dataDir} is not a folder of the development profile; choose another with --data, or run it with: rasket serve --data ${dataDir}`,
  );
}

function developmentConfig(options: DevOptions): Config {
  const file = options.config ?? process.env.RASKET_CONFIG;
  const { config } = loadConfig({ ...(file === undefined ? {} : { file }), profile: 'development', env: process.env });
  if (!config.delivery.capture) {
    throw new OperatorFault(
      'delivery.capture cannot be switched off in the development profile; to send real mail run: rasket serve',
    );
  }
  if (!ipaddr.isValid(config.http.host) || ipaddr.process(config.http.host).range() !== 'loopback') {
    throw new OperatorFault(`the development profile listens on loopback only; http.host is ${config.http.host}`);
  }
  return config;
}

/** Port 3000 is popular: unless a port was asked for, any free one will do. */
async function start(
  config: Config,
  dataDir: string,
  options: DevOptions,
  log: ReturnType<typeof createLog>,
): Promise<App> {
  const app = { dataDir, version: options.version, log };
  try {
    return await startApp({ ...app, config });
  } catch (error) {
    const file = options.config ?? process.env.RASKET_CONFIG;
    const isChosen = file !== undefined || process.env.RASKET_HTTP_PORT !== undefined;
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || isChosen) throw error;
    log.warn({ taken: config.http.port }, 'the port is in use; taking a free one (set RASKET_HTTP_PORT to choose)');
    return startApp({ ...app, config: { ...config, http: { ...config.http, port: 0 } } });
  }
}

const devFile = (dataDir: string): string => path.join(dataDir, 'run', 'dev.json');

/** Makes team, key and domain on the first run and finds them on every later one. */
async function ready(world: World, dataDir: string): Promise<DevAccess> {
  const access = await usableAccess(world, dataDir);
  if (!(await findDomainByName(world.db, access.team_id, DOMAIN))) {
    await createVerifiedDomain(world, access.team_id, DOMAIN);
  }
  return access;
}

async function usableAccess(world: World, dataDir: string): Promise<DevAccess> {
  const [team] = await listTeams(world.db);
  if (!team) {
    const made = await createTeam(world, { name: 'Playground' });
    return { team_id: made.teamId, api_key: made.apiKey };
  }
  const kept = readAccess(dataDir);
  if (kept && (await isLive(world, kept.api_key))) return { team_id: kept.team_id, api_key: kept.api_key };
  const { token } = await world.db.tx((tx) =>
    issueApiKey(world, tx, { teamId: team.id, name: 'Development', permission: 'full_access', domainId: null }),
  );
  return { team_id: team.id, api_key: token };
}

function readAccess(dataDir: string): DevAccess | undefined {
  try {
    return JSON.parse(readFileSync(devFile(dataDir), 'utf8')) as DevAccess;
  } catch {
    return undefined;
  }
}

async function isLive(world: World, token: string): Promise<boolean> {
  const sql = `select 1 as live from api_keys where token_hash = ? and status = 'active'`;
  return (await world.db.get(sql, [hashToken(token)])) !== undefined;
}

function panel({
  version,
  url,
  apiKey,
  dataDir,
}: {
  version: string;
  url: string;
  apiKey: string;
  dataDir: string;
}): string {
  const email = { from: `You <you@${DOMAIN}>`, to: 'someone@example.com', subject: 'Hello', html: '<p>It works.</p>' };
  const folder = shownPath(dataDir);
  const rasket = shownPath(path.join(programRoot, 'bin', 'rasket'));
  const data = dataDir === path.join(programRoot, '.rasket') ? '' : ` --data ${folder}`;
  return `
rasket ${version} is running for development. No mail leaves this machine.

  API      ${url}   (reference: ${url}/docs)
  API key  ${apiKey}
  Domain   ${DOMAIN}, verified
  Data     ${folder}

Send the first email:

  curl ${url}/emails \\
    -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Content-Type: application/json' \\
    -d '${JSON.stringify(email)}'

Or without curl:

  ${rasket} send${data} --from '${email.from}' --to ${email.to} --subject ${email.subject} --text 'It works.'

Then look at what arrived:

  ${rasket} playground${data}
  ${rasket} playground${data} latest

Ctrl-C stops it.
`;
}

/** As short as it can be pasted where the program was started. */
function shownPath(target: string): string {
  const relative = path.relative(process.cwd(), target) || '.';
  return relative.startsWith('..') ? target : relative;
}

/** Node's own watcher restarts the program; signals reach the child because it is in the same group. */
async function watch(options: DevOptions): Promise<void> {
  const paths = ['src', 'bin', 'cli', 'config', 'migrations'].map(
    (name) => `--watch-path=${path.join(programRoot, name)}`,
  );
  const words = [
    'dev',
    ...(options.data ? ['--data', options.data] : []),
    ...(options.config ? ['--config', options.config] : []),
  ];
  const main = path.join(programRoot, 'bin', 'main.ts');
  const child = spawn(process.execPath, [...paths, '--watch-preserve-output', main, ...words], { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGTERM', pass).on('SIGINT', pass);
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 0)));
}
