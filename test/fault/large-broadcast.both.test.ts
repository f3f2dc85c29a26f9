// a broadcast and single mail --> one process, or two nodes on PostgreSQL (killed) --> receivers like the large providers
//
// RASKET_TEST_MESSAGES is the number of readers. With 50,000 it takes ten minutes at least, because La Poste takes 60 messages a minute:
//   RASKET_TEST_MESSAGES=50000 npx vitest run --project sqlite --project pg test/fault/large-broadcast
// A PostgreSQL that syncs is one of your own (RASKET_TEST_PG_URL); that of the tests does not.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { repeat, systemClock } from '../../src/platform/clock.ts';
import { POSTAL_ADDRESS } from '../flow/campaign.ts';
import { createApi, type Api, type ApiAnswer } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { buildForm } from '../rig/forms.ts';
import { startObjectServer } from '../rig/object-server.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink } from '../rig/sink.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { askUntilAnswered } from './nodes-under-faults.ts';
import { installProgram, type LogLine, type Process, type Program } from './program.ts';
import type { SeenLimits } from './receivers-process.ts';
import { publishReceivers, startReceivers, type Receivers } from './receivers.ts';

const READERS = Number(process.env['RASKET_TEST_MESSAGES'] ?? Math.min(2000, scaled(300)));
/** Single mails before the broadcast; p99 means something with a few hundred. */
const IDLE = Math.min(400, Math.max(20, READERS / 100));
/** Single mails beside it, five a second, at most. */
const CUSTOMERS = IDLE + Math.max(1000, READERS / 10);
const EVERY_MS = 200;
const WITHIN_MS = 240_000 + READERS * 60;
const HTML = `<h1>News</h1>${'<p>What is new at our shop this week, {{{FIRST_NAME|reader}}}.</p>'.repeat(60)}<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>`;

interface Node {
  process: Process;
  /** Undefined while it is down. */
  url: string | undefined;
  call: Api;
  inVain: number;
}

async function noteListening(process: Process): Promise<Node> {
  const url = await process.listening();
  return { process, url, call: createApi(url), inVain: 0 };
}

/** A kill -9 when so much of the broadcast has been accepted, and the start that follows. */
interface Kill {
  at: number;
  node: number;
  backAt: number;
}

const KILLS: readonly Kill[] =
  driver === 'pg'
    ? [
        { at: 0.25, node: 0, backAt: 0.4 },
        { at: 0.55, node: 1, backAt: 0.55 },
      ]
    : [
        { at: 0.3, node: 0, backAt: 0.3 },
        { at: 0.6, node: 0, backAt: 0.6 },
      ];
/** On PostgreSQL the second node joins while the first one is sending the broadcast. */
const JOINS_AT = 0.1;
/** Single mail is sent until so much of the broadcast has been accepted. */
const ENOUGH = 0.85;

interface Field {
  program: Program;
  receivers: Receivers;
  nodes: Node[];
  random: () => number;
  ended: number;
  watch: Receivers['watch'];
  /** Recipients of mail whose outcome the program does not know. */
  doubtful: Set<string>;
  log: Map<string, number>;
  errors: LogLine[];
  /** When each single mail was first requested. */
  postedAt: Map<string, number>;
  outages: { from: number; to: number }[];
}

it(
  `a broadcast to ${READERS} beside single mail exceeds no limit of a receiver, and loses and doubles nothing through kill -9`,
  { timeout: WITHIN_MS },
  async () => {
    const field = await setUp();
    const { receivers, watch } = field;
    const customers = receivers.customers.values();
    await importReaders(field);
    const idle = await sendSingly(field, customers, (count) => count >= IDLE);
    await watch.until(() => receivers.over.size === idle.length);

    const began = Date.now();
    const broadcastId = await sendBroadcast(field);
    const share = (part: number): Promise<void> =>
      watch.until(() => receivers.acceptedAt.size - idle.length >= part * READERS);
    await share(JOINS_AT / 2);
    let isEnough = false;
    const sending = sendSingly(field, customers, () => isEnough);
    if (driver === 'pg') {
      await share(JOINS_AT);
      await join(field);
    }
    for (const kill of KILLS) await strike(field, kill, share);
    await share(ENOUGH);
    isEnough = true;
    const beside = await sending;
    const all = [...receivers.readers, ...idle, ...beside];
    await watch.until(() => receivers.over.size === all.length);
    const seconds = (Math.max(...[...receivers.acceptedAt.values()].flat()) - began) / 1000;

    const states = await readStates(field, all.length);
    const limits = await receivers.readLimits();
    printFigures(field, { idle, beside, seconds, states, limits });
    const broadcast = await ask(field, 'GET', `/broadcasts/${broadcastId}`);
    expect(broadcast.body).toMatchObject({ status: 'sent', held: null, total: READERS, recipients: READERS });
    expect([...states.keys()].toSorted()).toEqual(all.toSorted());
    expect(listWrong(field, states)).toEqual([]);
    expect(listExceeded(limits)).toEqual([]);
    // What does not exist is refused, and nothing else is.
    expect(receivers.refusals.filter(({ cause }) => cause !== 'unknown')).toEqual([]);
    expect(field.errors).toEqual([]);
    // At its final dot when its process was killed.
    const connections = limits.reduce((sum, one) => sum + one.connections.seen, 0);
    expect(field.doubtful.size).toBeLessThanOrEqual(KILLS.length * connections);
    for (const { process } of field.nodes) await process.stop();
  },
);

async function setUp(): Promise<Field> {
  const receivers = await startReceivers({ readers: READERS, customers: CUSTOMERS });
  const { watch } = receivers;
  const sink = await startSink({});
  onTestFinished(() => sink.close());
  const store = await startObjectServer();
  onTestFinished(() => store.close());
  const doubtful = new Set<string>();
  const log: Field['log'] = new Map();
  const errors: LogLine[] = [];
  const onLog = (line: LogLine): void => {
    if (line['level'] === 'warn') log.set(line.msg, (log.get(line.msg) ?? 0) + 1);
    if (line['level'] === 'error' || line['level'] === 'fatal') errors.push(line);
    if (line.msg !== 'delivery outcome unknown') return;
    for (const to of line['to'] as string[]) {
      doubtful.add(to);
      receivers.over.add(to);
    }
    watch.stir();
  };
  // On the disk, as a server has it, apart from what has to be in memory.
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-broadcast-'));
  const memory = scratchFolder('rasket-broadcast-');
  onTestFinished(() => {
    for (const one of [folder, memory]) rmSync(one, { recursive: true, force: true });
  });
  const program = await installProgram(sink, onLog, {
    folder,
    publish: (dns) => publishReceivers(dns, receivers.records),
    env: {
      RUNTIME_DIRECTORY: memory,
      RASKET_DELIVERY_SMTP_PORT: String(receivers.smtpPort),
      // Pages of the broadcast are made throughout, whatever its size.
      RASKET_BROADCASTS_QUEUED_MAX: String(Math.max(500, Math.min(2000, READERS / 5))),
      RASKET_BROADCASTS_LEASE_SECONDS: '5',
      RASKET_BLOBS_STORE: 's3',
      RASKET_BLOBS_ENDPOINT: store.endpoint,
      RASKET_BLOBS_BUCKET: store.bucket,
      RASKET_BLOBS_REGION: store.region,
      RASKET_BLOBS_ACCESS_KEY: store.accessKey,
      RASKET_BLOBS_SECRET_KEY: store.secretKey,
    },
  });
  return {
    program,
    receivers,
    nodes: [await noteListening(program)],
    random: dice(testSeed()),
    ended: 0,
    watch,
    doubtful,
    log,
    errors,
    postedAt: new Map(),
    outages: [],
  };
}

async function ask(
  { nodes, program }: Field,
  method: 'GET' | 'POST' | 'PATCH',
  target: string,
  request: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<ApiAnswer> {
  const node = nodes.find(({ url }) => url !== undefined);
  if (!node) throw new Error('no node is up');
  const answer = await node.call(method, target, { key: program.apiKey, ...request });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer;
}

async function importReaders(field: Field): Promise<void> {
  const team = { sender_name: 'Example Ltd', postal_address: POSTAL_ADDRESS };
  await ask(field, 'PATCH', '/team', { body: team });
  const rows = field.receivers.readers.map((address, at) => `${address},Reader ${at}`);
  const form = buildForm(`email,first_name\n${rows.join('\n')}\n`);
  const { body: imported } = await ask(field, 'POST', '/contacts/imports', form);
  await expect
    .poll(async () => (await ask(field, 'GET', `/contacts/imports/${imported.id}`)).body.status, {
      timeout: WITHIN_MS,
      interval: 200,
    })
    .toBe('completed');
}

async function sendBroadcast(field: Field): Promise<string> {
  const filter = { field: 'email', op: 'contains', value: '@' };
  const { body: segment } = await ask(field, 'POST', '/segments', { body: { name: 'Everybody', filter } });
  const body = {
    from: field.program.from,
    subject: 'News for {{{FIRST_NAME|you}}}',
    html: HTML,
    segment_id: segment.id,
    send: true,
    acknowledge_checks: true,
  };
  const { body: broadcast } = await ask(field, 'POST', '/broadcasts', { body });
  return broadcast.id as string;
}

/**
 * Sends single mails at a steady pace, whether or not the last one has arrived, until there are enough; returns their recipients. A
 * caller whose node is killed asks again, as one that repeats its Idempotency-Key.
 */
async function sendSingly(
  field: Field,
  customers: Iterator<string>,
  isEnough: (count: number) => boolean,
): Promise<string[]> {
  const { program, postedAt } = field;
  const sent: Promise<string>[] = [];
  const post = async (to: string): Promise<string> => {
    postedAt.set(to, Date.now());
    const { status, body } = await askUntilAnswered(field, {
      path: '/emails',
      headers: {
        authorization: `Bearer ${program.apiKey}`,
        'user-agent': 'rasket-tests/1',
        'content-type': 'application/json',
        'idempotency-key': to,
      },
      body: { from: program.from, to, subject: 'Your order', text: 'It is on its way.' },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return to;
  };
  const enough = Promise.withResolvers<void>();
  const stop = repeat(systemClock, EVERY_MS, async () => {
    const next = isEnough(sent.length) ? undefined : customers.next();
    if (next === undefined || next.done) enough.resolve();
    else sent.push(post(next.value));
  });
  await enough.promise;
  stop();
  return Promise.all(sent);
}

async function join(field: Field): Promise<void> {
  const { nodes, program } = field;
  nodes.push(await noteListening(await program.addNode({})));
}

async function strike(
  { nodes, outages, watch }: Field,
  { at, node, backAt }: Kill,
  share: (part: number) => Promise<void>,
): Promise<void> {
  await share(at);
  const struck = nodes[node];
  if (!struck) throw new Error(`the plan kills node ${node}, but only ${nodes.length} were started`);
  struck.url = undefined;
  const outage = { from: Date.now(), to: Infinity };
  outages.push(outage);
  await struck.process.kill();
  await share(backAt);
  await struck.process.start();
  Object.assign(struck, await noteListening(struck.process));
  outage.to = Date.now();
  watch.stir();
}

/** Returns the state of each email by its recipient, once every email has one that lasts. */
async function readStates(field: Field, count: number): Promise<Map<string, string[]>> {
  const { doubtful } = field;
  const unsettled = async (): Promise<number> => {
    const pages = ['queued', 'sent', 'delivery_delayed'].map((status) => list(field, `status=${status}`));
    return (await Promise.all(pages)).flat().filter(({ to }) => !doubtful.has(to)).length;
  };
  await expect.poll(unsettled, { timeout: WITHIN_MS, interval: 500 }).toBe(0);
  const states = new Map<string, string[]>();
  for (const { to, state } of await list(field, '')) states.set(to, [...(states.get(to) ?? []), state]);
  expect(states.size).toBe(count);
  return states;
}

async function list(field: Field, filter: string): Promise<{ to: string; state: string }[]> {
  const all: { to: string; state: string }[] = [];
  for (let after = ''; ;) {
    const { body } = await ask(field, 'GET', `/emails?limit=100&${filter}${after}`);
    const data = body.data as { id: string; to: string[]; last_event: string }[];
    all.push(...data.map(({ to, last_event: state }) => ({ to: to[0] ?? '', state })));
    if (!body.has_more) return all;
    after = `&after=${data.at(-1)?.id}`;
  }
}

/** Lists the recipients whose emails ended otherwise than the receivers saw, or more than once. */
function listWrong({ receivers, doubtful }: Field, states: Map<string, string[]>): string[] {
  const unknown = new Set(
    receivers.refusals.flatMap(({ cause, recipient }) => (cause === 'unknown' ? [recipient] : [])),
  );
  const wrong: string[] = [];
  for (const [to, ends] of states) {
    const accepted = receivers.acceptedAt.get(to)?.length ?? 0;
    const end = `${ends.join(' ')}, accepted ${accepted}${unknown.has(to) ? ', unknown' : ''}`;
    const isRight = doubtful.has(to)
      ? ['sent, accepted 0', 'sent, accepted 1', 'sent, accepted 0, unknown'].includes(end)
      : ['delivered, accepted 1', 'bounced, accepted 0, unknown'].includes(end);
    if (!isRight) wrong.push(`${to}: ${end}${doubtful.has(to) ? ', in doubt' : ''}`);
  }
  for (const to of receivers.acceptedAt.keys()) if (!states.has(to)) wrong.push(`${to}: accepted, and not an email`);
  return wrong;
}

const KINDS = ['connections', 'perConnection', 'messagesPerMinute', 'connectionsPerMinute'] as const;

const listExceeded = (limits: readonly SeenLimits[]): string[] =>
  limits.flatMap((one) =>
    KINDS.flatMap((kind) => {
      const { max = Infinity, seen } = one[kind];
      return seen > max ? [`${one.receiver} saw ${seen} ${kind}; its limit is ${max}`] : [];
    }),
  );

interface Figures {
  idle: readonly string[];
  beside: readonly string[];
  seconds: number;
  states: Map<string, string[]>;
  limits: readonly SeenLimits[];
}

/** Providers with a limit of messages per minute, at which single mail waits for its turn. */
const RATED = /@(?:yahoo\.co\.jp|laposte\.net)$/;

function printFigures(field: Field, { idle, beside, seconds, states, limits }: Figures): void {
  const { doubtful, log, receivers, outages } = field;
  const ends = [...states].map(([to, [state = '']]) => (doubtful.has(to) ? 'in doubt' : state));
  const count = (values: readonly string[]): Record<string, number> =>
    Object.fromEntries([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
  const took = receivers.readers.length / seconds;
  console.log(`${driver}: ${READERS} readers in ${Math.round(seconds)} s, ${took.toFixed(1)} a second`);
  console.log(
    'emails:',
    count(ends),
    'warnings:',
    Object.fromEntries(log),
    'outages in s:',
    outages.map(({ from, to }) => (to - from) / 1000),
  );
  const isDisturbed = (to: string): boolean => {
    const [posted = 0, [accepted = 0] = []] = [field.postedAt.get(to), receivers.acceptedAt.get(to)];
    return outages.some((outage) => posted < outage.to && accepted > outage.from);
  };
  const kinds: Record<string, readonly string[]> = {
    idle,
    'beside the broadcast': beside.filter((to) => !isDisturbed(to)),
    'while a process was killed and started': beside.filter(isDisturbed),
  };
  console.table(
    Object.entries(kinds).flatMap(([kind, all]) => [
      {
        kind,
        receivers: 'without a rate',
        ...measure(
          field,
          all.filter((to) => !RATED.test(to)),
        ),
      },
      {
        kind,
        receivers: 'with a rate',
        ...measure(
          field,
          all.filter((to) => RATED.test(to)),
        ),
      },
      { kind, receivers: 'all', ...measure(field, all) },
    ]),
  );
  const families = Map.groupBy(limits, ({ family }) => family);
  const most = (those: readonly SeenLimits[], kind: (typeof KINDS)[number]): string =>
    `${Math.max(...those.map((one) => one[kind].seen))} of ${those[0]?.[kind].max ?? 'any'}`;
  console.table(
    [...families].map(([family, those]) => ({
      family,
      receivers: those.length,
      accepted: those.reduce((sum, { accepted }) => sum + accepted, 0),
      ...Object.fromEntries(KINDS.map((kind) => [kind, most(those, kind)])),
    })),
  );
}

/** Measures from the request to the acceptance by the receiver, in milliseconds. */
function measure({ postedAt, receivers }: Field, customers: readonly string[]): Record<string, number> {
  const waits = customers
    .flatMap((to) => (receivers.acceptedAt.get(to) ?? []).map((at) => at - (postedAt.get(to) ?? NaN)))
    .toSorted((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? NaN;
  return { count: waits.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
