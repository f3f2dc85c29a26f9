import { readProfile, type Behaviour } from '../../src/features/rehearsal/index.ts';
import { startInternet, type Internet } from '../../src/features/rehearsal/start.ts';
import { listThrottles } from '../../src/mail/throttles/index.ts';
import type { Config, DeepPartial } from '../../src/platform/config/index.ts';
import { createManualClock, type ManualClock } from './clock.ts';
import type { DnsRecords, DnsType } from './dns.ts';
import { startScene, type Scene, type Team } from './scene.ts';
import { countSignatures } from './signatures.ts';

/** What happens between us and mailbox providers, with the whole account of it: what each side saw, and what is left. */
export interface Scenario {
  /** A full sentence that says what happens. */
  title: string;
  /** The mail servers, as a profile in TOML: see config/rehearsals, whose providers it may name and change. */
  internet: string;
  config?: DeepPartial<Config>;
  /** false leaves out connections, and refusals of too many, which depend on how quickly each reply arrived. */
  countsConnections?: false;
  /** Many things happen at once, so that the account tells whether the limits of receivers held instead of how close it was. */
  isCrowded?: true;
  run: (stage: Stage) => Promise<void>;
  /** The account that is expected in the end. */
  account: string;
}

export interface Send {
  /** The team that sends; the first one by default. */
  team?: Team;
  from?: string;
  /** Other fields of each email. */
  email?: Record<string, unknown>;
}

export interface Stage {
  scene: Scene;
  internet: Internet;
  team: Team;
  /** Sends one email to each address through the API; returns their ids. */
  send(to: readonly string[], options?: Send): Promise<string[]>;
  /**
   * Lets that much time pass, such as "90 s", "10 min" or "2 h", while mail is delivered. While nothing is under way, the
   * clock moves in steps of 5 seconds, or of `step` for a long wait.
   */
  pass(time: string, step?: string): Promise<void>;
  /** Lets that much time pass at once, while nothing is going to happen. */
  skip(time: string): Promise<void>;
  /** Adds the limits that are in force now to the account, with the time. */
  noteLimits(): Promise<void>;
  /** Changes how a provider behaves from now on. */
  change: Internet['change'];
  /** Calls an operation of the operator. */
  operate(method: string, target: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Adds a line to the account. */
  note(line: string): void;
}

/** Addresses at a domain: `r1@`, `r2@` … */
export const addresses = (count: number, domain: string, from = 1): string[] =>
  Array.from({ length: count }, (_, index) => `r${index + from}@${domain}`);

export type { Behaviour };

const START = '2026-03-02T10:00:00Z';

/** Runs a scenario with a real app, real sockets and a clock that is moved by hand; returns its account. */
export async function runScenario({
  internet: toml,
  config,
  countsConnections,
  isCrowded,
  run,
}: Scenario): Promise<string> {
  const clock = createManualClock(Date.parse(START));
  await using internet = await startInternet({ profile: readProfile('scenario', toml), clock });
  await using scene = await startScene({
    clock,
    networkWaits: 'by hand',
    // No jitter: the account shows times.
    random: () => 0.5,
    roles: ['http', 'delivery', 'receiving'],
    config: {
      ...config,
      // The clock moves on while nothing is seen to happen, and nobody sees a look-up of a policy. Policies have tests of their own.
      delivery: { smtp_port: internet.smtpPort, poll_ms: 5_000, mta_sts: false, ...config?.delivery },
    },
  });
  for (const [name, records] of Map.groupBy(internet.records, ({ name }) => name))
    for (const [type, those] of Map.groupBy(records, (record) => record.type))
      scene.dns.set(
        name,
        type as DnsType,
        those.map(({ value, priority }) => (type === 'MX' ? `${priority ?? 0} ${value}` : value)) satisfies DnsRecords,
      );
  const port = scene.app.smtp?.listening.find(({ doors }) => doors.includes('receiving'))?.port;
  if (port !== undefined) internet.reportTo({ host: '127.0.0.1', port });
  const team = await scene.team();
  const domains = new Map<string, string>();
  const operator = await scene.operator();
  const ids: string[] = [];
  const notes: string[] = [];
  const stage: Stage = {
    scene,
    internet,
    team,
    async send(to, { team: sender = team, from, email } = {}) {
      const domain = domains.get(sender.id) ?? (await sender.domain()).name;
      domains.set(sender.id, domain);
      const made: string[] = [];
      for (let at = 0; at < to.length; at += 100) {
        const emails = to.slice(at, at + 100).map((address) => ({
          from: from ?? `news@${domain}`,
          to: address,
          subject: 'Hello',
          text: 'Hello.',
          ...email,
        }));
        const { status, body } = await scene.api('POST', '/emails/batch', { key: sender.key, body: emails });
        if (status !== 200) throw new Error(`sending failed: ${JSON.stringify(body)}`);
        made.push(...(body.data as { id: string }[]).map(({ id }) => id));
      }
      ids.push(...made);
      await settle(scene, internet);
      return made;
    },
    pass: (time, step = '5 s') => pass(scene, internet, { clock, ms: readTime(time), stepMs: readTime(step) }),
    async skip(time) {
      await settle(scene, internet);
      clock.advance(readTime(time));
      await settle(scene, internet);
    },
    async noteLimits() {
      const limits = await describeLimits(scene, Date.parse(START));
      notes.push(`${since(Date.parse(START), clock.now())} ${limits.length === 0 ? 'no limit' : limits.join('; ')}`);
    },
    change: (provider, behaviour) => internet.change(provider, behaviour),
    async operate(method, target, body) {
      const answer = await scene.api(method, target, { key: operator, ...(body === undefined ? {} : { body }) });
      return { status: answer.status, body: answer.body as Record<string, unknown> };
    },
    note: (line) => void notes.push(line),
  };
  await run(stage);
  await settle(scene, internet);
  return [...notes, ...(await writeAccount(stage, ids, { operator, countsConnections, isCrowded }))].join('\n');
}

function readTime(time: string): number {
  const [, amount = '', unit = ''] = /^(\d+) (s|min|h)$/.exec(time) ?? [];
  const ms = { s: 1000, min: 60_000, h: 3_600_000 }[unit];
  if (ms === undefined) throw new Error(`unknown time ${time}`);
  return Number(amount) * ms;
}

const TURNS_QUIET = 12;
/** While mail is under way. */
const TURNS_BUSY = 100;
const STEP_IN_FLIGHT_MS = 1_000;

/** Moves the clock on in steps, each of which begins when nothing happens any more on any side. */
async function pass(
  scene: Scene,
  internet: Internet,
  { clock, ms, stepMs }: { clock: ManualClock; ms: number; stepMs: number },
): Promise<void> {
  const until = clock.steady() + ms;
  while (clock.steady() < until) {
    await settle(scene, internet);
    const isBusy = (scene.app.queue?.inFlight() ?? 0) > 0;
    clock.advance(Math.min(until - clock.steady(), isBusy ? STEP_IN_FLIGHT_MS : stepMs));
  }
  await settle(scene, internet);
}

/** Resolves when nothing has happened for some turns of the event loop, at the receivers, in the queue or in the database. */
async function settle({ app }: Scene, internet: Internet): Promise<void> {
  const { seen } = internet;
  const describe = (): string =>
    [
      seen.connections.length,
      seen.messages.length,
      seen.refusals.length,
      seen.countOpen(),
      app.queue?.inFlight(),
    ].join();
  const isReading = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  for (let isQuiet = false; !isQuiet;) {
    const before = describe();
    await turns(TURNS_QUIET);
    let isIdle = false;
    void app.queue?.idle().then(() => (isIdle = true));
    await turns(1);
    if (!isIdle) {
      await turns(TURNS_BUSY);
      while (countSignatures() > 0) await turns(1);
      await turns(TURNS_BUSY);
    }
    await app.world.commits.settled();
    await internet.settled();
    isQuiet = before === describe() && !isReading() && countSignatures() === 0;
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((next) => setImmediate(next));
}

async function writeAccount(
  { scene, internet }: Stage,
  ids: readonly string[],
  { operator, ...form }: Form & { operator: string },
): Promise<string[]> {
  const start = Date.parse(START);
  return [
    ...describeReceivers(internet, start, form),
    ...(await describeEmails(scene, ids)),
    ...(await describeSuppressions(scene)),
    ...(await describeQueue(scene, operator, start)),
    ...(await describeLimits(scene, start)),
  ];
}

/** Shows a time as hours and minutes since the start of the scenario. */
function since(start: number, at: number): string {
  const minutes = Math.floor((at - start) / 60_000);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`;

type Form = Pick<Scenario, 'countsConnections' | 'isCrowded'>;

function describeReceivers(
  { seen, receivers }: Internet,
  start: number,
  { countsConnections, isCrowded }: Form,
): string[] {
  const lines: string[] = [];
  for (const { name: provider, behaviour } of receivers) {
    const connections = seen.connections.filter((one) => one.provider === provider);
    if (connections.length === 0) continue;
    const messages = seen.messages.filter((one) => one.provider === provider);
    const times = messages.map(({ at }) => at);
    const when =
      times.length === 0 ? '' : ` from ${since(start, Math.min(...times))} to ${since(start, Math.max(...times))}`;
    const plain = connections.some(({ isSecure, messages: some }) => some > 0 && !isSecure) ? ', some without TLS' : '';
    const { connections: atOnce, messages_per_connection: onOne } = behaviour;
    const bounds = [
      ...(atOnce ? [`${Math.max(atOnce.max, seen.maxConnections({ provider }))} connections at once`] : []),
      ...(onOne ? [`${Math.max(onOne.max, ...seen.messagesPerConnection({ provider }))} messages on one`] : []),
    ];
    const exact =
      `; ${count(connections.length, 'connection')}, at most ${seen.maxConnections({ provider })} at once, ` +
      `${Math.max(0, ...seen.messagesPerConnection({ provider }))} messages on one, ` +
      `${seen.maxMessagesPerMinute({ provider })} accepted in a minute`;
    const how = isCrowded ? `; no more than ${bounds.join(', ')}` : exact;
    const accepted = `${provider} accepted ${count(messages.length, 'message')}${when}`;
    lines.push(`${accepted}${countsConnections === false ? '' : how}${plain}`);
    const refusals = seen.refusals.filter(
      (one) => one.provider === provider && !(countsConnections === false && ABOUT_CONNECTIONS.has(one.cause)),
    );
    for (const [what, those] of Map.groupBy(
      refusals,
      ({ stage, cause, reply }) => `${stage}: ${cause} ${shorten(reply)}`,
    )) {
      const at = those.map((one) => one.at);
      lines.push(
        `  refused ${those.length} × at ${what.trim()} from ${since(start, Math.min(...at))} to ${since(start, Math.max(...at))}`,
      );
    }
  }
  const duplicates = seen.duplicates();
  if (duplicates.length > 0) lines.push(`duplicates: ${duplicates.length}`);
  for (const [what, those] of Map.groupBy(seen.reports, ({ kind, state }) => `${kind} ${state}`))
    lines.push(`reports: ${those.length} × ${what}`);
  return lines;
}

const ABOUT_CONNECTIONS: ReadonlySet<string> = new Set(['connections', 'messages-per-connection']);

/** Returns the codes of a reply and the beginning of its text. */
const shorten = (reply: string): string =>
  (reply.split(/\r?\n/, 1)[0] ?? '')
    .replaceAll(/127\.\d+\.\d+\.\d+/g, 'IP')
    .slice(0, 60)
    .trimEnd();

async function describeEmails(scene: Scene, ids: readonly string[]): Promise<string[]> {
  const stories = await Promise.all(
    ids.map(async (id) => (await scene.events(id)).map(({ type }) => type.replace('email.', '')).join(', ')),
  );
  return [...Map.groupBy(stories, (story) => story)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([story, those]) => `${count(those.length, 'email')}: ${story}`);
}

async function describeSuppressions({ app }: Scene): Promise<string[]> {
  const rows = await app.world.db.all<{ email: string; origin: string }>(
    'select email, origin from suppressions order by email',
  );
  return rows.map(({ email, origin }) => `suppressed: ${email} (${origin})`);
}

interface Queued {
  destination: string;
  state: string;
  until: string | null;
  attempts: number;
  last_attempt: { reply: string | null; explanation: string } | null;
}

async function describeQueue(scene: Scene, operator: string, start: number): Promise<string[]> {
  const { body } = await scene.api('GET', '/operator/queue/deliveries?limit=100', { key: operator });
  const waiting = (body.data as Queued[]).map(({ destination, state, until, attempts, last_attempt: last }) => {
    const next = until === null ? '' : ` until ${since(start, Date.parse(until))}`;
    return `${destination} ${state}${next} after ${count(attempts, 'attempt')}: ${shorten(last?.reply ?? last?.explanation ?? 'not tried')}`;
  });
  const lines = [...Map.groupBy(waiting, (line) => line)].map(([line, those]) => `queue: ${those.length} × ${line}`);
  return [
    ...lines.toSorted(),
    ...(body.has_more ? ['queue: and more'] : []),
    ...(lines.length === 0 ? ['queue: empty'] : []),
  ];
}

async function describeLimits({ app, clock }: Scene, start: number): Promise<string[]> {
  const rows = (await listThrottles(app.world.db)).filter((row) => row.until_at > clock.now());
  return rows.map(({ provider, servers, sender_domain: sender, kind, value, until_at: until, reason }) => {
    const whose = sender === '' ? '' : ' for one sending domain';
    return `limit: ${provider || servers} ${kind}${value === null ? '' : ` ${value}`}${whose} until ${since(start, until)} because of ${shorten(reason)}`;
  });
}
