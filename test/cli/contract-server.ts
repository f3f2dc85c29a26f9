import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  method: string;
  /** The path without the query. */
  path: string;
  query: Record<string, string>;
  headers: http.IncomingHttpHeaders;
  body: unknown;
}

export interface Reply {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export type Answer = Reply | 'hang up';

/** Answers what a test says and remembers what it was asked: for everything the real server cannot be made to answer. */
export async function startAnswering(answer: (asked: Asked, count: number) => Answer | Promise<Answer>) {
  const asked: Asked[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const url = new URL(request.url ?? '', 'http://server');
      const text = Buffer.concat(chunks).toString('utf8');
      const seen: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      asked.push(seen);
      const reply = await answer(seen, asked.length);
      if (reply === 'hang up') return void response.destroy();
      const isText = typeof reply.body === 'string';
      response.writeHead(reply.status, { 'content-type': isText ? 'text/html' : 'application/json', ...reply.headers });
      response.end(isText ? reply.body : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
