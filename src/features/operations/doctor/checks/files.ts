import { readdir, readFile } from 'node:fs/promises';
import type { Config } from '../../../../platform/config/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, type Check } from '../check.ts';

/** The database, journals, blobs under way, connections of the API and of the resolver. */
const REST = 300;
/** Of the limit: beyond, an hour of more mail meets it. */
const OPEN_SHARE_MAX = 0.8;

/** How many files may be open at one time when all limits of the settings are used. */
const wanted = ({ smtp, delivery, webhooks }: Config): number =>
  smtp.max_connections + delivery.max_connections + webhooks.max_in_flight + REST;

/** Of the process that serves, as the system counts. */
export const checkFiles: Check = async ({ world, self: { pid } }) => {
  const seen = nothingSeen();
  if (pid === undefined) {
    seen.unknown.push({ says: 'how many files the server may open: none runs' });
    return seen;
  }
  const limit = await softLimit(pid);
  if (limit === undefined) {
    seen.unknown.push({ says: `how many files the process ${pid} may open: this system does not say` });
    return seen;
  }
  const open = await readdir(`/proc/${pid}/fd`).then(
    ({ length }) => length,
    () => 0,
  );
  const needs = wanted(world.config);
  if (limit < needs) {
    const summary = `The server may open ${limit} files, and its settings need up to ${needs} (smtp.max_connections, delivery.max_connections, webhooks.max_in_flight).`;
    seen.findings.push(findingOf('file_limit_low', { summary }));
  } else if (open > limit * OPEN_SHARE_MAX) {
    const summary = `The server has ${open} files open, and may open ${limit}.`;
    seen.findings.push(findingOf('file_limit_low', { summary }));
  } else
    seen.says.push(`${open} files are open of ${limit === Infinity ? 'any number' : limit}, ${needs} may be needed`);
  return seen;
};

async function softLimit(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '');
  const found = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1];
  if (found === undefined) return undefined;
  return found === 'unlimited' ? Infinity : Number(found);
}
