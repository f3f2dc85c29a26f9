import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { makeTeam } from '../../bin/commands/init.ts';
import { loadConfig, type Config } from '../../src/platform/config/index.ts';
import { createInstanceKey } from '../../src/platform/secrets/index.ts';
import { createApi, type Api } from '../rig/api.ts';
import { makeMigratedDatabase, type TestDatabase } from '../rig/database.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { publish } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';

const LAUNCHER = path.resolve(import.meta.dirname, '../../bin/rasket');
const DOMAIN = 'sender.example.com';

const UNLIMITED = { RASKET_RATE_LIMIT_REQUESTS_PER_SECOND: '100000', RASKET_RATE_LIMIT_BURST: '100000' };

/** Programs of tests that run at the same time would want the same ports. */
export const CLOSED_SMTP_PORTS = {
  RASKET_SUBMISSION_PORTS: '',
  RASKET_SUBMISSION_TLS_PORTS: '',
  RASKET_RECEIVING_PORTS: '',
};

export interface LogLine {
  msg: string;
  [field: string]: unknown;
}

/** The program as its operator runs it, in a process of its own, to be killed and started again on the same data. */
export interface Program extends Process {
  dataDir: string;
  database: TestDatabase['settings'];
  teamId: string;
  apiKey: string;
  from: string;
  /** Its settings, as the environment has them. */
  env: NodeJS.ProcessEnv;
  /** Another node on the same database, with a data folder of its own and these settings as well. */
  addNode(changed: Record<string, string>): Promise<Process>;
  /** Another process of the same node. */
  addProcess(): Promise<Process>;
}

export interface Process {
  /** Resolves with the address as soon as the program listens, also after the next start. */
  listening(): Promise<string>;
  /** Resolves when the program of now is ready; from here on with these settings as well. */
  start(changed?: Record<string, string>): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when the process is gone. */
  stop(): Promise<void>;
}

/** Installed, started and with a verified domain; it ends with the test, even one that ran out of time. */
export async function installProgram(
  sink: Sink,
  onLog: (line: LogLine) => void,
  options: {
    env?: Record<string, string>;
    publish?: (dns: DnsRig) => void;
    database?: TestDatabase;
    /** An empty folder, to be its data folder. */
    folder?: string;
  } = {},
): Promise<Program> {
  const dataDir = path.join(options.folder ?? scratchFolder('rasket-fault-'), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  createInstanceKey(dataDir);
  const database = options.database ?? (await makeMigratedDatabase(dataDir));
  const dns = await startDns({ '*': { MX: ['10 mx.sink.test'] }, 'mx.sink.test': { A: ['127.0.0.1'] } });
  const env = buildSettings(dataDir, { database, dns, sink }, options.env);
  options.publish?.(dns);
  const own = startProcess(env, onLog);
  const others: Process[] = [];

  onTestFinished(async () => {
    for (const one of [own, ...others]) await one.kill();
    await dns.close();
    await database.drop();
    rmSync(options.folder === undefined ? path.dirname(dataDir) : dataDir, { recursive: true, force: true });
  });
  // This does what `rasket init` does, without the start of a process and every migration that it would be here.
  const made = await makeTeam(buildConfig(env), dataDir, {});

  const program: Program = {
    dataDir,
    database: database.settings,
    teamId: made.teamId,
    apiKey: made.apiKey,
    from: `Fault <fault@${DOMAIN}>`,
    env,
    ...own,
    async addNode(changed) {
      const folder = path.join(path.dirname(dataDir), `node-${others.length + 2}`);
      mkdirSync(folder, { mode: 0o700 });
      copyFileSync(path.join(dataDir, 'instance.key'), path.join(folder, 'instance.key'));
      const node = startProcess({ ...env, ...changed, RASKET_DATA: folder }, onLog);
      others.push(node);
      await node.start();
      return node;
    },
    async addProcess() {
      const process = startProcess(env, onLog);
      others.push(process);
      await process.start();
      return process;
    },
  };
  await program.start();
  await verifyDomain(createApi(await program.listening()), made.apiKey, dns);
  return program;
}

function startProcess(env: NodeJS.ProcessEnv, onLog: (line: LogLine) => void): Process {
  let child: ChildProcess | undefined;
  let up = Promise.withResolvers<string>();

  const end = async (signal: 'SIGKILL' | 'SIGTERM', ending = child): Promise<void> => {
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    up = Promise.withResolvers<string>();
    const gone = new Promise((done) => ending.once('exit', done));
    ending.kill(signal);
    await gone;
  };

  return {
    listening: () => up.promise,
    async start(changed = {}) {
      Object.assign(env, changed);
      const starting = spawn(LAUNCHER, ['serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
      child = starting;
      const complaints: string[] = [];
      const ready = new Promise<string>((done, fail) => {
        createInterface({ input: starting.stderr }).on('line', (text) => {
          if (!text.startsWith('{')) return void complaints.push(text);
          const line = readLine(text);
          // A line that a kill cut off is not a whole line.
          if (!line) return void complaints.push(text);
          if (line.level === 'error') complaints.push(text);
          onLog(line);
          if (line.msg === 'ready') done((line as unknown as Ready).listeners.http.url);
        });
        starting.once('exit', (code) => fail(new Error(`the program ended with ${code}: ${complaints.join('\n')}`)));
      });
      const comingUp = up;
      // A caller that waits for its address hears as well that it did not come up; the next start has a promise of its own.
      comingUp.promise.catch(() => undefined);
      try {
        comingUp.resolve(await ready);
      } catch (error) {
        if (up === comingUp) up = Promise.withResolvers<string>();
        comingUp.reject(error);
        throw error;
      }
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

function readLine(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}

/** The environment of the program, as an operator would set it. */
function buildSettings(
  dataDir: string,
  { database, dns, sink }: { database: TestDatabase; dns: DnsRig; sink: Sink },
  more: Record<string, string> = {},
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    RASKET_DATA: dataDir,
    // These files are in memory, where scratch folders are, and are removed with the data.
    RUNTIME_DIRECTORY: dataDir,
    RASKET_INSTANCE_HOST: 'rasket.test',
    RASKET_HTTP_PORT: '0',
    ...CLOSED_SMTP_PORTS,
    ...UNLIMITED,
    RASKET_DATABASE_DRIVER: database.settings.driver,
    RASKET_DATABASE_URL: database.settings.url,
    RASKET_DNS_SERVERS: dns.server,
    RASKET_DELIVERY_SMTP_PORT: String(sink.port),
    RASKET_NETWORK_MAIL_ALLOW_PRIVATE: '127.0.0.0/8',
    RASKET_LOG_LEVEL: 'info',
    ...more,
  };
}

/** Returns the configuration that the program reads from this environment. */
export function buildConfig(env: NodeJS.ProcessEnv): Config {
  const own = Object.entries(env).filter(([name]) => /^RASKET_(?!TEST_|DATA$)/.test(name));
  return loadConfig({ env: Object.fromEntries(own) }).config;
}

interface Ready {
  listeners: { http: { url: string } };
}

async function verifyDomain(api: Api, key: string, dns: DnsRig): Promise<void> {
  const created = await api('POST', '/domains', { key, body: { name: DOMAIN } });
  publish(dns, created.body);
  await api('POST', `/domains/${created.body.id}/verify`, { key });
}

/** Installs the program with a receiver of webhooks that it trusts and may reach. */
export async function installBesideReceiver(
  env: Record<string, string>,
): Promise<{ program: Program; receiver: WebhookReceiver }> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const folder = scratchFolder('rasket-receiver-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const certificate = path.join(folder, 'receiver.pem');
  writeFileSync(certificate, receiver.certificate.cert);
  const sink = await startSink({ keep: false });
  onTestFinished(() => sink.close());
  const trust = { NODE_EXTRA_CA_CERTS: certificate, RASKET_NETWORK_HTTP_ALLOW_PRIVATE: '127.0.0.2/32' };
  const options = { env: { ...trust, ...env }, publish: (dns: DnsRig) => receiver.publishIn(dns) };
  return { receiver, program: await installProgram(sink, () => undefined, options) };
}
