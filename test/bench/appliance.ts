import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, watch as watchFolder } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { stopChild, watch } from './children.ts';
import { SENDER_DOMAIN, sitesInDns } from './messages.ts';

export const LAUNCHER = fileURLToPath(new URL('../../bin/rasket', import.meta.url));

export type Call = (method: string, target: string, body?: unknown) => Promise<unknown>;

/** The product as its users start it: the launcher, a data folder, settings by environment, log lines to a file. */
export interface Appliance {
  pid: number;
  url: string;
  key: string;
  dataDir: string;
  /** Milliseconds from the start of the process to ready.json. */
  readyMs: number;
  call: Call;
  /** Calls the API with the key of another team. */
  callAs(key: string): Call;
  /** Ends it as a power cut would: the next measurement must not wait for mail that nobody counts any more. */
  kill(): Promise<void>;
  /** Ends it as an operator would. */
  stop(): Promise<void>;
}

export interface ApplianceOptions {
  dataDir: string;
  dns: DnsRig;
  sinkPort: number;
  roles?: string;
  key?: string;
  /** Writes a processor profile into this folder when it is stopped. */
  profileDir?: string | undefined;
  env?: Record<string, string>;
}

/** Everything not named here is as config/default.toml has it. */
export function settings(options: Pick<ApplianceOptions, 'dns' | 'sinkPort' | 'env'>): NodeJS.ProcessEnv {
  return {
    ...inheritedEnvironment(),
    RASKET_INSTANCE_HOST: 'mail.bench.test',
    RASKET_HTTP_PORT: '0',
    RASKET_SUBMISSION_PORTS: '',
    RASKET_SUBMISSION_TLS_PORTS: '',
    RASKET_RECEIVING_PORTS: '',
    RASKET_DNS_SERVERS: options.dns.server,
    RASKET_DELIVERY_SMTP_PORT: String(options.sinkPort),
    RASKET_NETWORK_MAIL_ALLOW_PRIVATE: '127.0.0.0/8',
    RASKET_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
    RASKET_RATE_LIMIT_BURST: '100000',
    RASKET_PLANS_STANDARD_INCLUDED_EMAILS: '1000000000',
    ...options.env,
  };
}

/** Returns the environment without the variables that would make every Node slower to start alike, and so flatter the ratio. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('RASKET_') && !name.startsWith('NODE_'));
  return Object.fromEntries(ours);
}

/** Every name but the sender's gets its mail at the sink. */
export const startBenchDns = (): Promise<DnsRig> =>
  startDns({ '*': { MX: ['10 mx.sink.test'] }, 'mx.sink.test': { A: ['127.0.0.1'] }, ...sitesInDns() });

export function initialise(
  dataDir: string,
  dns: DnsRig,
  own: Record<string, string> = {},
): { team_id: string; api_key: string } {
  const env = settings({ dns, sinkPort: 1, env: own });
  const made = spawnSync(LAUNCHER, ['init', '--data', dataDir, '--json'], { env, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`rasket init failed: ${made.stderr}`);
  return JSON.parse(made.stdout) as { team_id: string; api_key: string };
}

/** A new installation with a verified domain, ready to send. */
export async function startSending(options: ApplianceOptions): Promise<Appliance> {
  const { api_key: key } = initialise(options.dataDir, options.dns, options.env);
  const appliance = await startAppliance({ ...options, key });
  await verifiedDomain(appliance, options.dns, SENDER_DOMAIN);
  return appliance;
}

export async function verifiedDomain({ call }: Pick<Appliance, 'call'>, dns: DnsRig, name: string): Promise<void> {
  const domain = (await call('POST', '/domains', { name })) as CreatedDomain;
  for (const record of domain.records) {
    if (record.type === 'MX') dns.set(record.name, 'MX', [`${record.priority} ${record.value}`]);
    else dns.set(record.name, 'TXT', [record.value.match(/.{1,255}/g) ?? []]);
  }
  await call('POST', `/domains/${domain.id}/verify`);
  const { status } = (await call('GET', `/domains/${domain.id}`)) as CreatedDomain;
  if (status !== 'verified') throw new Error(`the domain ${name} is ${status} after its verification`);
}

interface CreatedDomain {
  id: string;
  status: string;
  records: { type: 'TXT' | 'MX'; name: string; value: string; priority?: number }[];
}

const READY_MS_MAX = 30_000;

export async function startAppliance(options: ApplianceOptions): Promise<Appliance> {
  const { dataDir, key = '' } = options;
  const log = openSync(path.join(dataDir, 'bench.log'), 'a');
  const env = settings(options);
  if (options.profileDir !== undefined) env['NODE_OPTIONS'] = `--cpu-prof --cpu-prof-dir=${options.profileDir}`;
  const roles = options.roles === undefined ? [] : ['--roles', options.roles];
  const begin = performance.now();
  const child = spawn(LAUNCHER, ['serve', '--data', dataDir, ...roles], { env, stdio: ['ignore', 'ignore', log] });
  closeSync(log);
  watch(child);
  const url = await untilReady(child, dataDir);
  return {
    pid: child.pid ?? 0,
    url,
    key,
    dataDir,
    readyMs: performance.now() - begin,
    call: (method, target, body) => call(url, key, method, target, body),
    callAs: (other) => (method, target, body) => call(url, other, method, target, body),
    kill: () => stopChild(child, 'SIGKILL'),
    stop: () => stopChild(child, 'SIGTERM'),
  };
}

function untilReady(child: ChildProcess, dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'run', 'ready.json');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(new Error(`rasket serve was not ready in ${READY_MS_MAX} ms`)), READY_MS_MAX);
    const watcher = watchFolder(path.dirname(file), look);
    const onExit = (): void => end(new Error(`rasket serve ended: ${lastLines(dataDir)}`));
    child.once('exit', onExit);
    function look(): void {
      if (!existsSync(file)) return;
      const ready = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; listeners: { http?: { url: string } } };
      // One left by a process that was killed names another pid.
      if (ready.pid === child.pid) end(ready.listeners.http?.url ?? '');
    }
    function end(outcome: string | Error): void {
      clearTimeout(timer);
      watcher.close();
      child.off('exit', onExit);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    }
    look();
  });
}

const lastLines = (dataDir: string): string =>
  readFileSync(path.join(dataDir, 'bench.log'), 'utf8').trimEnd().split('\n').slice(-3).join(' | ');

async function call(url: string, key: string, method: string, target: string, body: unknown): Promise<unknown> {
  const headers: Record<string, string> = { authorization: `Bearer ${key}`, 'user-agent': 'rasket-bench' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  const response = await fetch(`${url}${target}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${target} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
