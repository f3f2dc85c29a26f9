import { expect } from 'vitest';
import type { Api } from '../rig/api.ts';
import type { Program } from './program.ts';

/** The program's domain takes mail from the world. */
export async function receiveAt(api: Api, { apiKey: key }: Program): Promise<void> {
  const { body } = await api('GET', '/domains', { key });
  const change = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  const changed = await api('PATCH', `/domains/${body.data[0].id}`, { key, body: change });
  expect(changed.status).toBe(200);
}

export interface ReceivedItem {
  id: string;
  subject: string;
  message_id: string;
  dropped_reason: string | null;
}

/** Everything that the team has received, page by page. */
export async function allReceived(api: Api, key: string): Promise<ReceivedItem[]> {
  const all: ReceivedItem[] = [];
  for (let after = ''; ;) {
    const { body } = await api('GET', `/emails/receiving?limit=100${after && `&after=${after}`}`, { key });
    all.push(...(body.data as ReceivedItem[]));
    if (!body.has_more) return all;
    after = all.at(-1)?.id ?? '';
  }
}
