import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../rig/clock.ts';
import { MessageRate, Spacing, type Turn } from '../../src/mail/deliver/rate.ts';
import { toTenant } from '../../src/mail/deliver/waiters-by-tenant.ts';

const STEP_MS = 100;
const NEVER = new AbortController().signal;

function setOut(perMinute: number, burst = 1) {
  const clock = createManualClock();
  const rate = new MessageRate(perMinute, burst, { clock, now: clock.steady });
  const left: { tenant: string; at: number }[] = [];
  /** Lets a message of the tenant wait for its turn. */
  const send = (tenant: string, signal = NEVER): Promise<Turn> =>
    rate.take(tenant, signal).then((turn) => {
      if (turn.kind === 'now') left.push({ tenant, at: clock.steady() });
      return turn;
    });
  /** Lets time pass in steps, after each of which the messages leave whose turn has come. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      clock.advance(STEP_MS);
      await Promise.resolve();
      await Promise.resolve();
    }
  };
  return { rate, left, send, pass };
}

describe('the message rate', () => {
  it('lets no minute have more messages than the limit and the burst, whenever they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 30 }),
        async (perMinute, burst, pauses) => {
          const { left, send, pass } = setOut(perMinute, burst);
          for (const pause of pauses) {
            void send('team');
            await pass(pause * STEP_MS);
          }
          await pass(60_000);
          for (const { at: from } of left) {
            const inMinute = left.filter(({ at }) => at >= from && at < from + 60_000 - STEP_MS);
            expect(inMinute.length).toBeLessThanOrEqual(perMinute + burst - 1);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it('gives tenants turns, so that one with many messages does not hold up the others', async () => {
    const { left, send, pass } = setOut(60);
    for (let n = 0; n < 10; n++) void send('many');
    void send('one');
    await pass(3000);
    expect(left.map(({ tenant }) => tenant).slice(0, 3)).toContain('one');
  });

  it('the message rate lets other mail of all teams go before bulk mail, which has every fifth turn', async () => {
    const { left, send, pass } = setOut(60);
    for (let n = 0; n < 3; n++) void send(toTenant({ teamId: 'a', isBulk: true }));
    for (let n = 0; n < 12; n++) void send('b');
    await pass(10_000);
    const order = left.slice(1).map(({ tenant }) => (tenant === 'b' ? 'T' : 'M'));
    expect(order.join('').slice(0, 10)).toBe('TTTTMTTTTM');
  });

  it('tells messages that would wait for long when to come again, each a turn later than the one before', () => {
    const { rate, send } = setOut(1);
    void send('team');
    let first = rate.enter('team');
    while (first === undefined) first = rate.enter('team');
    const second = rate.enter('team');
    expect((second?.afterMs ?? 0) - first.afterMs).toBe(60_000);
    for (let n = 0; n < 60; n++) rate.enter('team');
    expect(rate.enter('team')?.afterMs).toBe(60 * 60_000);
  });

  it('sends waiting messages on at the new rate when it changes, and stops waiting when the delivery is aborted', async () => {
    const { rate, left, send, pass } = setOut(1);
    const abort = new AbortController();
    void send('team');
    const waiting = send('team');
    const aborted = send('team', abort.signal);
    await pass(1000);
    expect(left).toHaveLength(1);
    abort.abort();
    expect(await aborted).toEqual({ kind: 'stopped' });
    rate.change(600, 1);
    await pass(6000);
    expect((await waiting).kind).toBe('now');
    expect(left).toHaveLength(2);
  });

  it('lets a message whose turn is the last one leave late, and the next one wait from then on', async () => {
    const { rate, send, pass, left } = setOut(60);
    const turn = await send('team');
    if (turn.kind !== 'now') throw new Error(`the first message got the turn ${turn.kind} instead of leaving now`);
    await pass(900);
    expect((await rate.takeAgain('team', turn.number, NEVER)).kind).toBe('now');
    void send('team');
    await pass(900);
    expect(left).toHaveLength(1);
    await pass(200);
    expect(left).toHaveLength(2);
  });
});

describe('the spacing', () => {
  it('keeps the share of the wait that is over when the pace changes', () => {
    let now = 0;
    const spacing = new Spacing(1, 1, () => now);
    spacing.take();
    now = 30_000;
    expect(spacing.waitMs).toBe(30_000);
    spacing.change(60, 1);
    expect(spacing.waitMs).toBe(500);
  });
});
