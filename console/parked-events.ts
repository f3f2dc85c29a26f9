import type { AnswerOf, CallOf, Client, OperationId } from '../cli/client/index.ts';

type Rows = AnswerOf<'listWebhookEvents'>['data'];

const isWaiting = ({ status }: { status: string }): boolean => status === 'pending' || status === 'attempting';
const parked = <Event extends object>(event: Event): object => ({ ...event, status: 'parked' });

/** The largest page of the API. The query starts at the oldest waiting event, so that none of them is missed. */
const MOST = 100;

/**
 * Calls the API, and reports an event that nothing sends any more as `parked` instead of with the status that it had
 * reached.
 */
export async function callAndSee(
  client: Client,
  operation: OperationId,
  call: CallOf<OperationId>,
  signal: AbortSignal,
): Promise<unknown> {
  const answer: unknown = await client.call(operation, call, signal);
  if (operation === 'getWebhookEvent') return seeOne(answer as AnswerOf<'getWebhookEvent'>);
  if (operation === 'listParkedWebhookEvents') return seeAll(answer as AnswerOf<'listParkedWebhookEvents'>);
  if (operation !== 'listWebhookEvents') return answer;
  const list = answer as AnswerOf<'listWebhookEvents'>;
  const oldest = list.data.findLast(isWaiting);
  if (oldest === undefined) return list;
  const { path } = call as CallOf<'listParkedWebhookEvents'>;
  const query = { start_date: oldest.created_at, limit: MOST };
  const { data } = await client.call('listParkedWebhookEvents', { path, query }, signal);
  const ids = new Set(data.map(({ id }) => id));
  return seeAll(list, ({ id }) => ids.has(id));
}

const seeOne = (event: AnswerOf<'getWebhookEvent'>): object =>
  isWaiting(event) && event.next_attempt_at === null ? parked(event) : event;

const seeAll = (list: { data: Rows }, isParked: (row: Rows[number]) => boolean = () => true): object => ({
  ...list,
  data: list.data.map((row) => (isParked(row) ? parked(row) : row)),
});
