import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { DnsRig } from '../rig/dns.ts';
import { startSending, type Appliance } from './appliance.ts';
import { startHelper, type Helper } from './children.ts';
import type { Figure } from './figures.ts';
import type { LoadOrder, LoadResult } from './load-process.ts';
import type { Load } from './messages.ts';
import type { SinkCount } from './sink-process.ts';

/** What the rows share: where to work, who helps, and where figures go. */
export interface Bench {
  quick: boolean;
  /** How many contacts the row `engagement` has, if not as many as usual. */
  contacts: number | undefined;
  dns: DnsRig;
  profileDir: string | undefined;
  add(figure: Figure): void;
  say(line: string): void;
  /** A new empty folder on the disk that is measured. */
  folder(name: string): string;
  /** A sink for the row's own use; every helper ends with the row. */
  helper(file: string): Promise<Helper>;
  appliance(options: {
    sinkPort: number;
    roles?: string;
    profile?: string;
    env?: Record<string, string>;
  }): Promise<Appliance>;
  stopLater(stop: () => Promise<void>): void;
  /** Ends everything that the row started. */
  clear(): Promise<void>;
}

export function createBench(options: {
  quick: boolean;
  contacts: number | undefined;
  dns: DnsRig;
  workDir: string;
  profileDir: string | undefined;
  add(figure: Figure): void;
}): Bench {
  let folders = 0;
  let toStop: (() => Promise<void>)[] = [];
  const folder = (name: string): string => {
    const at = path.join(options.workDir, `${name}-${++folders}`);
    mkdirSync(at, { recursive: true });
    return at;
  };
  return {
    quick: options.quick,
    contacts: options.contacts,
    dns: options.dns,
    profileDir: options.profileDir,
    add: options.add,
    say: (line) => void process.stderr.write(`  ${line}\n`),
    folder,
    async helper(file) {
      const helper = await startHelper(file);
      toStop.push(() => helper.stop());
      return helper;
    },
    async appliance({ sinkPort, roles, profile, env }) {
      const profileDir =
        profile !== undefined && options.profileDir !== undefined ? path.join(options.profileDir, profile) : undefined;
      const appliance = await startSending({
        dataDir: folder('data'),
        dns: options.dns,
        sinkPort,
        profileDir,
        ...(roles === undefined ? {} : { roles }),
        ...(env === undefined ? {} : { env }),
      });
      toStop.push(() => (profileDir === undefined ? appliance.kill() : appliance.stop()));
      return appliance;
    },
    stopLater: (stop) => void toStop.push(stop),
    async clear() {
      const stops = toStop.reverse();
      toStop = [];
      // One that cannot be stopped must not leave the others running.
      for (const stop of stops) await stop().catch((error: unknown) => this.say(`could not stop: ${String(error)}`));
    },
  };
}

/** Posts a load; a single refusal makes the row worthless, so it is an error. */
export async function post(
  load: Helper,
  to: { url: string; key?: string },
  how: { load: Load; connections: number; amount?: number; seconds?: number; path?: string; isOnceEach?: boolean },
): Promise<LoadResult> {
  const { load: what, ...rest } = how;
  const order: LoadOrder = { url: to.url, path: '/emails', key: to.key ?? '', bodies: what.bodies, ...rest };
  const result = await load.ask<LoadResult>({ ...order });
  if (result.refused > 0)
    throw new Error(
      `${result.refused} of ${result.answered + result.refused} posts were not answered with 200 (${result.refusals})`,
    );
  return result;
}

export const askCounts = (sink: Helper): Promise<SinkCount> => sink.ask<SinkCount>({ say: 'counts' });

export const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
