import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it, vi } from 'vitest';
import type { Machine } from '../install/machine.ts';
import { root } from '../install/tree.ts';
import { describePeers, type Peer } from './peers.ts';

/** A domain that takes mail at port 25 of `mx.` its name, over the families for which it has an address. */
export interface Receiver {
  domain: string;
  v4?: string;
  v6?: string;
  /** The answers to every recipient over IPv4 and over IPv6; accepted unless given. */
  refusesV4?: string;
  refusesV6?: string;
  /** The answers to every recipient from single addresses. */
  refusesFrom?: Record<string, string>;
  /** Connections to port 443 of the domain are taken as well. */
  hasWebServer?: true;
}

export interface InternetPlan {
  /** The address of the name server, at port 53. */
  resolver: string;
  receivers: readonly Receiver[];
  /** A Postfix at port 587 that asks for a login, and passes all mail on to port 25 of an address. */
  relay?: { host: string; address: string; user: string; password: string; passesTo: string };
  /** Drops what leaves the machine for port 25, as large clouds do. */
  blocksPort25?: true;
}

/** One message that a receiver saw, at one of its addresses, from an address of the machine. */
export type Line =
  | { kind: 'arrived'; at: string; from: string; to: string; content: string }
  | { kind: 'refused'; at: string; from: string; to: string };

// Addresses that look public, so that a server needs no setting to take them for such. In a namespace they lead nowhere else.
export const MACHINE = { v4: '192.0.34.10', v6: '2620:0:2d0:100::10' } as const;
const GATEWAY = { v4: '192.0.34.1', v6: '2620:0:2d0:100::1' } as const;

const FOLDER = '/var/lib/internet';

/** The wire between both, and the way out of the machine. The other end is in the namespace of the process that is named. */
const layOut = ({ blocksPort25 }: InternetPlan): string => `
set -e
unshare -n sleep infinity </dev/null >/dev/null 2>&1 &
there=$!
while [ "$(readlink /proc/$there/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
echo $there >${FOLDER}/namespace
out() { nsenter -t $there -n "$@"; }
ip link set lo up
ip link add eth0 type veth peer name wire netns $there
ip addr add ${MACHINE.v4}/24 dev eth0
ip -6 addr add ${MACHINE.v6}/64 dev eth0 nodad
ip link set eth0 up
out ip link set lo up
out ip addr add ${GATEWAY.v4}/24 dev wire
out ip -6 addr add ${GATEWAY.v6}/64 dev wire nodad
out ip link set wire up
ip route add default via ${GATEWAY.v4}
ip -6 route add default via ${GATEWAY.v6}
${blocksPort25 ? BLOCK : ''}
`;

// A rule comes before what is local only where it stands before it.
const BLOCK = ['', '-6']
  .map(
    (family) => `
out ip ${family} rule add pref 10 iif wire ipproto tcp dport 25 blackhole
out ip ${family} rule add pref 20 lookup local
out ip ${family} rule del pref 0`,
  )
  .join('');

/** Says why this account can make none; undefined where it can. */
function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces are made by root only';
  const trial = 'ip link add a0 type veth peer name a1 && ip rule add pref 10 iif a0 ipproto tcp dport 25 blackhole';
  const { status, stderr } = spawnSync('unshare', ['-mn', 'sh', '-c', trial], { encoding: 'utf8' });
  return status === 0 ? undefined : `this machine makes no network namespace with veth and rules: ${stderr.trim()}`;
}

/** A chapter on machines with an internet of their own; where none can be made, one test stands in its place, as for other peers. */
export function describeOnInternet(title: string, peers: Peer[], chapter: () => void): void {
  const obstacle = findObstacle();
  if (obstacle === undefined) return describePeers(title, peers, chapter);
  describe(title, () => {
    it('a network namespace can be created', (ctx) => {
      if (process.env.RASKET_TEST_PEERS === 'required') throw new Error(`RASKET_TEST_PEERS=required, but ${obstacle}`);
      ctx.skip(obstacle);
    });
  });
}

/** The internet that a machine is connected to: a name server, receivers and a relay, each with real addresses and the real ports. */
export class Internet {
  /** The folder of its files, on the machine. */
  readonly folder = FOLDER;
  #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Connects the machine. Its programs find the name server as they do everywhere, in /etc/resolv.conf. */
  async start(plan: InternetPlan): Promise<void> {
    mkdirSync(this.#at('tmp'), { recursive: true });
    writeFileSync(this.#at('plan.json'), JSON.stringify(plan));
    this.#type(layOut(plan));
    this.#type(`rm -f /etc/resolv.conf && echo nameserver ${plan.resolver} >/etc/resolv.conf`);
    this.#type(
      `cd ${root} && (TMPDIR=${FOLDER}/tmp setsid nsenter -t $(cat ${FOLDER}/namespace) -n ${process.execPath} test/peers/internet-servers.ts ${FOLDER} >${FOLDER}/log 2>&1 </dev/null &)`,
    );
    await this.#appears('ready');
  }

  /** Publishes records, as lines of a zone file, in place of those that have their name and type. */
  async publish(zone: string): Promise<void> {
    rmSync(this.#at('zone-read'), { force: true });
    writeFileSync(this.#at('zone'), `${zone}\n`);
    this.#type(`kill -HUP $(cat ${FOLDER}/ready)`);
    await this.#appears('zone-read');
  }

  /** The questions that the name server was asked. */
  async queries(): Promise<{ name: string; type: string }[]> {
    rmSync(this.#at('queries'), { force: true });
    this.#type(`kill -USR1 $(cat ${FOLDER}/ready)`);
    await this.#appears('queries');
    return JSON.parse(readFileSync(this.#at('queries'), 'utf8')) as { name: string; type: string }[];
  }

  /** Returns what the receivers saw, in order. */
  lines(): Line[] {
    if (!existsSync(this.#at('lines'))) return [];
    const lines = readFileSync(this.#at('lines'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Line);
  }

  #at(name: string): string {
    return path.join(this.#machine.folder, FOLDER, name);
  }

  #type(line: string): void {
    const { status, stderr } = this.#machine.type(line);
    if (status !== 0) throw new Error(`the internet of the test could not be laid out (${status}): ${stderr}`);
  }

  async #appears(name: string): Promise<void> {
    const look = (): void => {
      if (existsSync(this.#at(name))) return;
      const log = existsSync(this.#at('log')) ? readFileSync(this.#at('log'), 'utf8') : '';
      throw new Error(`${name} did not appear: ${log}`);
    };
    await vi.waitFor(look, { timeout: 60_000, interval: 50 });
  }
}
