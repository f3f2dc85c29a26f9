// A relay between app and PostgreSQL loses the answer to a COMMIT, which reaches the server only later.
import { expect, it } from 'vitest';
import { nextTurn } from '../../src/platform/clock.ts';
import { driver } from '../rig/database.ts';
import { startPgRelay } from '../rig/pg-relay.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, MINUTE, SECOND, type Mail } from '../flow/mail.ts';

const CLAIM = 'update deliveries set lease_owner';

const LANDINGS = [
  { when: 'half a second', lateMs: 500, foundMs: SECOND },
  { when: 'seconds', lateMs: 5 * SECOND, foundMs: 10 * SECOND },
  { when: 'most of a minute', lateMs: 50 * SECOND, foundMs: MINUTE },
  { when: 'longer than anybody waits for it', lateMs: 10 * MINUTE, foundMs: HOUR },
];

interface Lost {
  scene: Scene;
  mail: Mail;
  id: string;
  land(): Promise<void>;
}

/** Mail whose claim has no answer and has not landed, after other mail is `underWay`. */
async function withLostClaim(work: (lost: Lost) => Promise<void>, underWay?: string): Promise<void> {
  let relay: Awaited<ReturnType<typeof startPgRelay>> | undefined;
  try {
    await using scene = await startScene({
      through: async (url) => {
        relay = await startPgRelay(url);
        return relay.url;
      },
    });
    const mail = await mailIn(scene);
    const dueAt = scene.clock.now() + MINUTE;
    const id = await mail.send('x@one.example', { scheduled_at: new Date(dueAt).toISOString() });
    await scene.settled();
    if (underWay !== undefined) {
      await mail.send(underWay);
      await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes(underWay)));
    }
    const claim = relay?.loseCommitAfter(CLAIM);
    if (!claim) throw new Error('there is no relay');
    scene.clock.advance(MINUTE);
    await claim.lost;
    while (!scene.log.some((line) => line.includes('work could not be claimed'))) await nextTurn();
    await work({ scene, mail, id, land: claim.land });
  } finally {
    await relay?.close();
  }
}

// runs only on PostgreSQL: an embedded database commits before it answers, or never.
it.runIf(driver === 'pg').each(LANDINGS)(
  'a claim that is committed $when after its connection was lost is found without a restart, and its mail is sent once',
  async ({ lateMs, foundMs }) => {
    await withLostClaim(async ({ scene, mail, id, land }) => {
      // Nothing is taken back before it lands: the look right after the failure finds nothing.
      scene.clock.advance(lateMs);
      await scene.settled();
      await land();
      scene.app.queue?.wake();
      await scene.settled();
      expect(await mail.account(id)).toMatchObject({ state: 'sent', arrived: [], waiting: ['x@one.example'] });
      scene.clock.advance(foundMs - lateMs);
      await scene.settled();
      expect(await mail.account(id)).toEqual({
        state: 'delivered',
        events: ['email.scheduled', 'email.sent', 'email.delivered x@one.example'],
        arrived: ['x@one.example'],
        suppressed: [],
        waiting: [],
      });
    });
  },
);

// runs only on PostgreSQL, for the same reason.
it.runIf(driver === 'pg')(
  'a delivery in progress stays with its process while orphaned claims are released',
  async () => {
    await withLostClaim(async ({ scene, mail, id, land }) => {
      await land();
      scene.clock.advance(10 * MINUTE);
      await scene.sink.waitFor((sink) => sink.messages.some(({ rcptTo }) => rcptTo.includes('x@one.example')));
      scene.sink.openGate();
      await scene.settled();
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'], waiting: [] });
      expect(scene.sink.counts.accepted).toBe(2);
      expect(scene.sink.commands.filter((line) => line.includes('RCPT TO:<slow-rcpt'))).toHaveLength(1);
    }, 'slow-rcpt@one.example');
  },
);
