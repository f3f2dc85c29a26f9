// clients --> rasket serve (killed again and again) --> sink
import { describe, expect, it, onTestFailed, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine, type Program } from './program.ts';

/** One kill at each of the moments, and as often again as RASKET_TEST_SCALE says. */
const KILLS = Math.min(12, 4 * Math.ceil(scaled(1) / 2));
const SENDS = 30 * KILLS;
const CLIENTS = 24;
/** Marked in the hand-off log, but killed before the dot was written: some microseconds, so this many may meet it. */
const NEVER_SENT_MAX = 2;
const TWO_HOURS_MS = 2 * 3_600_000;

describe('a kill -9 during delivery', () => {
  it('loses no acknowledged message and sends none twice', { timeout: 300_000 }, async () => {
    const random = dice(testSeed());
    const order = shuffled(random);
    const arrivals = new Map<string, number>();
    const inDoubt = new Set<string>();
    const acknowledged = new Map<number, string>();
    const progress = new Watch();
    let strike = (_moment: Moment): void => undefined;

    const sink = await startSink({
      keep: false,
      script(command) {
        if (command === 'DATA') strike('data asked for');
        return undefined;
      },
      onMessage(message) {
        const id = /^message-id: *<([^@]+)@/im.exec(message.data.toString('latin1'))?.[1] ?? 'no Message-ID';
        arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
        strike('dot read');
        progress.stir();
      },
    });
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, (line: LogLine) => {
      if (line.msg === 'delivery outcome unknown') inDoubt.add(String(line.emailId));
      progress.stir();
    });
    let [kills, failure]: [number, unknown] = [0, undefined];
    onTestFailed(() => {
      const missing = [...acknowledged.values()].filter((id) => !arrivals.has(id) && !inDoubt.has(id));
      console.log(JSON.stringify({ kills, acknowledged: acknowledged.size, arrived: arrivals.size, missing }));
    });
    const restart = (): void => {
      kills++;
      strike = () => undefined;
      program
        .kill()
        .then(() => program.start())
        .then(aim, (error: unknown) => {
          failure = error;
          progress.stir();
        });
    };
    /** Chooses the next moment: at a step of some message, after so many more answers, or just so much later. */
    const aim = (): void => {
      if (kills >= KILLS) return;
      const moment = order[kills % order.length];
      let left = 1 + Math.floor(random() * (SENDS / KILLS / 2));
      if (moment === 'at any time') afterTurns(Math.floor(random() * 20_000), restart);
      else strike = (happened) => void (happened === moment && --left === 0 && restart());
    };
    aim();
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = client; n < SENDS; n += CLIENTS) {
          acknowledged.set(n, await sendUntilAcknowledged(program, n));
          strike('answered');
          progress.stir();
        }
      }),
    );
    const isAccountedFor = (id: string): boolean => arrivals.has(id) || inDoubt.has(id);
    await progress.until(
      () => failure !== undefined || kills >= KILLS || [...acknowledged.values()].every(isAccountedFor),
    );
    await program.listening();
    await progress.until(() => failure !== undefined || [...acknowledged.values()].every(isAccountedFor));
    if (failure) throw failure;
    await program.stop();

    const ids = [...acknowledged.values()];
    const neverSent = ids.filter((id) => !arrivals.has(id));
    const twice = [...arrivals].filter(([, times]) => times > 1).map(([id]) => id);
    const settled = await twoHoursLater(program);
    console.log(
      JSON.stringify({
        kills,
        acknowledged: ids.length,
        arrived: arrivals.size,
        twice: twice.length,
        inDoubt: inDoubt.size,
        neverSent: neverSent.length,
      }),
    );
    expect(twice).toEqual([]);
    expect(new Set(ids).size).toBe(SENDS);
    expect(
      neverSent.filter((id) => !inDoubt.has(id)),
      'lost',
    ).toEqual([]);
    expect(neverSent.length).toBeLessThanOrEqual(NEVER_SENT_MAX);
    // The whole account: nothing was accepted that was not asked for, and each email has one end.
    const expected = new Map(ids.map((id) => [id, describeEnd(inDoubt.has(id))]));
    expect(settled).toEqual({ left: 0, emails: expected });
  });
});

type Moment = 'answered' | 'data asked for' | 'dot read';
const MOMENTS = ['answered', 'data asked for', 'dot read', 'at any time'] as const;

const shuffled = (random: () => number) =>
  MOMENTS.map((moment) => ({ moment, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ moment }) => moment);

/** Sends as a careful client does: whatever happens to the request, it asks again under the same key until it has its answer. */
async function sendUntilAcknowledged(program: Program, n: number): Promise<string> {
  for (;;) {
    const url = await program.listening();
    const answer = await fetch(`${url}/emails`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${program.apiKey}`,
        'user-agent': 'rasket-tests/1',
        'content-type': 'application/json',
        'idempotency-key': `send-${n}`,
      },
      body: JSON.stringify({
        from: program.from,
        to: [`r${n}@d${n % 7}.example`],
        subject: `Number ${n}`,
        text: 'Hello.',
      }),
    })
      .then(
        async (response) => ({ status: response.status, text: await response.text() }),
        () => undefined,
      )
      .catch(() => undefined);
    if (answer?.status === 200) return (JSON.parse(answer.text) as { id: string }).id;
    if (answer) throw new Error(`a send was answered with ${answer.status} ${answer.text}`);
  }
}

const describeEnd = (wasInDoubt: boolean): string =>
  wasInDoubt
    ? 'failed: email.queued email.sent email.failed ambiguous_submission'
    : 'delivered: email.queued email.sent email.delivered';

/** Returns what the database says of every email when all doubts have expired. */
async function twoHoursLater(program: Program): Promise<{ left: number; emails: Map<string, string> }> {
  const { config } = loadConfig({
    env: {},
    overrides: { instance: { host: 'rasket.test' }, http: { port: 0 }, database: program.database },
  });
  const app = await startApp({
    config,
    dataDir: program.dataDir,
    version: '0.0.0-test',
    clock: createManualClock(Date.now() + TWO_HOURS_MS),
    log: createLog({ level: 'error', format: 'json' }),
    roles: ['delivery'],
  });
  try {
    await app.queue?.idle();
    const { db } = app.world;
    const emails = await db.all<{ id: string; last_event: string }>('select id, last_event from emails');
    const events = await db.all<{ subject_id: string; type: string; data: string | null }>(
      "select subject_id, type, data from events where type like 'email.%' order by id",
    );
    const byEmail = Map.groupBy(events, (event) => event.subject_id);
    const told = emails.map(({ id, last_event: state }): [string, string] => {
      const own = (byEmail.get(id) ?? []).map(({ type, data }) => {
        const failed = (JSON.parse(data ?? '{}') as { failed?: { reason: string } }).failed;
        return failed ? `${type} ${failed.reason}` : type;
      });
      return [id, `${state}: ${own.join(' ')}`];
    });
    const left = await db.get<{ n: number }>('select count(*) as n from deliveries');
    return { left: Number(left?.n), emails: new Map(told) };
  } finally {
    await app.close(0);
  }
}

/** Resolves when a condition comes to hold, looked at whenever something has happened. */
class Watch {
  #waiting: { holds: () => boolean; done: () => void }[] = [];

  stir(): void {
    const due = this.#waiting.filter(({ holds }) => holds());
    this.#waiting = this.#waiting.filter((waiter) => !due.includes(waiter));
    for (const { done } of due) done();
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((done) => this.#waiting.push({ holds, done }));
  }
}

/** Turns of the event loop take anything from microseconds to milliseconds, so this is at no step of anything. */
function afterTurns(turns: number, then: () => void): void {
  if (turns <= 0) then();
  else setImmediate(() => afterTurns(turns - 1, then));
}
