import { ApiFault, type Client } from '../cli/client/index.ts';
import type { Action } from '../cli/families/index.ts';
import { clean } from '../cli/output/index.ts';
import type { Path } from './carry-out.ts';

/** What is in the way of an action, and can be put right before it is tried again. */
export interface Mend {
  title: string;
  question: string;
  work: () => Promise<unknown>;
}

/** A replay to a disabled endpoint is refused: it is offered to enable that first. */
export async function mendOf(
  error: unknown,
  { client, signal }: { client: Client; signal: AbortSignal },
  { operation }: Pick<Action, 'operation'>,
  paths: readonly Path[],
): Promise<Mend | undefined> {
  const id = paths[0]?.webhook_id;
  if (operation !== 'replayWebhookEvent' || !(error instanceof ApiFault) || id === undefined) return undefined;
  const path = { webhook_id: id };
  const { endpoint, status } = await client.call('getWebhook', { path }, signal);
  if (status !== 'disabled') return undefined;
  const what = paths.length === 1 ? 'the event' : `the ${paths.length} events`;
  return {
    title: 'enable and replay',
    question: `${clean(endpoint)} is disabled and is sent nothing. Enable it, and send ${what} again?`,
    work: () => client.call('updateWebhook', { path, body: { status: 'enabled' } }),
  };
}
