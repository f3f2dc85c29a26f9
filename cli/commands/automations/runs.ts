import { automationRuns } from '../../families/index.ts';
import type { List } from '../../families/family.ts';
import { readPath } from '../../input/index.ts';
import { CliFault } from '../../output/index.ts';
import { runList } from '../run-list.ts';
import type { Session } from '../session.ts';
import { watchRuns, type WatchOptions } from './watch-runs.ts';

export async function runRuns(
  session: Session,
  list: List,
  words: readonly (string | undefined)[],
  options: WatchOptions,
): Promise<void> {
  if (!options.watch) {
    if (options.untilDone) throw new CliFault('--until-done goes with --watch', 'usage');
    return runList(session, { ...automationRuns, list }, words, options);
  }
  if (options.all || options.after !== undefined || options.before !== undefined) {
    throw new CliFault('--watch begins with the newest; leave out --all, --after and --before', 'usage');
  }
  const { automation_id = '' } = await readPath(session.client, list.path, words, true);
  return watchRuns(session, list, automation_id, options);
}
