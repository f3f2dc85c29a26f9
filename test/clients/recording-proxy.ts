/**
 * Stands between a client and the server under test and keeps every request of it. The script that drives the client announces each
 * call before it is made and reports how it ended, so that a request belongs to a call by order and not by guessing.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the client made it, with what the server returned. */
export interface Exchange {
  call: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  status: number;
  answer: string;
}

/** One call of a client, as its script saw it end. */
export interface Call {
  name: string;
  /** The file of the client that makes the request. */
  file?: string;
  /** The reason that the documents give for refusing this call; without one, it must succeed. */
  refused?: string;
  /** The error that the client raised. */
  error?: string;
  /** Fields of the response that the client reads or that its types promise. */
  reads: string[];
  /** Positions of its requests; a call that only computes makes none, and one that follows pages makes several. */
  exchanges: number[];
}

export interface RecordingProxy extends AsyncDisposable {
  url: string;
  exchanges: Exchange[];
  calls: Call[];
}

/** Headers that say something about the client; the rest belong to the connection or to its library. */
const KEPT_HEADERS = ['accept', 'content-type', 'idempotency-key', 'user-agent', 'x-batch-validation'];

export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const calls: Call[] = [];
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((request, response) => {
    void readBody(request).then(async (body) => {
      if (request.url === '/-/begin') {
        calls.push({ reads: [], exchanges: [], ...(JSON.parse(body.toString()) as Pick<Call, 'name'>) });
        response.end();
        return;
      }
      if (request.url === '/-/end') {
        const ended = Object.assign(calls.at(-1) ?? {}, JSON.parse(body.toString())) as Partial<Call>;
        // A script whose client keeps the response to itself reads it here.
        response.end(exchanges[ended.exchanges?.at(-1) ?? -1]?.answer);
        return;
      }
      const answer = await forward(agent, target, request, body);
      calls.at(-1)?.exchanges.push(exchanges.length);
      exchanges.push({
        call: calls.at(-1)?.name ?? '',
        method: request.method ?? '',
        path: request.url ?? '',
        headers: keepHeaders(request.headers),
        body: body.toString('latin1'),
        status: answer.status,
        answer: answer.body.toString('utf8'),
      });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    calls,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function readBody(stream: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function forward(
  agent: http.Agent,
  target: string,
  request: http.IncomingMessage,
  body: Buffer,
): Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }> {
  const { hostname, port } = new URL(target);
  // The body is complete here, so it is sent with its length even where the client sent it in chunks.
  const headers = { ...request.headers };
  delete headers['transfer-encoding'];
  delete headers.connection;
  if (body.length > 0) headers['content-length'] = String(body.length);
  return new Promise((resolve, reject) => {
    const onward = http.request(
      { agent, hostname, port, method: request.method, path: request.url, headers },
      (response) => {
        readBody(response).then(
          (received) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
          reject,
        );
      },
    );
    onward.on('error', reject);
    onward.end(body);
  });
}

function keepHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}
