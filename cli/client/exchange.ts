export interface Asking {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** Handed the cookies that an answer sets. */
  onCookies?: ((lines: readonly string[]) => void) | undefined;
}

/** As much of a `Response` as an answer is read by. */
export interface Answer {
  status: number;
  ok: boolean;
  headers: { get(name: string): string | null };
}

/** A name may have addresses that lead nowhere. */
const CONNECT_MS = 10_000;

/**
 * One request and its whole answer, redirects included. Not by `fetch`, and not by an import of `node:http`: both load all
 * of undici, which costs more than everything else that a command does.
 */
export function exchange(asking: Asking, signal: AbortSignal): Promise<{ response: Answer; text: string }> {
  const { url, method, headers, body } = asking;
  const isSecure = url.startsWith('https:');
  const { request } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal });
    const late = setTimeout(() => sent.destroy(noConnection()), CONNECT_MS);
    const fail = (error: Error): void => {
      clearTimeout(late);
      reject((signal.aborted ? signal.reason : error) as Error);
    };
    sent.on('socket', (socket) => {
      if (socket.connecting) socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(late));
      else clearTimeout(late);
    });
    // The last that comes, and where the answer is 101 the only thing.
    sent.on('close', () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    sent.on('error', fail).on('response', (heard) => {
      const chunks: Buffer[] = [];
      heard.on('error', fail).on('data', (chunk: Buffer) => chunks.push(chunk));
      heard.on('end', () => {
        const status = heard.statusCode ?? 0;
        const get = (name: string): string | null => heard.headers[name]?.toString() ?? null;
        asking.onCookies?.(heard.headers['set-cookie'] ?? []);
        const response = { status, ok: status >= 200 && status < 300, headers: { get } };
        resolve({ response, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.end(body);
  });
}

const noConnection = (): Error => Object.assign(new Error('no connection'), { code: 'ETIMEDOUT', syscall: 'connect' });
