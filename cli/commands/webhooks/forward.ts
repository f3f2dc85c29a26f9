/** An event as it is streamed: a webhook delivery in an envelope. */
export interface StreamedEvent {
  id: string;
  type: string;
  headers: Record<string, string>;
  /** The body to post, byte by byte. */
  payload: string;
}

/** What became of posting it: a status, or in a word why there is none. */
export interface Forwarded {
  outcome: number | string;
  isTaken: boolean;
  /** No answer came, although nobody told us to stop. */
  isUnanswered: boolean;
  ms: number;
}

/** As long as a webhook waits, so that what works here works there. */
const FORWARD_MS = 10_000;

/** Posts an event as a webhook delivery would: same body, same headers, no redirect followed. Never rejects. */
export async function forward(url: URL, event: StreamedEvent, signal: AbortSignal): Promise<Forwarded> {
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
    return done(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
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
