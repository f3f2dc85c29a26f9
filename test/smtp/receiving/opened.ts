import { expect } from 'vitest';
import type { Dialogue } from '../../rig/smtp-dialogue.ts';

export async function hearGreeting(client: Dialogue): Promise<void> {
  expect(await client.hear()).toMatch(/^220 /);
  expect(await client.say('EHLO mx.example.org')).toMatch(/^250/);
}

/** Up to the 354. */
export async function openTransaction(client: Dialogue, to: string, from = 'someone@example.org'): Promise<void> {
  await hearGreeting(client);
  expect(await client.say(`MAIL FROM:<${from}>`)).toMatch(/^250 /);
  expect(await client.say(`RCPT TO:<${to}>`)).toMatch(/^250 /);
  expect(await client.say('DATA')).toMatch(/^354 /);
}
