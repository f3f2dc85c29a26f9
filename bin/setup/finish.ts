import { DEFAULT_URL } from '../../cli/client/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { asksForCertificates } from '../../src/features/installation/index.ts';
import { makeTeam, ownerLines } from '../commands/init.ts';
import { isNewerThanServer, runningPid, urlFromHere, runningUrl } from '../commands/ready-file.ts';
import { runAsFolderOwner, findInstallation } from '../installation.ts';
import { examineConfiguredRelay, explainFault } from '../commands/test-relay.ts';
import type { Asker } from './asking.ts';
import {
  awaitCertificate,
  haveDomain,
  makeKey,
  publishRecords,
  firstEmailLine,
  hostRecords,
  zoneSnippet,
  type Domain,
  type Known,
  type Published,
} from './team-and-domain.ts';
import type { Answers, SetupOptions } from './answers.ts';
import { createLookUps } from './this-machine.ts';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { onSameFolder, type DataOptions } from '../commands/open.ts';
import { executable } from '../../src/program-files/index.ts';

interface Service {
  /** True when systemd manages it. */
  isManaged: boolean;
  dataDir: string;
  options: DataOptions;
}

const findService = (dataDir: string, options: DataOptions): Service => ({
  isManaged: existsSync('/run/systemd/system') && findInstallation()?.data === dataDir,
  dataDir,
  options,
});

interface Wish {
  /** True if the settings differ from those that the server runs with. */
  isChanged: boolean;
  /** Undefined asks the operator. */
  start: boolean | undefined;
}

const READY_MS = 60_000;
const LOOK_MS = 200;

/** Returns whether a server runs with the current settings. */
async function bringUp(service: Service, asker: Asker, { isChanged, start }: Wish): Promise<boolean> {
  const { dataDir, options, isManaged } = service;
  const isRunning = runningPid(dataDir) !== undefined;
  if (isRunning && !isChanged) return true;
  const verb = isRunning ? 'restart' : 'enable --now';
  const command = isManaged ? `systemctl ${verb} rasket` : await onSameFolder('rasket serve', options);
  if (!isManaged) {
    asker.print(
      isRunning
        ? `A server is running with the old settings. Stop it and start it again: ${command}`
        : `systemd is not running. Start the server with: ${command}`,
    );
    return false;
  }
  const isWanted = start ?? (asker.isInteractive ? await asker.agree(`Run ${command}?`) : false);
  if (!isWanted) {
    asker.print(`Not run: ${command}`);
    return false;
  }
  return started(service, asker, command, isRunning ? runningPid(dataDir) : undefined);
}

async function started({ dataDir }: Service, asker: Asker, command: string, before: number | undefined) {
  const { status } = spawnSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'] });
  const isUp = status === 0 && (await within(READY_MS, () => isNew(runningPid(dataDir), before)));
  const address = runningUrl(dataDir);
  asker.print(
    isUp
      ? `The service is running${address === undefined ? '' : `: ${address}`}.`
      : `${command} did not start the service. See: journalctl -u rasket -n 20`,
  );
  return isUp;
}

const isNew = (pid: number | undefined, before: number | undefined): boolean => pid !== undefined && pid !== before;

/** Checks again until it is so, or the time is over. */
async function within(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = Date.now() + ms;
  for (;;) {
    if (await isSo()) return true;
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Runs another command of this program on the same folder, with its output sent to ours; returns the exit code. */
function runRasket(words: readonly string[], env: NodeJS.ProcessEnv): number {
  return spawnSync(executable, [...words], { stdio: ['ignore', 'inherit', 'inherit'], env }).status ?? 1;
}

export interface First {
  team: string | undefined;
  owner: string | undefined;
  domain: string | undefined;
}

interface Work {
  config: Config;
  dataDir: string;
  file: string;
  options: SetupOptions;
  asker: Asker;
  answers: Answers;
  known: Known;
  first: First;
  /** True if the settings file was rewritten. */
  isChanged: boolean;
}

/**
 * Does everything that follows the settings: team, domain, service, certificate, a check of all of it, the first email.
 */
export async function finish(work: Work): Promise<void> {
  const { asker, answers, config, known, first } = work;
  const team = await haveTeam(work);
  const key = team.key ?? (await offerKey(work, team.id));
  await printHostRecords(work);
  printSpf(work);
  const domain = first.domain === undefined ? undefined : await printDomain(work, team.id, first.domain);
  if (answers.https.kind === 'proxy') printProxy(work, answers.https.program);
  const service = findService(work.dataDir, { data: work.dataDir, config: work.file });
  // An interrupted call may have written them, but not restarted the service.
  const isChanged = work.isChanged || isNewerThanServer(work.dataDir, work.file);
  const isUp = await bringUp(service, asker, { isChanged, start: shouldStart(work.options) });
  await testRelay(work);
  if (isUp && asksForCertificates(config)) await waitForCertificate(work);
  examine(work, key);
  if (domain) printFirstEmail(work, domain, key);
  if (!isChanged && known.team && team.key === undefined && domain?.isNew !== true)
    asker.print('\nEverything was set up already; nothing was changed.');
}

/** --yes starts the service that it has set up. */
const shouldStart = ({ start, yes }: SetupOptions): boolean | undefined => start ?? (yes ? true : undefined);

async function haveTeam({ config, dataDir, known, first }: Work): Promise<{ id: string; key: string | undefined }> {
  if (known.team) return { id: known.team.id, key: undefined };
  const made = await runAsFolderOwner(dataDir, () =>
    makeTeam(config, dataDir, {
      ...(first.team === undefined ? {} : { team: first.team }),
      ...(first.owner === undefined ? {} : { owner: first.owner }),
    }),
  );
  process.stdout.write(`\nTeam     ${made.slug} (${made.teamId})\n`);
  printKey(made.apiKey, config);
  process.stdout.write(ownerLines(made.owner));
  return { id: made.teamId, key: made.apiKey };
}

/** Another program may listen on the usual port, and must not be sent the key. */
function printKey(key: string, config: Config): void {
  const url = urlFromHere(config);
  const isUsual = url === DEFAULT_URL || config.http.port === 0;
  const login = `rasket login --api-key${isUsual ? '' : ` --url ${url}`}`;
  process.stdout.write(`API key  ${key}\n         This is the only time it is shown; keep it safe: ${login}\n`);
}

/** A run that was interrupted before the key was on the screen leaves its person without one. */
async function offerKey({ config, dataDir, known, options, asker }: Work, teamId: string): Promise<string | undefined> {
  const isOffered = known.isKeyUnused && asker.isInteractive;
  const isWanted =
    options.newKey ??
    (isOffered && (await asker.agree('No key of this team has been used yet. Create another one?', 'no')));
  if (!isWanted) return undefined;
  const key = await makeKey({ config, dataDir }, teamId);
  process.stdout.write('\n');
  printKey(key, config);
  return key;
}

async function printHostRecords({ config, answers, asker }: Work): Promise<void> {
  const { zone, lacks } = await hostRecords(answers.host, answers.addresses, createLookUps(config.dns));
  process.stdout.write(`\n; This machine\n${zone}\n`);
  if (lacks.length === 0) asker.print('DNS has these records, and reverse DNS is correct.');
  for (const one of lacks) asker.print(`- ${one}`);
}

async function printDomain(work: Work, teamId: string, name: string): Promise<{ domain: Domain; isNew: boolean }> {
  const made = await haveDomain(work, teamId, name);
  const { id, status } = made.domain;
  if (status !== 'verified' && work.options.publishWith !== undefined) {
    if (await publish(work, teamId, id, work.options.publishWith)) return made;
  }
  process.stdout.write(`\n; ${name}, ${made.isNew ? 'new' : status}\n${zoneSnippet(made.domain)}\n`);
  if (status !== 'verified') work.asker.print(`Publish these records, then: rasket domains verify ${name}`);
  return made;
}

/** Shows the change before it is made; returns whether it was made. */
async function publish(work: Work, teamId: string, domainId: string, provider: string): Promise<boolean> {
  const { asker } = work;
  const apiToken = provider === 'cloudflare' ? process.env.CLOUDFLARE_API_TOKEN : undefined;
  const ask = (isDryRun: boolean): Promise<Published> =>
    publishRecords(work, { teamId, domainId, provider, apiToken, isDryRun });
  const planned = await ask(true);
  for (const { action, name, type, value } of planned.changes)
    process.stdout.write(`  ${action} ${name} ${type} ${value}\n`);
  if (asker.isInteractive && !(await asker.agree(`Change the zone ${planned.zone} at ${provider}?`))) return false;
  const { changes, zone } = await ask(false);
  asker.print(`${changes.length} changes were made in ${zone}. Next: rasket domains verify`);
  return true;
}

/** Logs in to the relay of the settings, so that a wrong password is seen before the first email waits for it. */
async function testRelay({ config, dataDir, asker }: Work): Promise<void> {
  const name = config.delivery.relay;
  const settings = config.relays[name];
  if (settings === undefined) return;
  const { isGood, faults } = await runAsFolderOwner(dataDir, () =>
    examineConfiguredRelay(config, name, settings, dataDir),
  );
  asker.print(
    isGood
      ? `\nThe relay ${name} (${settings.host}) allows this server to send.`
      : `\nStill to do: ${explainFault(name, faults)}. Try again with: rasket relays test ${name}`,
  );
}

/** Explains what domains have to publish when the installation uses a new relay. */
function printSpf({ asker, answers }: Work): void {
  if (answers.relay === undefined) return;
  const { spfInclude } = answers.relay;
  asker.print(
    spfInclude === undefined
      ? 'SPF: recipients receive your mail from the addresses of the relay. Find the SPF include in its documentation, add it to domains.spf in the settings, and publish the new record of each domain; or let the relay use its own return path.'
      : `SPF: the record of each sending domain now includes ${spfInclude}, as below. Domains that are already verified have to publish it again; rasket domains verify shows which ones.`,
  );
}

function printProxy({ config, answers, asker }: Work, program: string | undefined): void {
  const behind = { host: answers.host, apiPort: config.http.port, asksAuthority: asksForCertificates(config) };
  asker.print('\nFor your web server, which forwards requests to the API:');
  process.stdout.write(`${proxySnippets(program, behind)}\n`);
}

/** The scheduler checks once a minute. */
const CERTIFICATE_SECONDS = 100;

/** The scheduler orders it by itself; here it is only waited for. */
async function waitForCertificate({ config, dataDir, answers, asker }: Work): Promise<void> {
  asker.print(`Waiting for the certificate of ${answers.host} from ${new URL(config.acme.directory).host} …`);
  const last = await awaitCertificate({ config, dataDir }, answers.host, CERTIFICATE_SECONDS);
  if (last?.status === 'issued') return asker.print(`Certificate: issued, until ${last.ends_at?.slice(0, 10)}.`);
  const why = last?.last_error ? `: ${last.last_error}` : ' yet';
  asker.print(
    `Certificate: not issued${why}. The server retries automatically${last ? ` at ${last.next_try_at}` : ''}; see rasket doctor and rasket tls.`,
  );
}

function examine({ config, dataDir, file, asker }: Work, key: string | undefined): void {
  asker.print('\nrasket doctor reports:');
  const words = ['doctor', '--data', dataDir, '--config', file];
  // The key that a variable names is sent only to an address that is named together with it. The public address may not
  // work yet.
  const isKeyTried = key !== undefined && config.http.port !== 0;
  const ended = isKeyTried
    ? runRasket([...words, '--url', urlFromHere(config)], { ...process.env, RASKET_API_KEY: key })
    : runRasket(words, { ...process.env, RASKET_API_KEY: undefined });
  if (ended !== 0) asker.print('Correct what it reports. The setup itself is complete.');
}

function printFirstEmail(
  { config, dataDir, first, asker }: Work,
  { domain }: { domain: Domain },
  key: string | undefined,
): void {
  const url = urlFromHere(config);
  const when = domain.status === 'verified' ? '' : `, once ${domain.name} is verified`;
  const start = runningPid(dataDir) === undefined ? ' and the server is running' : '';
  asker.print(`\nThe first email${when}${start}:\n`);
  process.stdout.write(
    `${firstEmailLine({ url, key, domain: domain.name, to: first.owner ?? 'someone@example.com' })}\n`,
  );
}

export interface ProxiedHost {
  host: string;
  apiPort: number;
  /** True when rasket itself requests certificates from an authority, through the web server. */
  asksAuthority: boolean;
}

/** Returns configuration for the web server in front of the API: for the detected one, or for the most common ones. */
export function proxySnippets(program: string | undefined, behind: ProxiedHost): string {
  const all: Readonly<Record<string, (behind: ProxiedHost) => string>> = { nginx, Caddy: caddy, Apache: apache };
  const known = all[program ?? ''];
  return known ? known(behind) : [nginx(behind), caddy(behind)].join('\n\n');
}

/**
 * A web server that validates its own name by a file keeps doing so; rasket gets the requests for which it has no file.
 */
const nginx = ({ host, apiPort, asksAuthority }: ProxiedHost): string => `# nginx: /etc/nginx/conf.d/rasket.conf
server {
    listen 80;
    listen [::]:80;
    server_name ${host};
${
  asksAuthority
    ? `    location /.well-known/acme-challenge/ {
        root /var/www/html;
        try_files $uri @rasket;
    }
    location @rasket { proxy_pass http://127.0.0.1:${apiPort}; }
`
    : ''
}    location / { return 301 https://$host$request_uri; }
}
server {
    listen 443 ssl;
    listen [::]:443 ssl;
    server_name ${host};
    ssl_certificate     /etc/letsencrypt/live/${host}/fullchain.pem;   # your web server's own, for this name
    ssl_certificate_key /etc/letsencrypt/live/${host}/privkey.pem;
    client_max_body_size 50m;
    location / {
        proxy_pass http://127.0.0.1:${apiPort};
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}`;

/** Caddy gets its own certificate, and passes on challenges that are not its own. */
const caddy = ({ host, apiPort }: ProxiedHost): string => `# Caddy: /etc/caddy/Caddyfile
${host} {
    reverse_proxy 127.0.0.1:${apiPort}
}`;

/** Comments must not follow a directive: they would be another argument of it. */
const apache = ({
  host,
  apiPort,
  asksAuthority,
}: ProxiedHost): string => `# Apache: /etc/apache2/sites-available/rasket.conf
# Then: a2enmod proxy proxy_http headers rewrite ssl; a2ensite rasket; systemctl restart apache2
<VirtualHost *:80>
    ServerName ${host}
    DocumentRoot /var/www/html
    RewriteEngine on
${
  asksAuthority
    ? `    RewriteCond %{DOCUMENT_ROOT}%{REQUEST_URI} !-f
    RewriteRule ^/\\.well-known/acme-challenge/ http://127.0.0.1:${apiPort}%{REQUEST_URI} [P]
    RewriteRule !^/\\.well-known/acme-challenge/ https://${host}%{REQUEST_URI} [R=301,L]
`
    : `    RewriteRule ^ https://${host}%{REQUEST_URI} [R=301,L]
`
}</VirtualHost>
<VirtualHost *:443>
    ServerName ${host}
    SSLEngine on
    # Your web server's own, for this name.
    SSLCertificateFile    /etc/letsencrypt/live/${host}/fullchain.pem
    SSLCertificateKeyFile /etc/letsencrypt/live/${host}/privkey.pem
    LimitRequestBody 52428800
    AllowEncodedSlashes NoDecode
    ProxyPreserveHost On
    ProxyPass / http://127.0.0.1:${apiPort}/ nocanon ttl=60
    RequestHeader set X-Forwarded-Proto https
</VirtualHost>`;
