import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { answerOrders } from './children.ts';

/** Asks as fast as the server answers, over a fixed number of connections. */
export interface LoadOrder {
  url: string;
  connections: number;
  /** The path that is posted to. */
  path?: string;
  key?: string;
  bodies?: string[];
  /** Each connection posts its share instead of all; `amount` is then their number, a multiple of the connections. */
  isOnceEach?: boolean;
  /** Links to follow instead, as a browser does: each connection has its share, and 302 is the answer. */
  links?: string[];
  /** The host of the requests, if it is not the server's own. */
  host?: string;
  /** Either a number of requests, or a number of seconds. */
  amount?: number;
  seconds?: number;
}

export interface LoadResult {
  startedAt: number;
  /** Autocannon's own duration is rounded up to its next check of the clock. */
  lastAnswerAt: number;
  answered: number;
  perSecond: number;
  refused: number;
  /** The refusals: answers by status class, and requests without one. */
  refusals: string;
  p50: number;
  p99: number;
  max: number;
}

interface AutocannonResult {
  '2xx': number;
  '3xx': number;
  '4xx': number;
  '5xx': number;
  non2xx: number;
  errors: number;
  timeouts: number;
  latency: { p50: number; p99: number; max: number };
}
interface Client {
  setRequests(requests: object[]): void;
}
type Autocannon = (options: object, done: (error: Error | null, result: AutocannonResult) => void) => EventEmitter;
// Autocannon has no types of its own.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

async function ask(order: LoadOrder): Promise<LoadResult> {
  const requests = buildRequests(order);
  let turn = 0;
  const options = {
    url: order.url,
    connections: order.connections,
    ...(order.amount === undefined ? { duration: order.seconds } : { amount: order.amount }),
    timeout: 30,
    // A local receiver has a certificate that nobody else knows.
    tlsOptions: { rejectUnauthorized: false },
    requests: requests.slice(0, 1),
    setupClient: (client: Client) => client.setRequests(selectShare(requests, order, turn++)),
  };
  const startedAt = now();
  let lastAnswerAt = startedAt;
  const result = await new Promise<AutocannonResult>((resolve, reject) => {
    const run = autocannon(options, (error, done) => (error ? reject(error) : resolve(done)));
    run.on('response', () => (lastAnswerAt = now()));
  });
  const answered = result[order.links === undefined ? '2xx' : '3xx'];
  return {
    startedAt,
    lastAnswerAt,
    answered,
    perSecond: answered / ((lastAnswerAt - startedAt) / 1000),
    refused: result['2xx'] + result.non2xx - answered + result.errors + result.timeouts,
    refusals: `${result['4xx']} 4xx, ${result['5xx']} 5xx, ${result.errors} without an answer, ${result.timeouts} too late`,
    p50: result.latency.p50,
    p99: result.latency.p99,
    max: result.latency.max,
  };
}

function buildRequests({ path, key = '', bodies = [], links, host }: LoadOrder): object[] {
  if (links !== undefined) {
    const headers = {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...(host === undefined ? {} : { host }),
    };
    return links.map((link) => ({ method: 'GET', path: link, headers }));
  }
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    'user-agent': 'rasket-bench',
  };
  return bodies.map((body) => ({ method: 'POST', path, headers, body }));
}

/** Returns the requests of one connection. */
function selectShare(
  requests: object[],
  { links, isOnceEach = links !== undefined, connections }: LoadOrder,
  connection: number,
): object[] {
  // Each connection posts all, beginning with another variant; otherwise all would send to one destination at a time.
  const first = connection % requests.length;
  if (!isOnceEach) return [...requests.slice(first), ...requests.slice(0, first)];
  const size = Math.ceil(requests.length / connections);
  return requests.slice(connection * size, (connection + 1) * size);
}

/** Returns a time that is comparable between processes of one machine. */
const now = (): number => performance.timeOrigin + performance.now();

answerOrders<LoadOrder>(ask);
