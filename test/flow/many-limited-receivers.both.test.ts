import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createThrottles, listThrottles } from '../../src/mail/throttles/index.ts';
import { createProviderPolicies } from '../../src/platform/providers/index.ts';
import type { Reply } from '../../src/protocol/smtp-reply/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';

/** Brings about two limits: of the rate and of the connections. */
const REPLY: Reply = { code: 421, enhanced: '4.7.0', lines: ['4.7.0 Messages from 192.0.2.1 temporarily deferred'] };
const LIMITS_MAX = 1000;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

/** Creates the limits of a process, and lets mail servers of an organization refuse mail for its rate. */
async function setOut() {
  const { world } = scene.app;
  const throttles = createThrottles(world, createProviderPolicies(world.config));
  await throttles.start();
  const refuse = (servers: string): void =>
    throttles.note({ source: '192.0.2.1', provider: undefined, servers, senderDomain: undefined }, REPLY, undefined);
  const isLimited = (servers: string): boolean =>
    throttles.inForce({ source: '192.0.2.1', provider: undefined, servers }).length > 0;
  return { throttles, refuse, isLimited };
}

describe('limits of receivers without a provider', () => {
  it('leave room for another receiver, however many mail servers one organization has', async () => {
    const { throttles, refuse, isLimited } = await setOut();
    refuse('mx.first.example');
    for (let n = 0; n < LIMITS_MAX; n++) refuse(`mx${n}.attacker.example`);
    refuse('mx.later.example');
    expect(isLimited('mx.first.example')).toBe(true);
    expect(isLimited('mx.later.example')).toBe(true);
    expect(throttles.list()).toHaveLength(LIMITS_MAX);
    await throttles.stored();
    expect(await listThrottles(scene.app.world.db)).toHaveLength(LIMITS_MAX);
    throttles.stop();
  });

  it('tell of a change alone, and not of the other places', async () => {
    const { throttles, refuse } = await setOut();
    const told: unknown[] = [];
    throttles.onChange((changed) => told.push(...changed));
    refuse('mx.another.example');
    expect(told).toContainEqual({ provider: undefined, servers: 'mx.another.example' });
    // Two limits begin, and two others end for them.
    expect(told.length).toBeLessThanOrEqual(4);
    await throttles.stored();
    throttles.stop();
  });
});
