import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countOutcomes } from '../../../src/features/campaigns/broadcast-recipients/outcomes.store.ts';
import { explainQueries } from '../../rig/plans.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

describe('the report of a broadcast', () => {
  it('is counted by an index, even with statistics from when the table was empty', async () => {
    const { db, ids } = scene.app.world;
    await db.run('analyze');
    const outcome = { emailId: ids.uuid(), type: 'email.delivered' };
    const plans = await explainQueries(db, () => countOutcomes(db, ids, [outcome]), 'update broadcast_recipients');
    expect(plans).not.toEqual([]);
    if (db.dialect === 'sqlite') for (const plan of plans) expect(plan).not.toMatch(/SCAN/);
  });
});
