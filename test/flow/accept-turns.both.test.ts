// Tests who is accepted first while one team posts many batches. The shared commit is held until all have handed in what they post.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccept, type Accept } from '../../src/mail/accept/index.ts';
import { nextTurn } from '../../src/platform/clock.ts';
import { createGroupCommit } from '../../src/platform/db/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { Ctx } from '../../src/tenancy/access/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, type Mail } from './mail.ts';

let scene: Scene;
let crowd: Mail;
let other: Mail;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  crowd = await mailIn(scene);
  other = await mailIn(scene);
});
afterAll(() => scene.close());

const BATCHES = 10;
const BATCH = 100;

interface HandedIn {
  teamId: string;
  /** The turn of the event loop in which it was handed to the shared commit. */
  turn: number;
  /** The number of the commit that wrote it. */
  commit: number;
}

interface Held {
  accept: Accept;
  /** The emails in the order in which they were handed in. */
  handedIn: HandedIn[];
  until(count: number): Promise<void>;
  letGo(): void;
}

/** Accept over the scene's database, with a shared commit of its own that waits until it is let go. */
function heldAccept(world: World): Held {
  const handedIn: HandedIn[] = [];
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  let turn = 0;
  let commit = 0;
  const shared = createGroupCommit({
    async tx(work) {
      await held;
      commit++;
      return world.db.tx(work);
    },
  });
  const commits: typeof shared = {
    ...shared,
    lane(apply, placeOf) {
      const handIn = shared.lane(apply, placeOf);
      return async (item) => {
        const one: HandedIn = { teamId: (item as { teamId: string }).teamId, turn, commit: 0 };
        handedIn.push(one);
        const result = await handIn(item);
        one.commit = commit;
        return result;
      };
    },
  };
  return {
    accept: createAccept({ ...world, commits }, () => undefined),
    handedIn,
    letGo,
    async until(count) {
      for (; handedIn.length < count; turn++) await nextTurn();
    },
  };
}

const buildCtx = ({ team }: Mail): Ctx => ({
  store: scene.app.world,
  teamId: team.id,
  actor: { kind: 'job', name: 'test' },
  requestId: scene.app.world.ids.uuid(),
});

const buildEmail = (mail: Mail, to: string) => ({
  from: `a@${mail.domain.name}`,
  to: [to],
  subject: 'Hello',
  text: 'It works.',
});

const buildBatch = (mail: Mail) => Array.from({ length: BATCH }, (_, n) => buildEmail(mail, `x${n}@one.example`));

const loadCount = async ({ team }: Mail): Promise<number> => {
  const { db } = scene.app.world;
  const row = await db.get<{ n: number }>('select count(*) as n from emails where team_id = ?', [team.id]);
  return row?.n ?? 0;
};

it('one email is committed ahead of the batches that another team posted before it', async () => {
  const { accept, handedIn, until, letGo } = heldAccept(scene.app.world);
  const batches = Array.from({ length: BATCHES }, () => accept.acceptBatch(buildCtx(crowd), buildBatch(crowd), {}));
  await until(BATCHES);
  const single = accept.acceptEmail(buildCtx(other), buildEmail(other, 'y@one.example'));
  await until(BATCHES + 1);
  letGo();
  const [{ id }, ...answers] = await Promise.all([single, ...batches]);
  const its = handedIn.find(({ teamId }) => teamId === other.team.id);
  // The first commit was under way already.
  expect(its?.commit).toBe(2);
  expect(handedIn.filter(({ commit }) => commit > 2).length).toBeGreaterThanOrEqual(BATCHES - 5);
  expect(answers.map(({ data }) => data.length)).toEqual(answers.map(() => BATCH));
  expect([await loadCount(crowd), await loadCount(other)]).toEqual([BATCHES * BATCH, 1]);
  expect((await scene.account(other.team, id)).events).toEqual(['email.queued']);
});

it('one email is committed ahead of the batches that its own team posted before it', async () => {
  const { accept, handedIn, until, letGo } = heldAccept(scene.app.world);
  const before = await loadCount(crowd);
  const batches = Array.from({ length: BATCHES }, () => accept.acceptBatch(buildCtx(crowd), buildBatch(crowd), {}));
  await until(BATCHES);
  const single = accept.acceptEmail(buildCtx(crowd), buildEmail(crowd, 'y@one.example'));
  await until(BATCHES + 1);
  letGo();
  await Promise.all([single, ...batches]);
  // The first commit was under way already.
  expect(handedIn.at(-1)?.commit).toBe(2);
  expect(handedIn.filter(({ commit }) => commit > 2).length).toBeGreaterThanOrEqual(BATCHES - 5);
  expect(await loadCount(crowd)).toBe(before + BATCHES * BATCH + 1);
});

it('the batches of one team are prepared a few in each turn of the event loop, however many arrive at once', async () => {
  const { accept, handedIn, until, letGo } = heldAccept(scene.app.world);
  const batches = Array.from({ length: BATCHES }, () => accept.acceptBatch(buildCtx(crowd), buildBatch(crowd), {}));
  await until(BATCHES);
  letGo();
  await Promise.all(batches);
  const turns = Map.groupBy(handedIn, ({ turn }) => turn);
  expect(Math.max(...[...turns.values()].map((together) => together.length))).toBeLessThanOrEqual(2);
});
