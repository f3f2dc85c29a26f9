import type { Client } from '../client/index.ts';
import { clean, shorten, type Terminal } from '../output/index.ts';

const PATIENCE_MS = 1000;

/** The same client, which says at a terminal after a second that it waits for the server, until it answers. */
export function tellWaits(client: Client, terminal: Terminal): Client {
  if (!terminal.isTty) return client;
  const told = <T>(answer: Promise<T>): Promise<T> => tellWait(terminal, client.url, answer);
  return {
    ...client,
    call: (operation, call, signal) => told(client.call(operation, call, signal)),
    download: (file, link) => told(client.download(file, link)),
    upload: (operation, form) => told(client.upload(operation, form)),
    fetchFile: (operation, query) => told(client.fetchFile(operation, query)),
  };
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
