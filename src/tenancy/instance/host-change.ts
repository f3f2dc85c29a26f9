import type { Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { readSetting, writeSetting } from './instance.store.ts';

const SETTING = 'host_change';
const DAY_MS = 86_400_000;

/** The last change of the host name. Until `endsAt`, the name before it counts as well. */
export interface HostChange {
  from: string;
  to: string;
  changedAt: number;
  endsAt: number;
}

/** Reads the last change of the host name, also one whose grace period has ended; undefined if there was none. */
export const readHostChange = (db: Executor): Promise<HostChange | undefined> => readSetting<HostChange>(db, SETTING);

/**
 * Notes that the host name changes now, and returns the change. A repeated call, such as on a second node, keeps the
 * first one. A change within the grace period of another ends that one.
 */
export async function beginHostChange(
  { db, clock, config }: Store,
  { from, to }: Pick<HostChange, 'from' | 'to'>,
): Promise<HostChange> {
  const now = clock.now();
  const before = await readHostChange(db);
  if (before?.to === to && before.endsAt > now) return before;
  const change = { from, to, changedAt: now, endsAt: now + config.instance.host_grace_days * DAY_MS };
  await writeSetting(db, SETTING, change, now);
  return change;
}

/** Ends the grace period now; returns the change, or undefined if no grace period is running. */
export async function finishHostChange({ db, clock }: Store): Promise<HostChange | undefined> {
  const now = clock.now();
  const change = await readHostChange(db);
  if (change === undefined || change.endsAt <= now) return undefined;
  await writeSetting(db, SETTING, { ...change, endsAt: now } satisfies HostChange, now);
  return change;
}

/** The host names of this installation that count now. */
export interface OwnHosts {
  /** The name of the settings of this process, which new records have to contain. */
  host: string;
  /** The other name of a change whose grace period is running; undefined otherwise. */
  other: string | undefined;
  /** When it no longer counts, in milliseconds. */
  endsAt: number;
  /** All names, in an order that is the same for all nodes, whether or not their settings are changed already. */
  all: readonly string[];
}

export async function readOwnHosts(
  { config, clock }: Pick<Store, 'config' | 'clock'>,
  db: Executor,
): Promise<OwnHosts> {
  return pickOwnHosts(config, await readHostChange(db), clock.now());
}

function pickOwnHosts({ instance }: Config, change: HostChange | undefined, now: number): OwnHosts {
  const host = instance.host.toLowerCase();
  const pair = change === undefined || change.endsAt <= now ? [] : [change.to, change.from];
  const other = pair.find((name) => name !== host);
  if (change === undefined || other === undefined || !pair.includes(host)) {
    return { host, other: undefined, endsAt: 0, all: [host] };
  }
  return { host, other, endsAt: change.endsAt, all: pair };
}
