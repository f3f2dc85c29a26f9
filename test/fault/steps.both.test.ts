// A process that ends between any two steps of a delivery: a queue whose network is a function, and a second life
// that finds what the first one left.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createComposer } from '../../src/mail/compose/index.ts';
import type { Deliver } from '../../src/mail/deliver/index.ts';
import { createQueue, openHandOffLog, recoverDeliveries, type Queue } from '../../src/mail/queue/index.ts';
import { createSettle } from '../../src/mail/settle/index.ts';
import { mailIn, HOUR, MINUTE, type Mail } from '../flow/mail.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { findHandOffFiles } from '../rig/hand-off-files.ts';
import { startScene, type Scene } from '../rig/scene.ts';

const STEPS = ['claimed', 'composed', 'intent recorded', 'marked', 'dot written', 'reply read', 'settled'] as const;
type Step = (typeof STEPS)[number];

const DELIVERED = {
  state: 'delivered',
  events: ['email.queued', 'email.sent', 'email.delivered x@one.example'],
  waiting: [],
};
const IN_DOUBT = { state: 'sent', events: ['email.queued', 'email.sent'], waiting: ['x@one.example'] };
const FAILED = { state: 'failed', events: ['email.queued', 'email.sent', 'email.failed x@one.example'], waiting: [] };

/** The result of a kill after each step: how often the dot was written in both lives, and the state that is reported. */
const AFTER_KILL: Record<Step, { dots: number; next: object; twoHoursLater: object }> = {
  claimed: { dots: 1, next: DELIVERED, twoHoursLater: DELIVERED },
  composed: { dots: 1, next: DELIVERED, twoHoursLater: DELIVERED },
  'intent recorded': { dots: 1, next: DELIVERED, twoHoursLater: DELIVERED },
  // The one window in which a message counts as in doubt although nothing left: microseconds long.
  marked: { dots: 0, next: IN_DOUBT, twoHoursLater: FAILED },
  'dot written': { dots: 1, next: IN_DOUBT, twoHoursLater: FAILED },
  'reply read': { dots: 1, next: IN_DOUBT, twoHoursLater: FAILED },
  settled: { dots: 1, next: DELIVERED, twoHoursLater: DELIVERED },
};

describe('a process killed after', () => {
  it.for(STEPS)('“%s” is completed by the next process, and no dot is written twice', async (crashAfter) => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    await liveUntil(scene, wire, crashAfter);
    const { dots, next, twoHoursLater } = AFTER_KILL[crashAfter];
    scene.clock.advance(1);
    await live(scene, wire);
    expect(await told(mail, id)).toEqual(next);
    scene.clock.advance(2 * HOUR);
    await live(scene, wire);
    expect(await told(mail, id)).toEqual(twoHoursLater);
    expect(wire).toHaveLength(dots);
  });

  it('accepting mail loses no mail that was not claimed yet', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    await live(scene, wire);
    expect(await told(mail, id)).toEqual(DELIVERED);
    expect(wire).toEqual(['x@one.example']);
  });
});

describe('a machine that goes down', () => {
  it.for(STEPS.slice(2, 6))(
    'after “%s” leaves every recorded hand-off in doubt, because only the hand-offs were synced',
    async (step) => {
      await using scene = await startScene({ roles: ['http'] });
      const mail = await mailIn(scene);
      const wire: string[] = [];
      const id = await mail.send('x@one.example');
      await liveUntil(scene, wire, step);
      const dots = wire.length;
      rewriteHeader(scene, { boot: '00000000-0000-4000-8000-000000000000' });
      scene.clock.advance(1);
      await live(scene, wire);
      expect(await told(mail, id)).toEqual(IN_DOUBT);
      scene.clock.advance(2 * HOUR);
      await live(scene, wire);
      expect(await told(mail, id)).toEqual(FAILED);
      expect(wire).toHaveLength(dots);
    },
  );

  it('leaves mail that had not reached its hand-off to be sent', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    await liveUntil(scene, wire, 'composed');
    rewriteHeader(scene, { boot: '00000000-0000-4000-8000-000000000000' });
    scene.clock.advance(1);
    await live(scene, wire);
    expect(await told(mail, id)).toEqual(DELIVERED);
    expect(wire).toHaveLength(1);
  });
});

describe('after a killed or slow process,', () => {
  it('a retry that was killed before its dot is sent again, although the first attempt had reached its dot', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    const first = openLife(scene, async (job, ctx) => {
      await ctx.handOff.intend();
      if (job.attempt > 1) return never();
      ctx.handOff.mark();
      wire.push('refused for now');
      const reply = { code: 451, lines: ['Later'] };
      return job.recipients.map((address) => ({
        kind: 'deferred',
        address,
        reason: 'refused_for_now',
        detail: '451',
        reply,
      }));
    });
    first.queue.start();
    await first.queue.idle();
    scene.clock.advance(2 * MINUTE);
    await handedOff(scene, id);
    await first.kill();
    scene.clock.advance(1);
    await live(scene, wire);
    expect(await told(mail, id)).toMatchObject({ state: 'delivered', waiting: [] });
    expect(wire).toEqual(['refused for now', 'x@one.example']);
  });

  it('a delivery in doubt whose failing was interrupted fails in the next process and is not sent', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    await liveUntil(scene, wire, 'dot written');
    scene.clock.advance(1);
    await live(scene, wire);
    scene.clock.advance(2 * HOUR);
    await liveUntil(scene, wire, 'reply read');
    scene.clock.advance(1);
    await live(scene, wire);
    expect(await told(mail, id)).toEqual(FAILED);
    expect(wire).toHaveLength(1);
  });

  it('a delivery that outlasts its lease is not claimed again by its own process', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const offered: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { queue } = openLife(scene, async (job, ctx) => {
      offered.push(job.recipients.join());
      if (job.recipients[0] === 'x@one.example') await gate.promise;
      return dotThen([])(job, ctx);
    });
    const id = await mail.send('x@one.example');
    queue.start();
    const { db } = scene.app.world;
    while (offered.length === 0) await new Promise((next) => setImmediate(next));
    await db.run('update deliveries set due_at = ? where email_id = ?', [scene.clock.now() - 1, id]);
    const other = await mail.send('y@two.example');
    queue.wake();
    while ((await mail.account(other)).waiting.length > 0) await new Promise((next) => setImmediate(next));
    gate.resolve();
    await queue.idle();
    await queue.stop(0);
    expect(offered).toEqual(['x@one.example', 'y@two.example']);
    expect(await told(mail, id)).toEqual(DELIVERED);
  });

  it('a delivery that another node took over and lost to its first node again is sent once', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const [offered, wire]: [string[], string[]] = [[], []];
    const goesOn = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    let times = 0;
    const { queue } = openLife(scene, async (job, ctx) => {
      offered.push(job.recipients.join());
      if (job.recipients[0] !== 'x@one.example') return dotThen(wire)(job, ctx);
      // Held up before its dot; a second one would be behind its own by then.
      if (++times > 1) return dotThen(wire, (step) => (step === 'dot written' ? ended.promise : undefined))(job, ctx);
      await goesOn.promise;
      return dotThen(wire)(job, ctx).finally(ended.resolve);
    });
    const id = await mail.send('x@one.example');
    queue.start();
    const { db, ids } = scene.app.world;
    while (offered.length === 0) await new Promise((next) => setImmediate(next));
    // This is the state when this node could renew nothing for the time of a lease, and the other one then for as long.
    const taken = 'update deliveries set lease_owner = ?, due_at = ? where email_id = ?';
    await db.run(taken, [ids.uuid(), scene.clock.now() - 1, id]);
    const other = await mail.send('y@two.example');
    queue.wake();
    while ((await mail.account(other)).waiting.length > 0) await new Promise((next) => setImmediate(next));
    goesOn.resolve();
    await queue.idle();
    await queue.stop(0);
    expect(wire.toSorted()).toEqual(['x@one.example', 'y@two.example']);
    expect(await told(mail, id)).toEqual(DELIVERED);
  });

  it.for([
    ['composed', 1, DELIVERED],
    ['dot written', 3, FAILED],
  ] as const)('a delivery at “%s” that a node with its clock %i h ahead takes over is sent once', async (given) => {
    const [step, hours, next] = given;
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const id = await mail.send('x@one.example');
    const { reached, goesOn, queue } = openSlowLife(scene, wire, step);
    await reached;
    await liveAhead(scene, wire, hours * HOUR);
    goesOn();
    await queue.idle();
    await queue.stop(0);
    expect(wire).toEqual(['x@one.example']);
    expect(await told(mail, id)).toEqual(next);
  });

  it('settling twice changes nothing', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const wire: string[] = [];
    const delivered = await mail.send('x@one.example');
    const bounced = await mail.send('refused@two.example');
    const { queue } = openLife(scene, dotThen(wire), { settleTimes: 2 });
    queue.start();
    await queue.idle();
    await queue.stop(0);
    expect(await told(mail, delivered)).toEqual(DELIVERED);
    expect(await told(mail, bounced)).toMatchObject({
      events: ['email.queued', 'email.sent', 'email.bounced refused@two.example'],
    });
  });
});

async function told(mail: Mail, id: string): Promise<object> {
  const { state, events, waiting } = await mail.account(id);
  return { state, events, waiting };
}

const runDir = (scene: Scene): string => path.join(scene.dataDir, 'run');

/** A life that runs until nothing is left to do, beginning with what the one before left. */
async function live(scene: Scene, wire: string[]): Promise<void> {
  const recovery = await recoverDeliveries(scene.app.world, runDir(scene), { runtimeDir: scene.dataDir });
  const { queue } = openLife(scene, dotThen(wire));
  queue.start();
  await queue.idle();
  await queue.stop(0);
  await recovery.stop();
}

/** A life that waits after a step until it may go on. */
function openSlowLife(scene: Scene, wire: string[], waitsAfter: Step) {
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const step = (name: Step): Promise<void> | undefined => {
    if (name !== waitsAfter) return undefined;
    reached.resolve();
    return goesOn.promise;
  };
  const { queue } = openLife(scene, dotThen(wire, step));
  queue.start();
  return { reached: reached.promise, goesOn: () => goesOn.resolve(), queue };
}

/** Another node, beside the first one, that does what is due by its own clock. */
async function liveAhead(scene: Scene, wire: string[], aheadMs: number): Promise<void> {
  const { queue } = openLife(scene, dotThen(wire), { aheadMs });
  queue.start();
  await queue.idle();
  await queue.stop(0);
}

/** A life that ends in the middle of its work, right after a step. */
async function liveUntil(scene: Scene, wire: string[], crashAfter: Step): Promise<void> {
  const crash = Promise.withResolvers<void>();
  const step = (name: Step): Promise<void> | undefined => {
    if (name !== crashAfter) return undefined;
    crash.resolve();
    return never();
  };
  const life = openLife(scene, dotThen(wire, step), { step });
  life.queue.start();
  await crash.promise;
  await life.kill();
}

/** Sends nothing, but takes every step that a delivery takes, in its order. */
function dotThen(wire: string[], step: (name: Step) => Promise<void> | undefined = () => undefined): Deliver {
  return async (job, ctx) => {
    await step('claimed');
    await ctx.message();
    await step('composed');
    await ctx.handOff.intend();
    await step('intent recorded');
    ctx.handOff.mark();
    await step('marked');
    wire.push(job.recipients.join());
    await step('dot written');
    return job.recipients.map((address) =>
      address.startsWith('refused')
        ? { kind: 'bounced', address, reason: 'refused', detail: '550', reply: { code: 550, lines: ['No'] } }
        : { kind: 'delivered', address, reply: { code: 250, lines: ['Taken'] }, mx: 'mx', tls: null },
    );
  };
}

interface LifeOptions {
  step?: (name: Step) => Promise<void> | undefined;
  settleTimes?: number;
  /** The time by which its clock is ahead. */
  aheadMs?: number;
}

function openLife(
  scene: Scene,
  deliver: Deliver,
  { step, settleTimes = 1, aheadMs = 0 }: LifeOptions = {},
): { queue: Queue; kill(): Promise<void> } {
  let isAlive = true;
  const { clock } = scene;
  const timer: Clock['timer'] = (delayMs, fire) => clock.timer(delayMs, () => void (isAlive && fire()));
  const { db, commits } = scene.app.world;
  const world = {
    ...scene.app.world,
    db: whileAlive(db, () => isAlive),
    commits: whileAlive(commits, () => isAlive),
    clock: { now: () => clock.now() + aheadMs, steady: () => clock.steady(), timer },
  };
  const handOffLog = openHandOffLog(runDir(scene), world.ids.uuid(), { runtimeDir: scene.dataDir });
  const settle = createSettle(world, handOffLog.owner);
  const queue = createQueue({
    isContended: () => false,
    world,
    deliver,
    composer: createComposer(world),
    handOffLog,
    async settle(row, outcomes) {
      await step?.('reply read');
      for (let n = 0; n < settleTimes; n++) await settle(row, outcomes);
      await step?.('settled');
    },
  });
  return {
    queue,
    /** It does nothing more, and its hand-off log looks as if its process were gone. What it had handed in is committed. */
    async kill() {
      isAlive = false;
      await commits.settled();
      rewriteHeader(scene, { process: '1 0' });
    },
  };
}

/** Stops answering when the life is over: a poll in progress would claim what the next life is to find. */
function whileAlive<T extends object>(of: T, isAlive: () => boolean): T {
  const guarded = (call: (...args: unknown[]) => unknown): typeof call => {
    return (...args) => {
      if (!isAlive()) return never();
      const answer = call(...args);
      return typeof answer === 'function' ? guarded(answer as typeof call) : answer;
    };
  };
  return new Proxy(of, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? guarded(value.bind(target) as () => unknown) : value;
    },
  });
}

const SLOT_BYTES = 37;

function rewriteHeader(scene: Scene, header: { boot?: string; process?: string }): void {
  for (const file of findHandOffFiles(scene.dataDir).flatMap(({ note, slots }) =>
    slots === undefined ? [note] : [note, slots],
  )) {
    const bytes = readFileSync(file);
    if (header.boot) bytes.write(header.boot.padEnd(SLOT_BYTES - 1), 0, 'latin1');
    if (header.process) bytes.write(header.process.padEnd(SLOT_BYTES - 1), SLOT_BYTES, 'latin1');
    writeFileSync(file, bytes);
  }
}

const never = (): Promise<never> => new Promise<never>(() => undefined);

async function handedOff(scene: Scene, emailId: string): Promise<void> {
  const sql = 'select handed_off_at from deliveries where email_id = ? and attempt = 2';
  for (;;) {
    const row = await scene.app.world.db.get<{ handed_off_at: number | null }>(sql, [emailId]);
    if (row?.handed_off_at) return;
    await new Promise((next) => setImmediate(next));
  }
}
