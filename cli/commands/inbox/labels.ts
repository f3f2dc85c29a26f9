import { CliFault } from '../../output/index.ts';
import type { Client } from '../../client/index.ts';
import type { Session } from '../declare.ts';
import { prepare, runAction, tell, type Call } from '../run-action.ts';
import { callOf } from '../../input/index.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** People know labels by their names, the API by their ids. */
export async function runLabels(session: Session, call: Call): Promise<void> {
  const [inbox = '', thread = '', label] = call.words as [string, string, string | string[] | undefined];
  if (call.action.operation === 'removeInboxThreadLabel') {
    const [id = ''] = await idsOf(session.client, inbox, [String(label)]);
    return runAction(session, { ...call, words: [inbox, thread, id] });
  }
  const [path, body] = await prepare(session, call);
  const labels = await idsOf(session.client, inbox, (body['labels'] as string[] | undefined) ?? []);
  await tell(session, call, await session.client.call(...callOf(call.action, path, { labels })), { labels });
}

async function idsOf(client: Client, inbox: string, named: readonly string[]): Promise<string[]> {
  if (named.every((one) => UUID.test(one))) return [...named];
  const { data } = await client.call('listInboxLabels', { path: { inbox } });
  return named.map((one) => {
    const found = data.find(({ id, name }) => id === one || name.toLowerCase() === one.toLowerCase());
    if (found) return found.id;
    throw new CliFault(`there is no label ${one} in this inbox.`, 'notFound', {
      words: 'See what there is with',
      command: ['listInboxLabels', inbox],
    });
  });
}
