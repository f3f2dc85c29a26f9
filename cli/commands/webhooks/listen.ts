import { setTimeout as wait } from 'node:timers/promises';
import { ApiFault, NoAnswer, type StreamFrame } from '../../client/index.ts';
import { clean, CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';

/** An event as it is streamed: a webhook delivery in an envelope. */
interface StreamedEvent {
  id: string;
  type: string;
  headers: Record<string, string>;
  /** The body to post, byte by byte. */
  payload: string;
}

/** The result of forwarding an event: a status, or one word that says why there is none. */
interface Forwarded {
  outcome: number | string;
  isTaken: boolean;
  /** True when no response came, although we were not asked to stop. */
  isUnanswered: boolean;
  ms: number;
}

/** The same limit as for a webhook, so that what works here works there. */
const FORWARD_MS = 10_000;

/** Posts an event as a webhook delivery would: same body, same headers, no redirect followed. Never rejects. */
async function forward(url: URL, event: StreamedEvent, signal: AbortSignal): Promise<Forwarded> {
  const began = performance.now();
  const done = (outcome: number | string, isTaken = false): Forwarded => ({
    outcome,
    isTaken,
    isUnanswered: typeof outcome === 'string' && !signal.aborted,
    ms: Math.round(performance.now() - began),
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'rasket-Webhooks/1.0', ...event.headers },
      body: event.payload,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_MS)]),
    });
    await response.body?.cancel();
    return done(response.status, response.ok);
  } catch (error) {
    return done(describeError(error));
  }
}

function describeError(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return 'timeout';
  if (name === 'AbortError') return 'stopped';
  switch (cause?.code) {
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ENOTFOUND':
      return 'unknown host';
    default:
      return cause?.code ?? cause?.message ?? 'failed';
  }
}

interface ListenOptions {
  forwardTo?: string;
  events?: readonly string[];
}

/** Three signs of life missed. */
const SILENCE_MS = 45_000;
/** Enough that one slow response does not delay the others; few enough that they stay nearly in order. */
const AT_ONCE_MAX = 4;
const BACKOFF_MS = [1000, 2000, 5000, 10_000, 30_000];

/** Streams events until Ctrl-C. A broken stream resumes at the same position. */
export async function listenWebhooks(session: Session, options: ListenOptions): Promise<void> {
  const to = options.forwardTo === undefined ? undefined : readForwardTo(options.forwardTo, session.target.url);
  const stop = new AbortController();
  const { process } = session;
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    await listenOn(session, options, to, stop.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

async function listenOn(
  session: Session,
  { events }: ListenOptions,
  to: URL | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { client, terminal, process } = session;
  const under = new Set<Promise<void>>();
  const target = to && { url: to, report: createExplainOnce(to, process.stderr) };
  let lastId: string | undefined;
  for (let failures = 0; !signal.aborted; failures++) {
    if (failures > 0) {
      const ms = backoffMs(failures);
      process.stderr.write(`rasket: The stream was interrupted; connecting again in ${Math.round(ms / 1000)} s.\n`);
      await wait(ms, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
    }
    try {
      const stream = await client.stream('listenWebhooks', {
        query: { events: events?.join(',') },
        lastId,
        signal,
        silenceMs: SILENCE_MS,
      });
      for await (const frame of stream) {
        lastId = frame.lastId;
        failures = 0;
        if (frame.event === 'listening') announce(session, frame, to);
        if (frame.event === 'closed') mustBeWorthRetrying(frame);
        if (frame.event !== 'event') continue;
        while (under.size >= AT_ONCE_MAX) await Promise.race(under);
        const task = pass(session, frame, target, signal).finally(() => under.delete(task));
        under.add(task);
      }
    } catch (error) {
      if (signal.aborted) break;
      if (!isPassing(error, lastId !== undefined)) throw error;
    }
  }
  await Promise.all(under);
  terminal.hint('Stopped listening.');
}

/** Random, so that the listeners of a server that restarts do not all come back in the same moment. */
function backoffMs(failures: number): number {
  const ms = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? 0;
  return ms * (0.75 + Math.random() / 2);
}

/** A server that was reachable comes back; one that was never reachable, or refuses, does not. */
function isPassing(error: unknown, wasListening: boolean): boolean {
  if (error instanceof ApiFault) return error.status >= 500 || (error.status === 429 && wasListening);
  return error instanceof NoAnswer && wasListening;
}

function announce({ terminal, isJson, target, advise }: Session, frame: StreamFrame, to: URL | undefined): void {
  const listening = JSON.parse(frame.data) as { signing_secret: string | null; resumed: boolean };
  if (isJson) return terminal.printJson(listening);
  if (listening.resumed) return terminal.hint('Connected again; nothing was missed.');
  terminal.hint(`Listening to ${target.url}${to ? `, forwarding to ${to.href}` : ''}. Stop with Ctrl-C.`);
  advise({ words: 'Try it from another terminal with', command: ['triggerWebhook', 'email.bounced'] });
  terminal.print(`${terminal.paint('dim', 'Signing secret')}  ${clean(listening.signing_secret ?? '')}`);
}

function mustBeWorthRetrying(frame: StreamFrame): void {
  const { reason, message } = JSON.parse(frame.data) as { reason: string; message: string };
  if (reason !== 'shutting_down') {
    throw new CliFault(`${message} (${reason})`, reason === 'key_revoked' ? 'auth' : 'failed');
  }
}

interface ForwardTarget {
  url: URL;
  report(event: StreamedEvent, forwarded: Forwarded): void;
}

/** Explains once that the program does not run, and again if it has responded in between. */
function createExplainOnce(to: URL, stderr: Session['process']['stderr']): ForwardTarget['report'] {
  let isTold = false;
  return (event, { outcome, isUnanswered }) => {
    if (isUnanswered && !isTold) {
      stderr.write(
        `rasket: ${clean(to.href)} did not accept ${clean(event.id)}: ${clean(String(outcome))}. Is your program running? ` +
          `The event is not sent again: replay works for webhooks, not for listeners.\n`,
      );
    }
    isTold = isUnanswered;
  };
}

async function pass(
  session: Session,
  frame: StreamFrame,
  to: ForwardTarget | undefined,
  signal: AbortSignal,
): Promise<void> {
  const event = JSON.parse(frame.data) as StreamedEvent;
  const forwarded = to && (await forward(to.url, event, signal));
  if (forwarded) to.report(event, forwarded);
  const { terminal } = session;
  if (session.isJson) {
    const fate = forwarded && { forwarded: { status: forwarded.outcome, duration_ms: forwarded.ms } };
    return terminal.printJson({ ...event, ...fate });
  }
  terminal.print(formatLine(session, event, forwarded));
}

const TYPE_WIDTH = 'automation.run.completed'.length;

function formatLine({ terminal }: Session, event: StreamedEvent, forwarded: Forwarded | undefined): string {
  const type = clean(event.type);
  const id = clean(event.id);
  const fate = forwarded ? [clean(String(forwarded.outcome)), `${forwarded.ms} ms`] : [];
  if (!terminal.isTty) return [type, id, ...fate].join('\t');
  const style = forwarded?.isTaken ? 'green' : 'red';
  const shown = forwarded ? [terminal.paint(style, fate[0] ?? ''), fate[1] ?? ''] : [];
  return [type.padEnd(TYPE_WIDTH), id, ...shown].join('  ');
}

function readForwardTo(text: string, server: string): URL {
  const url = URL.parse(text);
  if (url !== null && isSameOrigin(url, new URL(server))) {
    throw new CliFault(
      `--forward-to ${text} is this server itself; give the port that your program listens on.`,
      'usage',
    );
  }
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CliFault(
    `--forward-to must be an http or https URL, such as http://localhost:8080/hook; got ${JSON.stringify(text)}.`,
    'usage',
  );
}

const THIS_MACHINE: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

function isSameOrigin(one: URL, other: URL): boolean {
  const isSameHost =
    one.hostname === other.hostname || [one, other].every(({ hostname }) => THIS_MACHINE.includes(hostname));
  return isSameHost && one.protocol === other.protocol && one.port === other.port;
}
