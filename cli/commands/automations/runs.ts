import { automationRuns } from '../../families/index.ts';
import type { List, ItemOf } from '../../families/family.ts';
import { readPath } from '../../input/index.ts';
import { CliFault, namedFields, openTable, pickFields, shownFields, listColumns } from '../../output/index.ts';
import { runList, type ListOptions } from '../run-list.ts';
import { hintWide, type Session } from '../session.ts';
import { ApiFault, NoAnswer } from '../../client/index.ts';
import { untilStopped } from '../until-stopped.ts';

interface WatchOptions extends ListOptions {
  watch?: boolean;
  untilDone?: boolean;
  status?: string;
}

type Run = ItemOf<'listAutomationRuns'>;

const POLL_MS = 1000;
const FIRST = 10;
/** The largest page of the API, and thus the number of runs that are followed. */
const PAGE = 100;
const CALLS_AT_ONCE = 8;
/** Before all others. */
const NIL = '00000000-0000-0000-0000-000000000000';

/** Follows the newest runs, oldest first, then each one that begins or ends. Waits for a server that is away. */
async function watchRuns(session: Session, list: List, id: string, options: WatchOptions): Promise<void> {
  const { terminal, process, isJson } = session;
  const { fields: names, wide } = options;
  const fields = names ? namedFields(list.columns, names, 'a run') : shownFields(list.columns, wide);
  const table = openTable(terminal, listColumns(terminal, fields, wide), { isWide: wide, isOneLine: true });
  const wanted = options.status?.split(',');
  const show = (runs: Run[]): void => {
    const shown = runs.filter(({ status }) => wanted === undefined || wanted.includes(status));
    if (shown.length === 0) return;
    terminal.progress('');
    if (isJson) for (const run of shown) terminal.printJson(names ? pickFields(run, fields) : run);
    else terminal.print(table.write(shown));
  };
  const stopped = untilStopped(process);
  const follower = new Follower(session, id);
  show(await follower.begin({ limit: Math.min(options.limit ?? FIRST, PAGE), status: options.status }));
  let isAway = false;
  for (;;) {
    if (options.untilDone && follower.isDone) break;
    terminal.progress(follower.inWords());
    if (await stopped.within(POLL_MS)) break;
    try {
      show(await follower.poll());
      if (isAway) terminal.hint('The server responds again.');
      isAway = false;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (!isAway) terminal.hint(`${error.message} Waiting for it.`);
      isAway = true;
    }
  }
  terminal.progress('');
  hintWide(session, table);
  if (options.untilDone && follower.hasFailed) session.fail();
}

/** Tracks the running runs and the newest one, and finds out how each of them ended. */
class Follower {
  readonly #session: Session;
  readonly #path: { automation_id: string };
  readonly #running = new Set<string>();
  /** Runs that were found but not returned yet: an interrupted poll loses nothing. */
  readonly #found = new Map<string, Run>();
  /** The newest run that was seen. */
  #last: string | undefined;
  #hasMore = false;
  hasFailed = false;

  constructor(session: Session, id: string) {
    this.#session = session;
    this.#path = { automation_id: id };
  }

  get isDone(): boolean {
    return this.#running.size === 0 && !this.#hasMore;
  }

  /** Returns the first page, oldest first, with what changed meanwhile. */
  async begin(query: { limit: number; status: string | undefined }): Promise<Run[]> {
    const newest = await this.#ask({ limit: 1 });
    this.#last = newest.data[0]?.id;
    const { data } = await this.#ask(query);
    // Newer runs are found by the next poll.
    const first = data.filter(({ id }) => this.#last !== undefined && id <= this.#last).toReversed();
    for (const { id, status } of first) if (status === 'running') this.#running.add(id);
    await this.#pollRunning();
    return [...first, ...this.#take()];
  }

  /** Polls once; returns the runs that began or ended since the last poll, oldest first. */
  async poll(): Promise<Run[]> {
    await this.#pollFresh();
    await this.#pollRunning();
    return this.#take();
  }

  inWords(): string {
    return `${this.#running.size}${this.#hasMore ? '+' : ''} running`;
  }

  #take(): Run[] {
    const found = [...this.#found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    this.#found.clear();
    if (found.some(({ status }) => status === 'failed')) this.hasFailed = true;
    return found;
  }

  /** A page before an id is the one next to it, so that none is passed over. */
  async #pollFresh(): Promise<void> {
    for (;;) {
      const last = this.#last ?? NIL;
      const { data, has_more: hasMore } = await this.#ask({ limit: PAGE, before: last });
      this.#last = data[0]?.id ?? this.#last;
      for (const run of data) {
        this.#found.set(run.id, run);
        if (run.status === 'running') this.#running.add(run.id);
      }
      if (!hasMore) return;
    }
  }

  /** Finds runs that are no longer running. A run that only dropped off the page is no longer followed. */
  async #pollRunning(): Promise<void> {
    const { data, has_more: hasMore } = await this.#ask({ limit: PAGE, status: 'running' });
    this.#hasMore = hasMore;
    const seen = new Set(data.map(({ id }) => id));
    const oldest = data.at(-1)?.id ?? '';
    const left = [...this.#running].filter((id) => !seen.has(id));
    const ended = left.filter((id) => !hasMore || id > oldest);
    for (let at = 0; at < ended.length; at += CALLS_AT_ONCE) {
      const runs = await Promise.all(ended.slice(at, at + CALLS_AT_ONCE).map((id) => this.#read(id)));
      for (const run of runs) if (run) this.#found.set(run.id, run);
    }
    for (const id of left) this.#running.delete(id);
    for (const id of seen) this.#running.add(id);
  }

  /** A run that has ended is removed once the plan keeps it no longer. */
  async #read(runId: string): Promise<Run | undefined> {
    try {
      const call = { path: { ...this.#path, run_id: runId } };
      const { object: _, steps: __, ...run } = await this.#session.client.call('getAutomationRun', call);
      return run;
    } catch (error) {
      if (error instanceof ApiFault && error.status === 404) return undefined;
      throw error;
    }
  }

  #ask(query: { limit: number; before?: string; status?: string | undefined }) {
    return this.#session.client.call('listAutomationRuns', { path: this.#path, query });
  }
}

export async function runRuns(
  session: Session,
  list: List,
  words: readonly (string | undefined)[],
  options: WatchOptions,
): Promise<void> {
  if (!options.watch) {
    if (options.untilDone) throw new CliFault('--until-done needs --watch', 'usage');
    return runList(session, { ...automationRuns, list }, words, options);
  }
  if (options.all || options.after !== undefined || options.before !== undefined) {
    throw new CliFault('--watch starts with the newest runs; omit --all, --after and --before', 'usage');
  }
  const { automation_id = '' } = await readPath(session.client, list.path, words, true);
  return watchRuns(session, list, automation_id, options);
}
