// clients --> one port of several processes (killed and restarted one by one) --> sink
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openReadOnly } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine, type Program } from './program.ts';

const LAUNCHER = path.resolve(import.meta.dirname, '../../bin/rasket');
const KILLS = scaled(2);
const CLIENTS = 8;
const TWO = { RASKET_NODE_PROCESSES: '2' };

interface Ready {
  pid: number;
  processes: { number: number; pid: number }[];
  restarts: number;
  restart_failed?: string;
}

const readReady = ({ dataDir }: Program): Ready =>
  JSON.parse(readFileSync(path.join(dataDir, 'run', 'ready.json'), 'utf8')) as Ready;

const pids = (program: Program): number[] => readReady(program).processes.map(({ pid }) => pid);

interface Answer {
  status: number;
  id: string | undefined;
}

/** Sends one email; rejects if the connection breaks before the whole response has arrived. */
function send(url: string, program: Program, { n, agent }: { n: number; agent: Agent }): Promise<Answer> {
  const body = JSON.stringify({
    from: program.from,
    to: `r${n}@d${n % 7}.example`,
    subject: `Number ${n}`,
    text: 'Hello',
  });
  const headers = {
    authorization: `Bearer ${program.apiKey}`,
    'user-agent': 'rasket-tests/1',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'idempotency-key': `send-${n}`,
  };
  return new Promise((resolve, reject) => {
    const asking = request(`${url}/emails`, { method: 'POST', headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, id: (JSON.parse(text) as { id?: string }).id }),
      );
      response.on('error', reject);
    });
    asking.on('error', reject).end(body);
  });
}

/** Sends a request on a connection that stays open, and returns the head of the response; undefined if there is none. */
async function askOn(socket: Socket): Promise<string | undefined> {
  if (socket.destroyed) return undefined;
  const head = new Promise<string | undefined>((resolve) => {
    let text = '';
    socket.on('data', (part) => {
      text += part.toString();
      if (text.includes('\r\n\r\n')) resolve(text);
    });
    socket.once('close', () => resolve(undefined));
  });
  socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: rasket-tests/1\r\n\r\n');
  const response = await head;
  socket.removeAllListeners('data').removeAllListeners('close');
  return response;
}

async function readMetrics(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Starts two processes and a sink that counts the arrivals of each email. */
async function startTwo({
  onLog = () => undefined,
  env = {},
}: { onLog?: (line: LogLine) => void; env?: Record<string, string> } = {}) {
  const arrivals = new Map<string, number>();
  const sink = await startSink({
    keep: false,
    onMessage({ data }) {
      const id = /^message-id: *<([^@]+)@/im.exec(data.toString('latin1'))?.[1] ?? 'no Message-ID';
      arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
    },
  });
  onTestFinished(() => sink.close());
  const program = await installProgram(sink, onLog, { env: { ...TWO, ...env } });
  return { arrivals, program, url: await program.listening() };
}

// runs only with PostgreSQL: an SQLite file is written by one process
it.runIf(driver === 'pg')(
  'every accepted email arrives once while single processes are killed, and each is replaced without touching the other',
  { timeout: 240_000 },
  async () => {
    const { arrivals, program, url } = await startTwo();
    const supervisor = readReady(program).pid;
    expect(pids(program)).toHaveLength(2);
    const accepted = new Set<string>();
    let isOver = false;
    let next = 0;
    const client = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true });
      while (!isOver) {
        const n = next++;
        // A connection to the killed process breaks; the client asks again with the same key, as SDKs do.
        let answer: Answer | undefined;
        while (answer?.status !== 200) answer = await send(url, program, { n, agent }).catch(() => undefined);
        accepted.add(answer.id ?? '');
      }
      agent.destroy();
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, client));
    for (let kill = 0; kill < KILLS; kill++) {
      const from = accepted.size;
      await vi.waitFor(() => expect(accepted.size).toBeGreaterThan(from + 50), { timeout: 60_000, interval: 20 });
      const before = pids(program);
      const [victim = 0, other] = kill % 2 === 0 ? before : before.toReversed();
      process.kill(victim, 'SIGKILL');
      await vi.waitFor(
        () => {
          const now = pids(program);
          expect(now).toHaveLength(2);
          expect(now).not.toContain(victim);
          expect(now).toContain(other);
        },
        { timeout: 60_000, interval: 20 },
      );
    }
    isOver = true;
    await clients;
    expect(readReady(program).pid).toBe(supervisor);
    const db = await openReadOnly({ ...program.database, file: '', poolMax: 1 });
    onTestFinished(() => db.close());
    const readStates = () => db.all<{ id: string; last_event: string }>('select id, last_event from emails');
    const isUnsettled = ({ last_event: state }: { last_event: string }): boolean => ['queued', 'sent'].includes(state);
    // A message whose final dot was under way in a killed process stays in doubt, and is never sent again.
    const inDoubt = (): Promise<{ n: number } | undefined> =>
      db.get<{ n: number }>(
        'select count(*) as n from deliveries where handed_off_at is not null and lease_owner is null',
      );
    await vi.waitFor(
      async () => {
        const unsettled = (await readStates()).filter(isUnsettled).length;
        expect(unsettled).toBe((await inDoubt())?.n);
      },
      { timeout: 60_000, interval: 100 },
    );
    const states = await readStates();
    const doubtful = states.filter(isUnsettled).length;
    expect(new Set(states.map(({ id }) => id))).toEqual(accepted);
    expect([...arrivals].filter(([, count]) => count > 1)).toEqual([]);
    expect([...arrivals.keys()].filter((id) => !accepted.has(id))).toEqual([]);
    expect(accepted.size - arrivals.size).toBeLessThanOrEqual(doubtful);
    console.log(JSON.stringify({ kills: KILLS, accepted: accepted.size, arrived: arrivals.size, doubtful }));
  },
);

// runs only with PostgreSQL, as above
it.runIf(driver === 'pg')(
  'a rolling restart replaces every process and drops no request, on new connections and on kept ones',
  { timeout: 240_000 },
  async () => {
    const lines: LogLine[] = [];
    const takenOver = Promise.withResolvers<void>();
    const { program, url } = await startTwo({
      onLog(line) {
        lines.push(line);
        if (line.msg.startsWith('another process takes over')) takenOver.resolve();
      },
    });
    const supervisor = readReady(program).pid;
    const before = pids(program);
    const metrics = await readMetrics(url);
    for (const number of ['1', '2'])
      expect(metrics).toMatch(new RegExp(`^rasket_nodes\\{process="${number}"\\} 2$`, 'm'));
    expect(new Set(lines.map((line) => line.process))).toEqual(new Set([undefined, 1, 2]));
    const faults: unknown[] = [];
    let isOver = false;
    let next = 0;
    const client = async (keepAlive: boolean): Promise<void> => {
      const agent = new Agent({ keepAlive });
      while (!isOver) {
        const answer = await send(url, program, { n: next++, agent }).catch((fault: unknown) => ({ status: 0, fault }));
        if (answer.status !== 200) faults.push(answer);
      }
      agent.destroy();
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at % 2 === 0)));
    // These connections have no request under way when their process is replaced.
    const kept = Array.from({ length: 8 }, () =>
      connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined),
    );
    onTestFinished(() => kept.forEach((socket) => void socket.destroy()));
    for (const socket of kept) expect(await askOn(socket)).toMatch(/^HTTP\/1\.1 200 /);
    const restart = spawn(LAUNCHER, ['restart'], { env: program.env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    restart.stdout.on('data', (part: Buffer) => (output += part.toString()));
    const ended = once(restart, 'exit');
    await takenOver.promise;
    const heads = await Promise.all(kept.map(askOn));
    expect(heads.map((head) => head?.split('\r\n', 1)[0])).toEqual(kept.map(() => 'HTTP/1.1 200 OK'));
    expect(heads.filter((head) => /^connection: close\r$/im.test(head ?? '')).length).toBeGreaterThan(0);
    expect(await ended).toEqual([0, null]);
    expect(output).toBe('Restarted 2 processes.\n');
    isOver = true;
    await clients;
    expect(faults).toEqual([]);
    const after = pids(program);
    expect(after).toHaveLength(2);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(readReady(program).pid).toBe(supervisor);
    await program.stop();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  },
);

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

// runs only with PostgreSQL, as above
it.runIf(driver === 'pg')(
  'a new process that cannot start leaves the others in place, and all end with their supervisor',
  { timeout: 240_000 },
  async () => {
    const folder = scratchFolder('rasket-settings-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'rasket.toml');
    writeFileSync(file, '');
    const { program, url } = await startTwo({ env: { RASKET_CONFIG: file } });
    const before = pids(program);
    writeFileSync(file, '[http]\nport = "none"\n');
    const refused = spawnSync(LAUNCHER, ['restart'], { env: program.env, encoding: 'utf8' });
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining('http.port') });
    expect(refused.status).not.toBe(0);
    expect(readReady(program).restarts).toBe(0);
    process.kill(readReady(program).pid, 'SIGUSR2');
    await vi.waitFor(() => expect(readReady(program).restarts).toBe(1), { timeout: 60_000, interval: 50 });
    expect(readReady(program).restart_failed).toBe('process 1 did not start with the present settings');
    expect(pids(program)).toEqual(before);
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    await program.kill();
    await vi.waitFor(() => expect(before.filter(isRunning)).toEqual([]), { timeout: 60_000, interval: 50 });
    writeFileSync(file, '');
    await program.start();
    const started = pids(program);
    await program.stop();
    expect(started.filter(isRunning)).toEqual([]);
  },
);

// runs only with PostgreSQL, as above
it.runIf(driver === 'pg')('several processes whose port is taken end as one does, with its number', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { program } = await startTwo();
  await program.stop();
  await expect(program.start({ RASKET_HTTP_PORT: String(port) })).rejects.toThrow(`port ${port}`);
});
