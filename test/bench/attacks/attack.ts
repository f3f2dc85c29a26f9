import type { Field } from '../accept-under-attack.ts';

const BATCH = 100;

/** Posts small messages of the attacking team, a hundred per call. */
export async function postBatches({ appliance, key, from }: Field, addresses: readonly string[]): Promise<void> {
  const call = appliance.callAs(key);
  for (let at = 0; at < addresses.length; at += BATCH) {
    const emails = addresses
      .slice(at, at + BATCH)
      .map((to) => ({ from, to: [to], subject: 'Hello', text: 'It works.' }));
    await call('POST', '/emails/batch', emails);
  }
}
