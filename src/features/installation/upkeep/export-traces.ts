import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { repeat } from '../../../platform/clock.ts';
import { formatTraceRequest, type Span } from '../../../platform/trace/index.ts';
import type { World } from '../../../platform/world.ts';

const EVERY_MS = 5000;
const SPANS_A_REQUEST = 512;
const ANSWER_MS = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/**
 * Statuses that ask for a retry (OTLP/HTTP): the same spans are sent again. Any other refusal would only be repeated.
 */
const COME_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends spans to the configured collector. Returns a function that makes one last try and stops. */
export function exportTraces(world: World, version: string): () => Promise<void> {
  const { clock, config } = world;
  if (config.traces.endpoint === '') return () => Promise.resolve();
  const send = createExport(world, version);
  const end = repeat(clock, EVERY_MS, () => send(AbortSignal.timeout(ANSWER_MS)));
  return async () => {
    end();
    await send(AbortSignal.timeout(LAST_TRY_MS));
  };
}

/** Limit for the last try during a stop, whose time belongs to mail. */
const LAST_TRY_MS = 1000;

/** Returns a function that exports spans; it never rejects. */
function createExport(world: World, version: string): (signal: AbortSignal) => Promise<void> {
  const { config, log, tracer } = world;
  const resource = { 'service.name': 'rasket', 'service.version': version, 'host.name': os.hostname() };
  const url = new URL(`${config.traces.endpoint}/v1/traces`);
  let isFailing = false;

  async function post(spans: readonly Span[], signal: AbortSignal): Promise<'taken' | 'refused' | 'away'> {
    const headers = await readHeaders(world);
    const request = { method: 'POST', url, body: formatTraceRequest(spans, resource), headers } as const;
    let left = ANSWER_BYTES_MAX;
    const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
    const answer = await world.collector.send(request, limits);
    const isTaken = answer.kind === 'answered' && answer.status < 300;
    if (!isTaken && !isFailing) {
      const why = answer.kind === 'answered' ? { status: answer.status } : { fault: answer.fault };
      log.warn(
        { ...why, endpoint: config.traces.endpoint },
        'traces cannot be exported; the oldest are kept for a while',
      );
    }
    if (isTaken && isFailing) log.info('traces are exported again');
    isFailing = !isTaken;
    if (isTaken) return 'taken';
    return answer.kind === 'answered' && !COME_AGAIN.has(answer.status) ? 'refused' : 'away';
  }

  return async (signal) => {
    try {
      for (let spans = tracer.take(SPANS_A_REQUEST); spans.length > 0; spans = tracer.take(SPANS_A_REQUEST)) {
        const result = await post(spans, signal);
        if (result === 'refused') world.meter.count('rasket_trace_spans_dropped_total', {}, spans.length);
        if (result === 'away') return tracer.requeue(spans);
      }
    } catch (error) {
      log.error({ err: error }, 'traces could not be exported');
    }
  };
}

/**
 * Returns the headers of the operator's file, one per line. Reads it each time, so that a token can be replaced while
 * the service runs.
 */
async function readHeaders({ config, dataDir }: World): Promise<Record<string, string>> {
  const json = { 'content-type': 'application/json' };
  if (config.traces.headers_file === '') return json;
  const text = await readFile(path.resolve(dataDir, config.traces.headers_file), 'utf8');
  const lines = text.split('\n').flatMap((line) => {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name.toLowerCase(), value ?? '']];
  });
  return { ...(Object.fromEntries(lines) as Record<string, string>), ...json };
}
