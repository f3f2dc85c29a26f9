import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorld } from '../../src/open-world.ts';
import { createSendSwitch, setSending } from '../../src/tenancy/instance/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';

describe('the switch for all sending', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
  });
  afterAll(() => scene.close());

  it('is on until somebody changes it, and forgets the reason when it is on again', async () => {
    const { world } = scene.app;
    const read = createSendSwitch(world);
    expect(await read()).toEqual({ isOn: true, reason: null });
    await setSending(world, { isOn: false, reason: ' Moving house ' });
    expect(await read()).toEqual({ isOn: false, reason: 'Moving house' });
    await setSending(world, { isOn: true, reason: 'ignored' });
    expect(await read()).toEqual({ isOn: true, reason: null });
    await setSending(world, { isOn: false });
    expect(await read()).toEqual({ isOn: false, reason: null });
    await setSending(world, { isOn: true });
  });

  it('is seen by every other process on the database at its next query', async () => {
    const { config, dataDir, clock, log } = scene.app.world;
    const read = createSendSwitch(scene.app.world);
    expect((await read()).isOn).toBe(true);
    const nextTurn = () => new Promise((next) => setImmediate(next));
    const other = await openWorld({ config, dataDir, clock, log });
    await setSending(other, { isOn: false, reason: 'elsewhere' });
    await nextTurn();
    expect(await read()).toEqual({ isOn: false, reason: 'elsewhere' });
    await setSending(other, { isOn: true });
    await nextTurn();
    expect((await read()).isOn).toBe(true);
    other.resolver.close();
    await other.db.close();
  });

  it('records when it was changed', async () => {
    const { world } = scene.app;
    scene.clock.advance(1000);
    await setSending(world, { isOn: true });
    expect(await world.db.get('select changed_at from instance_settings where name = ?', ['sending'])).toEqual({
      changed_at: scene.clock.now(),
    });
  });

  it('queries the database once for many sends', async () => {
    const { world } = scene.app;
    let asked = 0;
    const db = { ...world.db, get: (...call: Parameters<typeof world.db.get>) => (asked++, world.db.get(...call)) };
    const read = createSendSwitch({ ...world, db: db as typeof world.db });
    for (let sends = 0; sends < 10; sends++) await read();
    expect(asked).toBe(1);
  });
});
