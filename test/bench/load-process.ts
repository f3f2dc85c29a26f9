import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { answerOrders } from './children.ts';

/** Posts as fast as the server answers, over a fixed number of connections. */
export interface LoadOrder {
  url: string;
  path: string;
  key: string;
  connections: number;
  bodies: string[];
  /** Either so many requests, or so many seconds. */
  amount?: number;
  seconds?: number;
}

export interface LoadResult {
  startedAt: number;
  /** Autocannon's own duration is rounded up to its next look at the clock. */
  lastAnswerAt: number;
  answered: number;
  perSecond: number;
  refused: number;
  p50: number;
  p99: number;
  max: number;
}

interface AutocannonResult {
  '2xx': number;
  non2xx: number;
  errors: number;
  timeouts: number;
  latency: { p50: number; p99: number; max: number };
}
interface Client {
  setRequests(requests: object[]): void;
}
type Autocannon = (options: object, done: (error: Error | null, result: AutocannonResult) => void) => EventEmitter;
// It has no types of its own.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

async function post(order: LoadOrder): Promise<LoadResult> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${order.key}`,
    'user-agent': 'rasket-bench',
  };
  const requests = order.bodies.map((body) => ({ method: 'POST', path: order.path, headers, body }));
  let turn = 0;
  const options = {
    url: order.url,
    connections: order.connections,
    ...(order.amount === undefined ? { duration: order.seconds } : { amount: order.amount }),
    timeout: 30,
    requests,
    // Each connection begins with another variant; otherwise all would send to one destination at a time.
    setupClient: (client: Client) => {
      const first = turn++ % requests.length;
      client.setRequests([...requests.slice(first), ...requests.slice(0, first)]);
    },
  };
  const startedAt = now();
  let lastAnswerAt = startedAt;
  const result = await new Promise<AutocannonResult>((resolve, reject) => {
    const run = autocannon(options, (error, done) => (error ? reject(error) : resolve(done)));
    run.on('response', () => (lastAnswerAt = now()));
  });
  return {
    startedAt,
    lastAnswerAt,
    answered: result['2xx'],
    perSecond: result['2xx'] / ((lastAnswerAt - startedAt) / 1000),
    refused: result.non2xx + result.errors + result.timeouts,
    p50: result.latency.p50,
    p99: result.latency.p99,
    max: result.latency.max,
  };
}

/** Comparable between processes of one machine. */
const now = (): number => performance.timeOrigin + performance.now();

answerOrders<LoadOrder>(post);
