import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldLastEvent } from '../../src/mail/events/index.ts';
import { scaled } from '../rig/scale.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, listMessages, MINUTE, SECOND, type Mail } from './mail.ts';

const RUNS = scaled(1);

/** How the sink treats an address, and how its delivery may therefore end. */
const KINDS = {
  ok: ['delivered'],
  'tempfail-once': ['delivered'],
  tempfail: ['bounced'],
  permfail: ['bounced'],
  'dot-permfail': ['bounced'],
  'drop-after-dot': ['failed'],
} as const;
type Kind = keyof typeof KINDS;

interface Model {
  emails: { to: string[] }[];
  suppressedOnce: Set<string>;
  restarts: number;
}

interface Real {
  scene: Scene;
  mail: Mail;
  /** The ids in the order of the model's. */
  ids: string[];
}

type Command = fc.AsyncCommand<Model, Real>;

/** There are few addresses, so that sends, suppressions and retries meet. */
const buildAddress = (kind: Kind, run: string, n: number): string => `${kind}+${run}${n}@d${n % 2}.example`;

class Send implements Command {
  readonly recipients: { kind: Kind; n: number }[];
  constructor(recipients: { kind: Kind; n: number }[]) {
    this.recipients = recipients;
  }
  check = (): boolean => true;
  async run(model: Model, { mail, ids }: Real): Promise<void> {
    const to = [...new Set(this.recipients.map(({ kind, n }) => buildAddress(kind, mail.team.id.slice(-6), n)))];
    ids.push(await mail.send(to));
    model.emails.push({ to });
  }
  toString = (): string => `send(${this.recipients.map(({ kind, n }) => `${kind}${n}`).join(' ')})`;
}

class Suppress implements Command {
  readonly kind: Kind;
  readonly n: number;
  constructor(kind: Kind, n: number) {
    this.kind = kind;
    this.n = n;
  }
  check = (): boolean => true;
  async run(model: Model, { mail }: Real): Promise<void> {
    const address = buildAddress(this.kind, mail.team.id.slice(-6), this.n);
    model.suppressedOnce.add(address);
    await mail.suppress(address);
  }
  toString = (): string => `suppress(${this.kind}${this.n})`;
}

class Unsuppress implements Command {
  readonly kind: Kind;
  readonly n: number;
  constructor(kind: Kind, n: number) {
    this.kind = kind;
    this.n = n;
  }
  check = (): boolean => true;
  async run(_model: Model, { scene, mail }: Real): Promise<void> {
    const address = buildAddress(this.kind, mail.team.id.slice(-6), this.n);
    await scene.api('POST', '/suppressions/batch/remove', { key: mail.team.key, body: { emails: [address] } });
  }
  toString = (): string => `unsuppress(${this.kind}${this.n})`;
}

class Tick implements Command {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
  check = (): boolean => true;
  async run(_model: Model, { scene }: Real): Promise<void> {
    scene.clock.advance(this.ms);
    await scene.settled();
  }
  toString = (): string => `tick(${this.ms} ms)`;
}

class Restart implements Command {
  check = (): boolean => true;
  async run(model: Model, { scene }: Real): Promise<void> {
    model.restarts++;
    scene.clock.advance(1);
    await scene.restart();
  }
  toString = (): string => 'restart';
}

const kind = fc.constantFrom(...(Object.keys(KINDS) as Kind[]));
const number = fc.integer({ min: 0, max: 2 });
const commands = fc.commands(
  [
    fc.array(fc.record({ kind, n: number }), { minLength: 1, maxLength: 4 }).map((to) => new Send(to)),
    fc.array(fc.record({ kind, n: number }), { minLength: 1, maxLength: 4 }).map((to) => new Send(to)),
    fc.tuple(kind, number).map(([of, n]) => new Suppress(of, n)),
    fc.tuple(kind, number).map(([of, n]) => new Unsuppress(of, n)),
    fc.constantFrom(SECOND, MINUTE, 10 * MINUTE, HOUR, 12 * HOUR).map((ms) => new Tick(ms)),
    fc.constant(new Restart()),
  ],
  { maxCommands: 30, size: 'max' },
);

describe('any order of sends, suppressions, waits and restarts', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('ends with one outcome for each recipient, nothing sent twice, and consistent tables', async () => {
    const property = fc.asyncProperty(commands, async (order) => {
      const real: Real = { scene, mail: await mailIn(scene), ids: [] };
      const model: Model = { emails: [], suppressedOnce: new Set(), restarts: 0 };
      await fc.asyncModelRun(() => ({ model, real }), order);
      await runOut(real);
      for (const [i, { to }] of model.emails.entries()) await mustBeAccountedFor(model, real, real.ids[i] ?? '', to);
    });
    // Shrinking would repeat days of retries; the seed and the commands are printed, and say enough.
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true, verbose: 1 });
  });
});

/** This is far more than the attempts of two days for all emails of a run, however they are spread. */
const ROUNDS_MAX = 1000;

/** Lets time pass until every delivery of the team has ended. */
async function runOut({ scene, mail }: Real): Promise<void> {
  const sql = 'select min(due_at) as due_at from deliveries where team_id = ?';
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await scene.settled();
    const next = await scene.app.world.db.get<{ due_at: number | null }>(sql, [mail.team.id]);
    if (next?.due_at === null || next?.due_at === undefined) return;
    scene.clock.advance(Math.max(1, next.due_at - scene.clock.now()));
  }
  throw new Error(`after ${ROUNDS_MAX} rounds there is mail that has not ended`);
}

const readKind = (address: string): Kind => address.split('+')[0] as Kind;

const ENDS = ['delivered', 'bounced', 'suppressed', 'failed'];

async function mustBeAccountedFor(model: Model, real: Real, id: string, to: string[]): Promise<void> {
  const account = await real.mail.account(id);
  const events = await real.scene.events(id);
  const story = JSON.stringify(account);
  expect(account.state, story).toBe(foldLastEvent(events.map((event) => event.type)));
  expect(account.waiting).toEqual([]);
  const arrivals = listMessages(real.scene, id).flatMap((message) => message.rcptTo);
  for (const address of to) {
    const told = events
      .filter((event) => (event.data?.to as string[] | undefined)?.includes(address))
      .map((event) => event.type.slice('email.'.length));
    const ends = told.filter((type) => ENDS.includes(type));
    expect(ends, `${address} has one end: ${story}`).toHaveLength(1);
    expect(told.filter((type) => type === 'delivery_delayed').length, story).toBeLessThanOrEqual(1);
    const [end = ''] = ends;
    const mayEnd: string[] = [...KINDS[readKind(address)]];
    if (model.suppressedOnce.has(address) || mayEnd.includes('bounced')) mayEnd.push('suppressed');
    // Recipients of one transaction share what happens to its dot.
    const mates = to.filter((other) => other.split('@')[1] === address.split('@')[1]).map(readKind);
    if (mates.includes('drop-after-dot')) mayEnd.push('failed');
    if (mates.includes('dot-permfail')) mayEnd.push('bounced');
    // A restart cuts connections that wait for the reply to a dot.
    if (model.restarts > 0) mayEnd.push('failed');
    expect(mayEnd, `${address}: ${story}`).toContain(end);
    const copies = arrivals.filter((arrived) => arrived === address).length;
    if (end === 'delivered') expect(copies, `${address} has one copy: ${story}`).toBe(1);
    else if (end === 'failed') expect(copies, story).toBeLessThanOrEqual(1);
    else expect(copies, `${address} got nothing: ${story}`).toBe(0);
  }
  const wasTried = events.some(({ type }) =>
    ['email.delivered', 'email.bounced', 'email.failed', 'email.delivery_delayed'].includes(type),
  );
  const sents = events.filter((event) => event.type === 'email.sent').length;
  if (wasTried) expect(sents, story).toBe(1);
  else expect(sents, story).toBeLessThanOrEqual(1);
}
