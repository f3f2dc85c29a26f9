import { setTimeout as wait } from 'node:timers/promises';
import { ApiFault } from '../../client/index.ts';
import { grouped } from '../../families/index.ts';
import { EVENT_OF_ENDPOINT, enable, seeTried } from '../../families/webhooks.ts';
import { findId, readPath } from '../../input/find-id.ts';
import { CliFault, formatTable, formatTime } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { progressBar } from '../progress-bar.ts';
import { readSince } from '../read-since.ts';

interface ReplayOptions {
  failed?: boolean;
  parked?: boolean;
  since?: string;
  webhook?: string;
  dryRun?: boolean;
}

export async function replayEvents(
  session: Session,
  [webhook, event]: (string | undefined)[],
  options: ReplayOptions,
): Promise<void> {
  const kinds = KINDS.filter((kind) => options[kind]);
  if (kinds.length > 0 && webhook !== undefined) {
    throw misuse(`--${kinds[0]} does not take an event; choose an endpoint with --webhook.`);
  }
  if (kinds.length > 0) {
    const only =
      options.webhook === undefined ? undefined : await findId(session.client, 'webhook_id', options.webhook);
    return replayAll(session, kinds, only === undefined ? options : { ...options, webhook: only });
  }
  if (options.since ?? options.webhook ?? options.dryRun) {
    throw misuse('--since, --webhook and --dry-run need --failed or --parked.');
  }
  if (webhook === undefined || event === undefined) {
    throw new CliFault('Name an event by its endpoint and its id, or give --failed or --parked.', 'usage', {
      words: 'See how with',
      command: ['webhooks replay', '--help'],
    });
  }
  const { client, terminal, isJson } = session;
  const { webhook_id = '', event_id = '' } = await readPath(client, EVENT_OF_ENDPOINT, [webhook, event]);
  const answer = await client.call('replayWebhookEvent', { path: { webhook_id, event_id } });
  return isJson ? terminal.printJson(answer) : terminal.print(answer.id);
}

const misuse = (message: string): CliFault => new CliFault(message, 'usage');

/** Deliveries that stay undelivered: ten attempts failed, or the endpoint was disabled. */
const KINDS = ['failed', 'parked'] as const;
type Kind = (typeof KINDS)[number];

type Since = Readonly<Record<Kind, string | undefined>>;

/** Failures were reported at the time, and may be meant to stay; paused events wait for the one replay. */
function chooseSince(given: string | undefined): Since {
  const failed = readSince(given ?? '24h', Date.now());
  return { failed, parked: given === undefined ? undefined : failed };
}

interface Undelivered {
  webhook: string;
  id: string;
  type: string;
  createdAt: string;
}

async function replayAll(session: Session, kinds: readonly Kind[], options: ReplayOptions): Promise<void> {
  const { terminal, isJson } = session;
  const since = chooseSince(options.since);
  const { found, left, retried } = await listUndelivered(session, kinds, { since, only: options.webhook });
  terminal.progress('');
  if (left > 0 && (found.length === 0 || options.webhook !== undefined)) session.fail();
  if (found.length + left === 0) {
    const where = options.webhook === undefined ? 'at any enabled endpoint' : `at ${options.webhook}`;
    const looked = kinds.map((kind) => `no ${kind} events${since[kind] === undefined ? '' : ` since ${since[kind]}`}`);
    terminal.warn(`rasket: Nothing to replay: ${looked.join(' and ')} ${where}.`);
  }
  for (const note of retried) terminal.warn(`rasket: ${note}`);
  if (options.dryRun) {
    if (isJson) return terminal.printJson(found.map(({ webhook, id, type }) => ({ webhook_id: webhook, id, type })));
    if (found.length === 0) return;
    terminal.print(formatUndelivered(session, found));
    return terminal.hint(`${count(found.length, kinds)} would be sent again.`);
  }
  let done = 0;
  for (const [at, event] of found.entries()) {
    const show = (note: string): void => terminal.progress(progressBar(at, found.length, note, terminal.columns));
    show(event.type);
    if (await replayWhenAllowed(session, event, show)) done++;
  }
  terminal.progress('');
  if (!isJson && terminal.isTty && found.length > 0) {
    terminal.print(`Replayed ${done} of ${count(found.length, kinds)}.`);
  }
  if (done < found.length) session.fail();
}

const count = (events: number, kinds: readonly Kind[]): string =>
  `${grouped(events)} ${kinds.join(' or ')} event${events === 1 ? '' : 's'}`;

/** Waits as long as the rate limit asks for. An event that cannot be replayed any more is named and skipped. */
async function replayWhenAllowed(session: Session, event: Undelivered, show: (note: string) => void): Promise<boolean> {
  const { client, terminal, isJson } = session;
  const path = { webhook_id: event.webhook, event_id: event.id };
  for (;;) {
    try {
      const answer = await client.call('replayWebhookEvent', { path });
      if (isJson) terminal.printJson(answer);
      else if (!terminal.isTty) terminal.print([event.webhook, event.id, event.type, 'replayed'].join('\t'));
      return true;
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error;
      if (error.status === 429 && error.retryAfterSeconds !== undefined) {
        await waitFor(error.retryAfterSeconds, show);
        continue;
      }
      // Removed or disabled since it was listed.
      if (error.status !== 404 && error.status !== 422) throw error;
      terminal.progress('');
      terminal.warn(`rasket: ${event.id} was not replayed: ${error.message}`);
      return false;
    }
  }
}

async function waitFor(seconds: number, show: (note: string) => void): Promise<void> {
  for (let left = seconds; left > 0; left--) {
    show(`waiting ${left} s: ten replays a minute`);
    await wait(1000);
  }
}

/** Lists oldest first, so that events are sent in the order in which they happened. */
async function listUndelivered(
  session: Session,
  kinds: readonly Kind[],
  { since, only }: { since: Since; only: string | undefined },
): Promise<{ found: Undelivered[]; left: number; retried: string[] }> {
  const found: Undelivered[] = [];
  const retried: string[] = [];
  let left = 0;
  for (const { id, status, endpoint, events_parked: parked } of await fetchEndpoints(session, only)) {
    const events: Undelivered[] = [];
    for (const kind of kinds) events.push(...(await fetchEvents(session, kind, { webhook: id, since: since[kind] })));
    if (status === 'enabled') {
      found.push(...events);
      if (kinds.includes('failed')) retried.push(...(await listRetried(session, id)));
    }
    if (status !== 'enabled' && !kinds.includes('parked') && parked > 0) {
      session.terminal.progress('');
      session.terminal.warn(
        `rasket: ${id} (${endpoint}) is disabled, and has ${count(parked, ['parked'])} waiting, which --failed does not include. ` +
          session.formatAdvices({ ...enable(id), words: 'Enable it, then replay them with --parked' }),
      );
    }
    if (status !== 'enabled' && events.length > 0) {
      session.terminal.progress('');
      left += events.length;
      session.terminal.warn(
        `rasket: ${id} (${endpoint}) is disabled, ${count(events.length, kinds)} not replayed. ` +
          session.formatAdvices({ ...enable(id), words: 'Enable it first' }),
      );
    }
  }
  return { found: found.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)), left, retried };
}

/** Returns events that have not failed yet, because they are still retried. */
async function listRetried({ client, formatAdvices }: Session, webhook: string): Promise<string[]> {
  const query = { status: 'attempting', limit: PAGE } as const;
  const { data, has_more: hasMore } = await client.call('listWebhookEvents', { path: { webhook_id: webhook }, query });
  if (data.length === 0) return [];
  const many = `${data.length}${hasMore ? ' or more' : ''} event${data.length === 1 ? ' is' : 's are'}`;
  return [`${many} being retried at ${webhook} and not replayed. ${formatAdvices(seeTried(webhook))}`];
}

const PAGE = 100;

async function fetchEndpoints({ client }: Session, only: string | undefined) {
  if (only !== undefined) return [await client.call('getWebhook', { path: { webhook_id: only } })];
  const found = [];
  for (let after: string | undefined; ;) {
    const page = await client.call('listWebhooks', {
      query: { limit: PAGE, ...(after === undefined ? {} : { after }) },
    });
    found.push(...page.data);
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) return found;
  }
}

async function fetchEvents(
  { client, terminal }: Session,
  kind: Kind,
  { webhook, since }: { webhook: string; since: string | undefined },
): Promise<Undelivered[]> {
  const path = { webhook_id: webhook };
  const found: Undelivered[] = [];
  for (let after: string | undefined; ;) {
    const query = { start_date: since, limit: PAGE, after };
    const page =
      kind === 'failed'
        ? await client.call('listWebhookEvents', { path, query: { ...query, status: 'failed' } })
        : await client.call('listParkedWebhookEvents', { path, query });
    for (const { id, type, created_at: createdAt } of page.data) found.push({ webhook, id, type, createdAt });
    terminal.progress(`${found.length} ${kind} events of ${webhook}`);
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) return found;
  }
}

function formatUndelivered({ terminal }: Session, found: readonly Undelivered[]): string {
  return formatTable(terminal, found, [
    { title: 'ENDPOINT', value: (event) => event.webhook, fit: 'whole' },
    { title: 'EVENT', value: (event) => event.id, fit: 'whole' },
    { title: 'TYPE', value: (event) => event.type, fit: 'whole' },
    { title: 'CREATED', value: (event) => formatTime(terminal, event.createdAt, 'second'), fit: 'whole' },
  ]);
}
