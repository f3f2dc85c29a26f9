import { setTimeout as wait } from 'node:timers/promises';
import { ApiFault } from '../../client/index.ts';
import { CliFault, formatTable, formatTime } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { progressBar } from './progress-bar.ts';
import { readSince } from './read-since.ts';

interface ReplayOptions {
  failed?: boolean;
  since?: string;
  webhook?: string;
  dryRun?: boolean;
}

export async function replayEvents(
  session: Session,
  [webhook, event]: (string | undefined)[],
  options: ReplayOptions,
): Promise<void> {
  const isAll = options.failed ?? false;
  if (isAll && webhook !== undefined) throw misuse('--failed takes no event; name an endpoint with --webhook.');
  if (isAll) return replayFailed(session, options);
  if (options.since ?? options.webhook ?? options.dryRun)
    throw misuse('--since, --webhook and --dry-run go with --failed.');
  if (webhook === undefined || event === undefined) {
    throw misuse('Say which event: rasket webhooks replay <webhook> <event>, or --failed for all that failed.');
  }
  const { client, terminal, isJson } = session;
  const answer = await client.call('replayWebhookEvent', { path: { webhook_id: webhook, event_id: event } });
  return isJson ? terminal.printJson(answer) : terminal.print(answer.id);
}

const misuse = (message: string): CliFault => new CliFault(message, 2);

interface Failed {
  webhook: string;
  id: string;
  type: string;
  createdAt: string;
}

async function replayFailed(session: Session, options: ReplayOptions): Promise<void> {
  const { terminal, isJson } = session;
  const since = readSince(options.since ?? '24h', Date.now());
  const failed = await listFailed(session, since, options.webhook);
  if (options.dryRun) {
    if (isJson) return terminal.printJson(failed.map(({ webhook, id, type }) => ({ webhook_id: webhook, id, type })));
    if (failed.length > 0) terminal.print(tableOf(session, failed));
    return terminal.hint(`${count(failed.length)} would be sent again.`);
  }
  let done = 0;
  for (const [at, event] of failed.entries()) {
    const show = (note: string): void => terminal.progress(progressBar(at, failed.length, note, terminal.columns));
    show(event.type);
    if (await replayWhenAllowed(session, event, show)) done++;
  }
  terminal.progress('');
  if (!isJson && terminal.isTty) terminal.print(`Replayed ${done} of ${count(failed.length)}.`);
  if (done < failed.length) session.fail();
}

const count = (events: number): string => `${events} failed event${events === 1 ? '' : 's'}`;

/** Waits as long as the limit asks for. What cannot be replayed any more is named and passed over. */
async function replayWhenAllowed(session: Session, event: Failed, show: (note: string) => void): Promise<boolean> {
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
      process.stderr.write(`rasket: ${event.id} was not replayed: ${error.message}\n`);
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

/** Oldest first: what failed first is sent first. */
async function listFailed(session: Session, since: string, only: string | undefined): Promise<Failed[]> {
  const failed: Failed[] = [];
  for (const { id, status, endpoint } of await endpointsOf(session, only)) {
    const events = await eventsOf(session, id, since);
    if (status === 'enabled') failed.push(...events);
    else if (events.length > 0) {
      process.stderr.write(`rasket: ${id} (${endpoint}) is disabled: ${count(events.length)} left as they are.\n`);
    }
  }
  return failed.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

const PAGE = 100;

async function endpointsOf({ client }: Session, only: string | undefined) {
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

async function eventsOf({ client, terminal }: Session, webhook: string, since: string): Promise<Failed[]> {
  const found: Failed[] = [];
  for (let after: string | undefined; ;) {
    const page = await client.call('listWebhookEvents', {
      path: { webhook_id: webhook },
      query: { status: 'failed', start_date: since, limit: PAGE, ...(after === undefined ? {} : { after }) },
    });
    for (const { id, type, created_at: createdAt } of page.data) found.push({ webhook, id, type, createdAt });
    terminal.progress(`${found.length} failed events of ${webhook}`);
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) return found;
  }
}

function tableOf({ terminal }: Session, failed: readonly Failed[]): string {
  return formatTable(terminal, failed, [
    { title: 'Endpoint', value: (event) => event.webhook, isWhole: true },
    { title: 'Event', value: (event) => event.id, isWhole: true },
    { title: 'Type', value: (event) => event.type },
    { title: 'Created', value: (event) => formatTime(terminal, event.createdAt) },
  ]);
}
