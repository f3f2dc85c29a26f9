import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { formatHost, type PostgresHost, type Target } from '../../protocol/postgres-url.ts';

/** Facts about a server, read on a connection to it. */
export interface ServerIdentity {
  /** The same for a primary and its standbys; undefined if the database user may not read it. */
  system: string | undefined;
  /** Each promotion of a standby begins a new one; undefined for a standby, or if the user may not read it. */
  timeline: number | undefined;
  /** The moment at which the server was started. */
  startedAt: string;
  isStandby: boolean;
  isReadOnly: boolean;
}

export interface ServerAnswer {
  host: PostgresHost;
  identity: ServerIdentity;
}

/** Reports whether both were read from the same server, which was not restarted in between. */
export const isSameRun = (a: ServerIdentity, b: ServerIdentity): boolean =>
  a.system === b.system && a.startedAt === b.startedAt;

export const acceptsWrites = ({ isStandby, isReadOnly }: ServerIdentity): boolean => !isStandby && !isReadOnly;

/** Returns why a server cannot be used for this target; undefined if it can. */
export function findUnfitness({ isStandby, isReadOnly }: ServerIdentity, target: Target): string | undefined {
  if (target === 'any') return undefined;
  if (isStandby) return 'it is a standby';
  return isReadOnly && target === 'read-write' ? 'it is read-only' : undefined;
}

/**
 * The file of a node's data folder that has the newest timeline. A backup does not have it, because it is about servers
 * and not about data.
 */
export const TIMELINE_FILE = 'database-timeline.json';

/** The newest history that was written to. */
interface ServerMark {
  system: string;
  timeline: number;
}

/**
 * Remembers which servers this process has used, and in a file what earlier processes have. A former primary that was
 * replaced does not know that; its timeline is lower than that of its successor.
 */
export class ServerMemory {
  readonly #file: string | undefined;
  /** Set once this process has used a server. */
  #used: ServerMark | undefined;
  #stored: ServerMark | undefined;
  #isKept = false;

  constructor(file?: string) {
    this.#file = file;
    this.#stored = file === undefined ? undefined : readMark(file);
  }

  /** Returns why this server must not be used any more; undefined if it may be. */
  findFault({ system, timeline }: ServerIdentity, { isOneOfSeveral }: { isOneOfSeveral: boolean }): string | undefined {
    if (system === undefined) return undefined;
    // A new cluster, such as that of pg_upgrade, has another identifier; which of several is the right one is unknown.
    if (isOneOfSeveral && this.#used && this.#used.system !== system)
      return 'it belongs to another cluster than the server that this process has used; restart rasket if that is intended';
    const mark = [this.#used, this.#stored].find((one) => one?.system === system);
    if (mark === undefined || timeline === undefined || timeline >= mark.timeline) return undefined;
    const override =
      this.#file === undefined || this.#used
        ? ''
        : `, or, if it was restored from a backup on purpose, remove ${this.#file}`;
    return `it is a former primary: it is on timeline ${timeline}, and timeline ${mark.timeline} was used before; rebuild it as a standby (pg_rewind)${override}`;
  }

  /** Reports whether a server is on a newer timeline than any that was used before. */
  isNewer({ system, timeline }: ServerIdentity): boolean {
    const mark = [this.#used, this.#stored].find((one) => one?.system === system);
    return mark !== undefined && timeline !== undefined && timeline > mark.timeline;
  }

  note({ system, timeline }: ServerIdentity): void {
    if (system === undefined || timeline === undefined) return;
    if (this.#used?.system !== system || timeline > this.#used.timeline) this.#used = { system, timeline };
    if (this.#isKept) this.#store(this.#used);
  }

  /** Stores the newest timeline in the file, now and from now on. */
  keep(): void {
    this.#isKept = true;
    if (this.#used) this.#store(this.#used);
  }

  #store(mark: ServerMark): void {
    if (this.#file === undefined || isSameMark(this.#stored, mark)) return;
    this.#stored = mark;
    writeMark(this.#file, mark);
  }
}

const isSameMark = (a: ServerMark | undefined, b: ServerMark): boolean =>
  a?.system === b.system && a.timeline === b.timeline;

function readMark(file: string): ServerMark | undefined {
  try {
    const { system, timeline } = JSON.parse(readFileSync(file, 'utf8')) as Partial<ServerMark>;
    return typeof system === 'string' && typeof timeline === 'number' ? { system, timeline } : undefined;
  } catch {
    return undefined;
  }
}

/** Several processes may share the folder, so the file is replaced as a whole. */
function writeMark(file: string, mark: ServerMark): void {
  const next = `${file}.${process.pid}`;
  try {
    writeFileSync(next, `${JSON.stringify(mark)}\n`, { mode: 0o600, flush: true });
    renameSync(next, file);
  } catch {
    // A full disk must not keep the database from being used; this process remembers the mark anyway.
  }
}

export interface RefusedServer {
  host: string;
  reason: string;
  /** A standby is refused all the time; a server that accepts writes and must not get them is news. */
  acceptsWrites: boolean;
}

export interface Choice {
  chosen: ServerAnswer | undefined;
  /** Servers that answered and must not be used. */
  refused: RefusedServer[];
  /** Other servers that accept writes, although only one may. */
  alsoWritable: string[];
}

interface Choosing {
  memory: Pick<ServerMemory, 'findFault'>;
  /** The server that this process uses now or has used last. */
  inUse: ServerIdentity | undefined;
  target: Target;
}

/**
 * Chooses the server to write to: the one on the highest timeline, which was promoted last. If two are on the same
 * timeline, nothing tells which one is right, and only one that is in use already stays in use.
 */
export function chooseServer(answers: readonly ServerAnswer[], { memory, inUse, target }: Choosing): Choice {
  const refused: RefusedServer[] = [];
  const usable: ServerAnswer[] = [];
  for (const answer of answers) {
    const { host, identity } = answer;
    const reason = findUnfitness(identity, target) ?? memory.findFault(identity, { isOneOfSeveral: true });
    if (reason === undefined) usable.push(answer);
    else refused.push({ host: formatHost(host), reason, acceptsWrites: acceptsWrites(identity) });
  }
  const isInUse = ({ identity }: ServerAnswer): boolean => inUse !== undefined && isSameRun(identity, inUse);
  const best = target === 'any' ? usable.slice(0, 1) : findNewest(usable);
  const first = best[0];
  const isOneServer = first !== undefined && best.every(({ identity }) => isSameRun(identity, first.identity));
  const chosen = best.find(isInUse) ?? (isOneServer ? first : undefined);
  if (chosen === undefined)
    for (const { host } of best)
      refused.push({
        host: formatHost(host),
        reason: 'another server on the same timeline accepts writes as well',
        acceptsWrites: true,
      });
  const alsoWritable = answers
    .filter(({ identity }) => acceptsWrites(identity))
    .filter(({ identity }) => chosen === undefined || !isSameRun(identity, chosen.identity))
    .map(({ host }) => formatHost(host));
  const hasRival = chosen !== undefined ? alsoWritable.length > 0 : alsoWritable.length > 1;
  return { chosen, refused, alsoWritable: hasRival && target !== 'any' ? alsoWritable : [] };
}

/** Returns those with which no other server of the same cluster is newer; servers that cannot be compared all stay. */
function findNewest(answers: readonly ServerAnswer[]): ServerAnswer[] {
  const isOlder = (a: ServerIdentity, b: ServerIdentity): boolean =>
    a.system !== undefined &&
    a.system === b.system &&
    a.timeline !== undefined &&
    b.timeline !== undefined &&
    a.timeline < b.timeline;
  return answers.filter(({ identity }) => !answers.some((other) => isOlder(identity, other.identity)));
}
