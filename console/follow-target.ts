import path from 'node:path';
import {
  ApiFault,
  createClient,
  findTarget,
  mustRun,
  NoAnswer,
  findRoute,
  type Client,
  type Target,
} from '../cli/client/index.ts';

const DEVELOPMENT_FILE = path.join(path.sep, 'run', 'dev.json');

/**
 * Returns a client that follows its server. A development server writes its address and key into its folder at each
 * start, and may have other ones then; every other target was chosen by the user and never changes.
 */
export function followTarget(first: Client, target: Target, version: string): { client: Client; target: () => Target } {
  const { urlFrom, keyFrom } = target;
  if (!urlFrom.endsWith(DEVELOPMENT_FILE) || keyFrom !== urlFrom) return { client: first, target: () => target };
  const folder = urlFrom.slice(0, -DEVELOPMENT_FILE.length);
  let now = first;
  let known = target;
  const look = (): void => {
    const found = findAgain(folder);
    if (found === undefined || isSame(found, known)) return;
    known = found;
    now = createClient({ ...found, version, mustBeThere: mustRun(found.development) });
  };
  const client: Client = {
    get url() {
      return now.url;
    },
    async call(operation, call, signal) {
      const asked = now;
      try {
        return await asked.call(operation, call, signal);
      } catch (error) {
        if (isOfAnother(error)) look();
        // A change was meant for the server that was selected when it was requested.
        if (now === asked || findRoute(operation)[0] !== 'GET') throw error;
        return now.call(operation, call, signal);
      }
    },
    download: (file, link) => now.download(file, link),
    upload: (operation, form) => now.upload(operation, form),
    fetchFile: (operation, query) => now.fetchFile(operation, query),
    stream: (operation, call) => now.stream(operation, call),
  };
  return { client, target: () => known };
}

/** Nobody responds at the address, or another server that does not know the key. */
const isOfAnother = (error: unknown): boolean =>
  error instanceof NoAnswer || (error instanceof ApiFault && error.status === 401);

function findAgain(folder: string): Target | undefined {
  try {
    return findTarget({ data: folder, needsKey: false, env: {} });
  } catch {
    // The server does not run now.
    return undefined;
  }
}

const isSame = (one: Target, other: Target): boolean =>
  one.url === other.url && one.apiKey === other.apiKey && one.operatorToken === other.operatorToken;
