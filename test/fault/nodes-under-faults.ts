// Faults that can happen to nodes that share a database and a store, and the clients that call them meanwhile.
import type { Postgres } from '../rig/pg.ts';
import { scaled } from '../rig/scale.ts';
import type { TcpRelay } from '../rig/tcp-relay.ts';
import type { Process } from './program.ts';

export interface Node {
  name: string;
  process: Process;
  /** Undefined while it is down. */
  url: string | undefined;
  /** Its ways to the other machines. */
  database: TcpRelay;
  store: TcpRelay;
  /** The number of requests to it that were refused, cut off or not answered. */
  inVain: number;
}

export interface Fault {
  name: string;
  /** The part that fails: no other fault of it begins before this one has ended. */
  of: string;
  begin(): Promise<void>;
  /** Returns whether it has lasted long enough. */
  isEnough(): boolean;
  end(): Promise<void>;
}

/** Resolves when a condition comes to hold, looked at whenever something has happened. */
export class Watch {
  #waiting: { holds: () => boolean; done: () => void }[] = [];

  stir(): void {
    const due = this.#waiting.filter(({ holds }) => holds());
    this.#waiting = this.#waiting.filter((waiter) => !due.includes(waiter));
    for (const { done } of due) done();
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((done) => this.#waiting.push({ holds, done }));
  }
}

export interface Players {
  nodes: readonly Node[];
  postgres: Pick<Postgres, 'crash'>;
  watch: Watch;
  /** The number of requests that have ended, in vain or not. */
  ended: number;
  random: () => number;
}

/** Rounds of one of each kind, in an order and at nodes of chance, until they are `count`. */
export function drawFaults(players: Players, count: number): Fault[] {
  const { random } = players;
  const kinds = [
    kill,
    powerCut,
    crashOfDatabase,
    ...(['cut', 'silent'] as const).flatMap((passage) => [partition('database', passage), partition('store', passage)]),
    partition('store', 'slow'),
  ];
  const drawn: Fault[] = [];
  while (drawn.length < count) {
    const order = kinds.map((kind) => ({ kind, at: random() })).toSorted((a, b) => a.at - b.at);
    for (const { kind } of order) drawn.push(kind(players));
  }
  return drawn.slice(0, count);
}

function pickNode({ nodes, random }: Players): Node {
  const node = nodes[Math.floor(random() * nodes.length)];
  if (!node) throw new Error('there are no nodes');
  return node;
}

function kill(players: Players): Fault {
  const node = pickNode(players);
  const lasts = 1 + Math.floor(players.random() * 30);
  let from = 0;
  return {
    name: `kill -9 of ${node.name}`,
    of: node.name,
    async begin() {
      node.url = undefined;
      from = players.ended;
      await node.process.kill();
    },
    isEnough: () => players.ended >= from + lasts || players.nodes.every(({ url }) => url === undefined),
    end: () => startAgain(players, node),
  };
}

/** Simulates a machine that loses its power: the database is not notified that its client is gone, and keeps what that client held. */
function powerCut(players: Players): Fault {
  const { begin, end, ...killed } = kill(players);
  const node = players.nodes.find(({ name }) => name === killed.of);
  return {
    ...killed,
    name: `power cut of ${killed.of}`,
    async begin() {
      node?.database.set('silent');
      await begin();
    },
    async end() {
      node?.database.set('open');
      await end();
    },
  };
}

const STARTS_MAX = 20;

/** Starts a node as systemd does: when it cannot start, such as while the database recovers, it is started again. */
async function startAgain({ watch }: Players, node: Node): Promise<void> {
  for (let starts = 1; ; starts++) {
    try {
      await node.process.start();
      node.url = await node.process.listening();
      break;
    } catch (error) {
      if (starts >= STARTS_MAX) throw error;
    }
  }
  watch.stir();
}

function crashOfDatabase({ postgres }: Players): Fault {
  return {
    name: 'crash of the database',
    of: 'database',
    begin: () => postgres.crash(),
    isEnough: () => true,
    end: async () => undefined,
  };
}

/** The length of faults in requests that meet them: when the test is scaled up, some outlast the leases of what the node holds. */
const LONGEST = scaled(1) > 1 ? { cut: 300, silent: 96, slow: 200 } : { cut: 60, silent: 12, slow: 40 };

const partition =
  (way: 'database' | 'store', passage: keyof typeof LONGEST) =>
  (players: Players): Fault => {
    const node = pickNode(players);
    const lasts = 1 + Math.floor(players.random() * LONGEST[passage]);
    let from = 0;
    const count = (): number => (passage === 'slow' ? players.ended : node.inVain);
    return {
      name: `${way} ${passage} for ${node.name}`,
      of: node.name,
      async begin() {
        from = count();
        node[way].set(passage);
      },
      isEnough: () => count() >= from + lasts,
      end: async () => node[way].set('open'),
    };
  };

/** Begins them one after the other as the work goes on; those of different machines may overlap. */
export async function strike(
  { watch }: Players,
  faults: readonly Fault[],
  { share, note }: { share: () => number; note: (line: string) => void },
): Promise<void> {
  const last = new Map<string, Promise<void>>();
  for (const [at, fault] of faults.entries()) {
    await watch.until(() => share() >= (at + 1) / (faults.length + 1));
    await last.get(fault.of);
    const of = (async () => {
      note(`begins: ${fault.name}`);
      await fault.begin();
      await watch.until(() => fault.isEnough());
      await fault.end();
      note(`ended: ${fault.name}`);
    })();
    // Awaited below, or by the next fault of the same.
    of.catch(() => undefined);
    last.set(fault.of, of);
  }
  await Promise.all(last.values());
}

export interface Answer {
  status: number;
  body: { id: string; name?: string; message?: string };
}

/** So long a client waits for an answer before it asks another node. */
const PATIENCE_MS = 1500;

/** Asks as a careful client does: any node that is up, until one has answered. */
export async function askUntilAnswered(
  players: Pick<Players, 'watch' | 'ended' | 'random'> & { nodes: readonly Pick<Node, 'url' | 'inVain'>[] },
  { path, headers, body }: { path: string; headers: Record<string, string>; body: object | undefined },
): Promise<Answer> {
  const { nodes, random, watch } = players;
  for (;;) {
    await watch.until(() => nodes.some(({ url }) => url !== undefined));
    const up = nodes.filter(({ url }) => url !== undefined);
    const node = up[Math.floor(random() * up.length)];
    const answer = await fetch(`${node?.url}${path}`, {
      method: 'POST',
      headers,
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body && { body: JSON.stringify(body) }),
    })
      .then(
        async (response) => ({ status: response.status, body: (await response.json()) as Answer['body'] }),
        () => undefined,
      )
      .catch(() => undefined);
    players.ended++;
    const isInVain = !answer || answer.status === 503 || answer.body.name === 'concurrent_idempotent_requests';
    if (isInVain && node) node.inVain++;
    watch.stir();
    if (answer && !isInVain) return answer;
  }
}
