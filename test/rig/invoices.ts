import { randomUUID } from 'node:crypto';
import { insertInvoice } from '../../src/features/billing/billing.store.ts';
import type { Scene, Team } from './scene.ts';

let invoices = 0;

/** Writes an invoice as a row, of a month that nobody closes; returns its id. */
export async function plantInvoice(scene: Scene, team: Pick<Team, 'id'>): Promise<string> {
  const { clock, db, ids } = scene.app.world;
  const id = ids.uuid();
  const month = '2001-01';
  const line = { kind: 'plan', plan_code: 'pro', plan_name: 'Pro', description: 'Pro, 31 of 31 days' };
  const content = {
    month,
    period_start: '2001-01-01T00:00:00.000Z',
    period_end: '2001-02-01T00:00:00.000Z',
    time_zone: 'UTC',
    issuer: null,
    billed_to: 'Example Ltd',
    currency: 'EUR',
    total_cents: 2000,
    lines: [{ ...line, quantity: 31, unit: 'days', price_cents: 2000, amount_cents: 2000 }],
  };
  const number = `PLANTED-${++invoices}-${randomUUID().slice(0, 8)}`;
  // Two invoices of one team have different months.
  await insertInvoice(db, {
    id,
    team_id: team.id,
    number,
    month: `${month}-${invoices}`,
    content: JSON.stringify(content),
    issued_at: clock.now(),
  });
  return id;
}
