import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPasswords } from '../../../src/platform/secrets/index.ts';
import { toEmailKey, insertUser } from '../../../src/tenancy/users/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const PASSWORD = 'correct horse battery staple';
let scene: Scene;
let passwordHash: string;
beforeAll(async () => {
  scene = await startScene({ config: { accounts: { sign_up: 'open' } } });
  passwordHash = await scene.app.world.passwords.hash(PASSWORD);
  await (await scene.team()).domain();
});
afterAll(() => scene.close());

interface Route {
  name: string;
  call(email: string): Promise<ApiAnswer>;
}

const post = (path: string, body: unknown) => scene.api('POST', path, { body, headers: { origin: scene.url } });
const routes: Route[] = [
  { name: 'sign-up', call: (email) => post('/auth/signup', { email, password: PASSWORD }) },
  { name: 'a new password', call: (email) => post('/auth/password-reset', { email }) },
  { name: 'signing in', call: (email) => post('/auth/login', { email, password: 'a wrong one' }) },
];

let pairs = 0;
/** Returns two addresses of one length, of which one has an account. */
async function pair(): Promise<{ known: string; unknown: string }> {
  const n = String(++pairs).padStart(5, '0');
  const known = `known${n}@pairs.example`;
  const { db, ids, clock } = scene.app.world;
  const row = { id: ids.uuid(), email: known, email_key: toEmailKey(known), name: null, password_hash: passwordHash };
  await db.tx((tx) => insertUser(tx, { ...row, email_verified_at: clock.now(), created_at: clock.now() }));
  return { known, unknown: `other${n}@pairs.example` };
}

/** Returns everything in an answer except what is new in every answer to the same call. */
function seen({ status, headers, text }: ApiAnswer, email: string): string {
  const said = text
    .replaceAll(email, '<email>')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
  const kept = [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name)).sort();
  return JSON.stringify({ status, kept, said }).replaceAll(/\brs_[\w-]{43}\b/g, '<token>');
}

describe.each(routes)('$name', ({ call }) => {
  it('gives the same answer, byte for byte, whether or not the address has an account', async () => {
    const { known, unknown } = await pair();
    const asked = async (email: string) => {
      // The general rate limit is full again, and its answers do not differ.
      scene.clock.advance(1000);
      return call(email);
    };
    expect(seen(await asked(known), known)).toBe(seen(await asked(unknown), unknown));
    // The answers are also alike at the limit.
    for (let asking = 0; asking < 9; asking++) await Promise.all([call(known), call(unknown)]);
    const one = await asked(known);
    const other = await asked(unknown);
    expect(one.status).toBe(429);
    expect(seen(one, known)).toBe(seen(other, unknown));
    scene.clock.advance(16 * 60_000);
  });

  it('takes the same time whether or not the address has an account', async () => {
    const measured: number[] = [];
    // For equal times a measurement exceeds the bound once in eight thousand times, and three in a row never do; a real
    // difference always does.
    do measured.push(superiority(await timed(call)) - 0.5);
    while (Math.abs(measured.at(-1) ?? 0) >= 0.25 && measured.length < 3);
    expect(
      measured.filter((part) => Math.abs(part) < 0.25),
      `how much oftener a known one is slower, of all pairs: ${measured.join(', ')}`,
    ).not.toEqual([]);
    // Eighty passwords are hashed for each, on a machine that may be busy.
  });
});

interface Timed {
  isKnown: boolean;
  ms: number;
}

async function timed(call: Route['call']): Promise<Timed[]> {
  const times: Timed[] = [];
  for (let round = 0; round < 40; round++) {
    const { known, unknown } = await pair();
    const order = round % 2 === 0 ? [known, unknown] : [unknown, known];
    for (const email of order) {
      // Work after the answer is done, so that each call is measured alone.
      await scene.settled();
      const before = performance.now();
      await call(email);
      times.push({ isKnown: email === known, ms: performance.now() - before });
    }
    scene.clock.advance(16 * 60_000);
  }
  return times;
}

/** Returns the share of pairs, one of each kind, in which the known one took longer (Mann and Whitney’s U). */
function superiority(times: readonly Timed[]): number {
  const [known, unknown] = [true, false].map((kind) => times.filter(({ isKnown }) => isKnown === kind));
  if (!known || !unknown) return 0;
  const slower = known.flatMap((one) =>
    unknown.map((other) => (one.ms > other.ms ? 1 : one.ms === other.ms ? 0.5 : 0)),
  );
  return slower.reduce((sum: number, value) => sum + value, 0) / slower.length;
}

it('known and unknown addresses get the same refusal while too many passwords wait to be checked', async () => {
  const { known, unknown } = await pair();
  // Hashing costs as much as in production, so all of them still wait when these arrive.
  const waiting = Promise.allSettled(Array.from({ length: 60 }, () => createPasswords().matches(PASSWORD, null)));
  const one = await post('/auth/login', { email: known, password: PASSWORD });
  // Refill the general rate limit, whose refusal has the same message.
  scene.clock.advance(1000);
  const other = await post('/auth/login', { email: unknown, password: PASSWORD });
  expect([one.status, one.body.name, one.headers.get('retry-after')]).toEqual([503, 'service_unavailable', '5']);
  expect(seen(one, known)).toBe(seen(other, unknown));
  await waiting;
});
