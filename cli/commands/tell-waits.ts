import type { Client } from '../client/index.ts';
import { clean, shorten, type Terminal } from '../output/index.ts';

const PATIENCE_MS = 1000;
/** A line in the output of a program stays, so it comes later. */
const PIPE_PATIENCE_MS = 5000;

/**
 * Returns the same client, which says that it waits for the server: at a terminal after a second and until it answers,
 * in a pipe and beside JSON by one line on standard error.
 */
export function tellWaits(client: Client, terminal: Terminal, { isJson = false } = {}): Client {
  const tell = terminal.isTty && !isJson ? tellWait : warnOfWait;
  const told = <T>(answer: Promise<T>): Promise<T> => tell(terminal, client.url, answer);
  return {
    ...client,
    call: (operation, call, signal) => told(client.call(operation, call, signal)),
    download: (file, link) => told(client.download(file, link)),
    upload: (operation, form) => told(client.upload(operation, form)),
    fetchFile: (operation, query, path) => told(client.fetchFile(operation, query, path)),
  };
}

async function warnOfWait<T>(terminal: Terminal, url: string, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => terminal.warn(clean(`Waiting for ${url}.`)), PIPE_PATIENCE_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}

async function tellWait<T>(terminal: Terminal, url: string, answer: Promise<T>): Promise<T> {
  const began = performance.now();
  let isTold = false;
  const timer = setInterval(() => {
    // A command that shows the progress of several calls says more.
    if (!isTold && terminal.hasProgress()) return;
    isTold = true;
    const seconds = Math.round((performance.now() - began) / 1000);
    terminal.progress(shorten(clean(`Waiting for ${url}, ${seconds} s`), terminal.columns - 1));
  }, PATIENCE_MS);
  try {
    return await answer;
  } finally {
    clearInterval(timer);
    if (isTold) terminal.progress('');
  }
}
